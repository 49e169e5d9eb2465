"""Every snippet of the README and the documentation runs as written: Python, shell, YAML."""

import doctest
import importlib
import os
import pkgutil
import shlex
import subprocess
import sys

import pytest
from documented_pages import (
    PAGES,
    ROOT,
    PageError,
    as_program,
    check_command,
    find_commands,
    has_snippets,
    read_blocks,
    read_commands,
)

import voile

PROGRAMS = [page for page in PAGES if has_snippets(page.read_text(encoding="utf-8"))]

QUICK = {
    "README.md",
    "CONTRIBUTING.md",
    "docs/index.md",
    "docs/tutorials/index.md",
    "docs/how-to/share-a-ledger.md",
    "docs/how-to/write-a-mechanism.md",
    "docs/reference/schema-files.md",
}
"""Pages that run in the fast part: all public names, in seconds. The others are slow tests."""

MODULES = [
    module.name
    for module in pkgutil.walk_packages(voile.__path__, "voile.")
    if module.name != "voile.__main__"
] + ["voile"]


def test_examples_in_docstrings_are_true():
    results = {name: doctest.testmod(importlib.import_module(name)) for name in sorted(MODULES)}
    assert [name for name, result in results.items() if result.failed] == []
    assert sum(result.attempted for result in results.values()) >= 10


def named(page):
    return str(page.relative_to(ROOT))


REPEATABLE = """
import sys
sys.path.append({tests!r})
import repeatable
repeatable.begin({place!r})
sys.path.pop()
"""


def run_page(text, folder, place=""):
    """All snippets of a page form one program, run in an empty folder with noise of its own."""
    program = folder / "page.py"
    begin = REPEATABLE.format(tests=str(ROOT / "tests"), place=place) if place else ""
    program.write_text(begin + as_program(text), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "VOILE_DEBUG": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_there_are_snippets():
    assert ROOT / "README.md" in PROGRAMS


def test_quick_pages_exist():
    assert {named(page) for page in PROGRAMS} >= QUICK


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if named(page) in QUICK else [pytest.mark.slow])
        for page in PROGRAMS
    ],
    ids=named,
)
def test_snippets_run_in_order(page, tmp_path):
    result = run_page(page.read_text(encoding="utf-8"), tmp_path, named(page))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_in_the_text_exist(page):
    for command in find_commands(page.read_text(encoding="utf-8")):
        check_command(tuple(shlex.split(command, comments=True)))


# -- the checker itself ----------------------------------------------------------------------------


def page_of(language, *lines):
    return "\n".join([f"```{language}", *lines, "```", ""])


def test_blocks_of_all_kinds_share_one_folder_and_one_python(tmp_path):
    text = "".join(
        [
            page_of("python", "x = 1"),
            page_of("yaml", "# facts.yaml", "voile_schema: 1", "columns: {age: {kind: number}}"),
            page_of("console", "$ voile schema table.csv \\", "    --no-ask  # exits with 2"),
            page_of("python", "open('table.csv', 'w').write('age,dose\\n1,2\\n')", "assert x == 1"),
            page_of("console", "voile schema table.csv --no-ask -o read.json", "make demo"),
            page_of("sh", "voile --version > version.txt", "python -c \"open('read.json')\""),
            page_of("python", "assert open('version.txt').read().startswith('voile ')"),
            page_of("text", "is not run"),
        ]
    )
    result = run_page(text, tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "facts.yaml").exists()


@pytest.mark.parametrize(
    "text",
    [
        page_of("python", "raise ValueError"),
        page_of("python", "import warnings; warnings.warn('x')"),
        page_of("console", "voile schema missing.csv"),
        page_of("console", "voile --version  # exits with 3"),
        page_of("sh", "false", "true"),
        page_of("yaml", "voile_schema: 1", "columns: {age: {kind: nmber}}"),
    ],
)
def test_a_page_with_a_fault_fails(text, tmp_path):
    assert run_page(text, tmp_path).returncode != 0


@pytest.mark.parametrize(
    "text",
    [
        page_of("console", "curl somewhere"),
        page_of("console", "make nonsense"),
        page_of("console", "python benchmarks/ebm/quality.py --nonsense"),
        page_of("console", "pip install 'voile[nonsense]'"),
        page_of("console", "what a command printed"),
        page_of("bash", "make test"),
        page_of("pythn", "x = 1"),
        page_of("yaml", "a: 1"),
        "```python\nx = 1\n",
    ],
)
def test_nothing_is_left_out_in_silence(text):
    with pytest.raises(PageError):
        as_program(text)


@pytest.mark.parametrize(
    "command",
    [
        "make demos",
        "make bench BENCH=nonsense",
        "make test TSTS=tests",
        "python benchmarks/ebn.py",
        "python benchmarks/ebm/quality.py --sped",
        "python examples/federated/deployment.py --nonsense",
        "pip install voile[exel]",
        "pip install numpyy",
        "voile tran",
        "voile train --epsilom 1",
        "voile ledger make",
    ],
)
def test_a_command_that_does_not_exist_is_refused(command):
    assert find_commands(f"see `{command}`.") == [command]
    with pytest.raises(PageError):
        check_command(tuple(shlex.split(command)))


def test_commands_are_read_as_a_shell_reads_them():
    found = read_commands(
        "$ voile edit m.voile \\\n  --why 'two words'  # exits with 5\n# nothing\n"
    )
    assert [(one.words, one.exit_code) for one in found] == [
        (("voile", "edit", "m.voile", "--why", "two words"), 5)
    ]


def test_blocks_inside_lists_are_read():
    assert read_blocks("1. do\n\n   ```python\n   x = 1\n   ```\n")[0].text == "x = 1\n"
