"""Every notebook of the documentation runs as written, and holds the outputs of a real run."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest
from documented_pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def read_code(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source_of(cell):
    """What Python runs of a cell: lines for Jupyter alone (%, !) are left out."""
    lines = "".join(cell["source"]).splitlines()
    return "\n".join(line for line in lines if not re.match(r"\s*[%!]", line))


def is_silent(source):
    """Whether a cell shows nothing: it prints nothing, and does not end in an expression."""
    import ast

    body = ast.parse(source).body
    prints = any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
        for one in body
        for node in ast.walk(one)
    )
    return not prints and not isinstance(body[-1], ast.Expr)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["black-box", "images", "table"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    program = tmp_path / "notebook.py"
    program.write_text("\n".join(map(source_of, read_code(path))), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_the_outputs_of_one_run(path):
    cells = read_code(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = {output["output_type"] for output in cell["outputs"]}
        assert kinds <= {"stream", "execute_result", "display_data"}
        assert all(output.get("name") != "stderr" for output in cell["outputs"])
        assert bool(cell["outputs"]) != is_silent(source_of(cell)), source_of(cell)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_needs_no_network(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 600_000
    assert "http://" not in text
    assert "https://" not in text
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert (path.parent / picture).is_file()


@pytest.mark.parametrize(
    ("source", "silent"),
    [("x = 1", True), ("x", False), ("x = 1\nprint(x)", False), ("def f():\n    pass", True)],
)
def test_what_is_silent(source, silent):
    assert is_silent(source) is silent


def test_a_notebook_becomes_a_page():
    spec = importlib.util.spec_from_file_location("hook", ROOT / "docs-hooks" / "notebooks.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    for path in NOTEBOOKS:
        page = hook.as_markdown(json.loads(path.read_text(encoding="utf-8")), path.name)
        assert page.startswith("# ")
        assert f"({path.name}){{ download }}" in page
        assert page.count("```python") == len(read_code(path))
