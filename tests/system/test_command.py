"""The voile command, as a person runs it."""

import json
import subprocess
import sys


def voile(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "voile", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_demo_shows_a_receipt_and_writes_page_json_and_ledger(tmp_path):
    result = voile("demo", "--output", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "(1, 1e-06)-differential privacy for one row added or removed" in result.stdout
    assert "doctor visits a year" in result.stdout
    page = (tmp_path / "out" / "summary.html").read_text(encoding="utf-8")
    assert "<script" in page
    assert 'src="http' not in page  # opens without a network
    assert "Receipt for summary of a table" in page
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["receipt"]["epsilon"] <= 1.0
    assert (tmp_path / "out" / "voile-demo-ledger.db").exists()


def test_demo_speaks_json(tmp_path):
    result = voile("demo", "--json", "--epsilon", "2", cwd=tmp_path)
    assert json.loads(result.stdout)["receipt"]["epsilon"] <= 2.0


def test_wrong_use_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (["demo", "-o", "file/out"], ["demo", "--epsilon", "-1"]):
        result = voile(*arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert result.stderr.startswith("voile: ")
        assert len(result.stderr.strip().splitlines()) == 1


def test_version_and_help(tmp_path):
    assert voile("--version", cwd=tmp_path).stdout.startswith("voile 0.")
    assert "demo" in voile("--help", cwd=tmp_path).stdout


def test_the_library_attacks_itself(tmp_path):
    result = voile("audit", "core", "--runs", "40", "-o", "audit.html", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)["findings"]
    assert len(found) >= 10
    assert not any(one["broken"] for one in found)
    assert "Gaussian sum" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_an_audit_of_nothing_known_is_refused(tmp_path):
    for arguments in (["audit", "cores"], ["audit", "core", "--runs", "3"]):
        result = voile(*arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert result.stderr.startswith("voile: ")
