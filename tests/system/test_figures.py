"""Figures of README and docs are those that benchmarks recorded, and none is typed by hand."""

import importlib.util
import json
import re

import pytest
from documented_pages import ROOT

spec = importlib.util.spec_from_file_location("figures", ROOT / "docs-hooks" / "figures.py")
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = sorted((ROOT / "benchmarks").glob("*/results/*.json"))
PLAIN = "| a | b | c |\n|---|---|---|\n| 0.91 | 12 % | 3 s |"


def test_every_figure_is_what_was_recorded():
    """Blocks are filled in from results, nothing measured stands outside, no template has any."""
    assert not list(figures.problems())


def test_a_changed_digit_is_noticed():
    digit = re.search(r"\*\*0\.9(\d)", README)
    wrong = README[: digit.start(1)] + str((int(digit[1]) + 1) % 10) + README[digit.end(1) :]
    assert wrong != README
    assert figures.fill(wrong) == README


def test_a_changed_result_is_noticed(monkeypatch):
    def changed(name):
        found = read(name)
        if name == "audit/bugs":
            found["figures"]["caught"] -= 1
        return found

    read = figures.read_result
    monkeypatch.setattr(figures, "read_result", changed)
    page = (ROOT / "docs" / "explanation" / "how-it-compares.md").read_text(encoding="utf-8")
    assert "| 17 of 18; none in 360 audits |" in figures.fill(page)


@pytest.mark.parametrize(
    "part",
    [
        PLAIN,
        "Twice as good, 0.91 (`python benchmarks/ebm/quality.py`).",
        "By `make bench BENCH=privacy/noise` it takes 12 ms.",
    ],
)
def test_figures_without_a_source_are_noticed(part):
    assert list(figures.unmarked(f"Before.\n\n{part}\n\nAfter.")) == [part]


@pytest.mark.parametrize(
    "part",
    [
        f"<!-- not measured: by definition -->\n\n{PLAIN}",
        f"<!-- figures: any -->\n\n{PLAIN}\n\n<!-- end of figures -->",
        f"```text\n{PLAIN}\n```",
        "| name | rows |\n|---|---|\n| `0.5` | 300 |\n| version 0.7.8 | ε = 0.5 |\n| b | 2 |",
        "`python benchmarks/ebm/quality.py --eps .5` at ε = 0.5 says so.",
        "At 0.91 of what is possible.",
    ],
)
def test_what_is_no_figure_or_has_a_source_is_left_alone(part):
    assert not list(figures.unmarked(f"Before.\n\n{part}\n\nAfter."))


def test_a_figure_typed_into_a_template_is_noticed():
    template = "{# settings: 95 % interval #}\nAt ε = 0.5, 95 % interval: {{ x }} and "
    assert not figures.typed(template)
    assert figures.typed(f"{template}0.91") == ["0.91"]
    assert figures.typed(f"{template}7 times") == ["7 times"]


@pytest.mark.parametrize(
    ("page", "what"),
    [
        ("<!-- figures: readme-ebm -->\n\nx", "both markers"),
        ("x\n\n<!-- end of figures -->", "both markers"),
        ("<!-- figures: readme-ebm -->\nx\n<!-- end of figures -->", "empty line"),
        ("<!-- figures: no-such -->\n\nx\n\n<!-- end of figures -->", "no-such"),
    ],
)
def test_a_block_that_cannot_be_filled_in_is_an_error(page, what):
    with pytest.raises(figures.FigureError, match=what):
        figures.fill(page)


def test_results_and_records_that_are_not_there_are_errors():
    with pytest.raises(figures.FigureError, match=r"no .*nothing\.json"):
        figures.read_result("ebm/nothing")
    with pytest.raises(figures.FigureError, match="2 records"):
        figures.pick([{"a": 1}, {"a": 1}], a=1)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_result_says_where_it_comes_from_and_is_quoted(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    assert set(found) == {"command", "recorded", "source", "figures"}
    assert re.match(r"measured$|transcribed from .* as of commit \w{7}$|published", found["source"])
    quoted = f'"{path.parts[-3]}/{path.stem}"'
    assert any(quoted in one.read_text(encoding="utf-8") for one in figures.TEMPLATES.glob("*.md"))


@pytest.mark.parametrize(
    ("value", "count", "text"),
    [(62784.3, 4, "62,780"), (0.004113, 2, "0.0041"), (9.42, 1, "9"), (0.0, 3, "0")],
)
def test_significant_digits_have_no_exponent(value, count, text):
    assert figures.significant(value, count) == text


def test_a_minus_is_one_and_nothing_is_no_minus():
    assert figures.fixed(-0.04, 1) == "0.0"
    assert figures.fixed(-1.25, 1) == "−1.2"
    assert figures.span([0.41, 0.44], 1) == "0.4"
    assert figures.span([0.4, 1.46], 1) == "0.4 to 1.5"
