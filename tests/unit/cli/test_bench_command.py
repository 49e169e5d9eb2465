"""The bench verb: which benchmarks are listed, and that one is run as asked."""

import json
from pathlib import Path

import pytest

from voile.cli import bench
from voile.cli.bench import benchmark_folder, benchmarks, run_bench
from voile.errors import SettingError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    main = 'if __name__ == "__main__":\n    raise SystemExit(1 / 0)\n'
    for family in ("first", "second", "kit"):
        (tmp_path / family).mkdir()
    (tmp_path / "first" / "one.py").write_text('"""The first one.\n\nMore."""\n' + main)
    (tmp_path / "first" / "data.py").write_text('"""A part."""\n')
    (tmp_path / "kit" / "shared.py").write_text('"""For all."""\n' + main)
    (tmp_path / "beside.py").write_text('"""Of no family."""\n' + main)
    (tmp_path / "second" / "broken.py").write_text("def (\n" + main)
    (tmp_path / "second" / "echo.py").write_text(
        '"""Says what it was given."""\n'
        "import pathlib, sys\n"
        'if __name__ == "__main__":\n'
        "    pathlib.Path(sys.argv[1]).write_text(' '.join(sys.argv[2:]))\n"
        "    raise SystemExit(3)\n"
    )
    monkeypatch.setenv("VOILE_BENCHMARKS", str(tmp_path))
    return tmp_path


def test_benchmarks_are_listed_without_being_run(folder):
    assert benchmarks(folder) == {
        "first/one": "The first one.",
        "second/broken": "(cannot be read)",
        "second/echo": "Says what it was given.",
    }


def test_the_list_is_printed(folder, capsys):
    assert run_bench(None, [], as_json=False) == 0
    assert "The first one." in capsys.readouterr().out
    assert run_bench(None, [], as_json=True) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)} == set(benchmarks(folder))


def test_arguments_are_passed_on_and_the_exit_code_is_returned(folder, tmp_path):
    said = tmp_path / "said.txt"
    assert run_bench("second/echo", [str(said), "--quick", "a b"], as_json=False) == 3
    assert said.read_text() == "--quick a b"


@pytest.mark.parametrize(
    "name", ["second/ecko", "../one", "first/data", "kit/shared", "beside", ""]
)
def test_an_unknown_name_is_refused(folder, name):
    with pytest.raises(
        SettingError, match=r"There is no benchmark .* There are: first/one, second/"
    ):
        run_bench(name, [], as_json=False)


def test_the_checkout_has_benchmarks(monkeypatch):
    monkeypatch.delenv("VOILE_BENCHMARKS", raising=False)
    assert benchmark_folder() == ROOT / "benchmarks"
    found = benchmarks(ROOT / "benchmarks")
    families = ("ebm", "lvq", "locally_linear", "blackbox", "federated")
    assert {f"{family}/quality" for family in families} <= set(found)
    assert "ebm/data" not in found
    assert "kit/data_folder" not in found
    assert all(found.values())


def test_an_installed_package_has_none_and_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("VOILE_BENCHMARKS", raising=False)
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "lib" / "voile" / "cli" / "bench.py"))
    (tmp_path / "benchmarks").mkdir()
    with pytest.raises(SettingError, match=r"clone the repository .* VOILE_BENCHMARKS"):
        run_bench(None, [], as_json=False)
    monkeypatch.setenv("VOILE_BENCHMARKS", str(tmp_path / "no"))
    with pytest.raises(SettingError, match="There is no folder"):
        run_bench("ebm", [], as_json=False)
