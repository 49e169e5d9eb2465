"""Writes measured figures into README and docs, from the results that benchmarks recorded.

    python docs-hooks/figures.py --write     # fill every block in again
    python docs-hooks/figures.py --check     # what is stale, or has no source

What stands in a page between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->`` is the
template docs-hooks/figures/NAME.md, filled in from benchmarks/FAMILY/results/*.json. Nobody types a
figure: a test compares the blocks, and looks for figures outside of them and in the templates' own
words (`unmarked` and `typed` say by which rule).
"""

import argparse
import json
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).with_name("figures")
BLOCK = re.compile(
    r"<!-- figures: ([\w-]+) -->\n\n(?:(.*?)\n\n)?<!-- end of figures -->", re.DOTALL
)
MARKER = re.compile(r"<!-- (?:figures: [\w-]+|end of figures) -->")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
FIGURE = re.compile(
    r"(?<!= )(?<![\w.=])\d[\d,]*(?:\.\d+(?!\d|\.\d)|(?:\.\d+)? (?:%|times\b|ms\b|s\b))"
)
"""A number with decimals, or of percent, times or seconds; not after "=", and no version."""

NOT_MEASURED = "<!-- not measured: "
LEAST_CELLS = 3


class FigureError(ValueError):
    """A block that cannot be filled in."""


def pages() -> list[Path]:
    """README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_result(name: str) -> dict[str, Any]:
    """What was recorded as "family/name": command, day, source and figures."""
    family, _, short = name.partition("/")
    path = ROOT / "benchmarks" / family / "results" / f"{short}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FigureError(f"There is no {path}: benchmarks/kit/record.py writes it.") from None


def pick(records: Iterable[dict[str, Any]], **wanted: object) -> dict[str, Any]:
    """The one record that has these values."""
    found = [one for one in records if all(one[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise FigureError(f"{len(found)} records have {wanted}, and there must be one.")
    return found[0]


def fixed(value: float, places: int) -> str:
    """So many decimals, with commas between thousands and a true minus; never "-0.0"."""
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if not float(text.replace(",", "")) else text.replace("-", "−")


def percent(value: float, places: int = 1) -> str:
    """A share as percent."""
    return f"{fixed(100 * value, places)} %"


def significant(value: float, count: int) -> str:
    """So many significant digits, never an exponent, with commas between thousands."""
    places = count - 1 - math.floor(math.log10(abs(value))) if value else 0
    return fixed(round(value, places), max(places, 0))


def span(values: Sequence[float], places: int) -> str:
    """From the smallest to the largest."""
    low, high = fixed(min(values), places), fixed(max(values), places)
    return low if low == high else f"{low} to {high}"


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return statistics.stdev(values) / math.sqrt(len(values))


def environment() -> jinja2.Environment:
    """What templates can use besides Jinja's own."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown
    )
    made.globals |= {
        "figures": lambda name: read_result(name)["figures"],
        "command": lambda name: read_result(name)["command"],
        "pick": pick,
        "zip": lambda *many: zip(*many, strict=True),
    }
    made.filters |= {
        "mean": statistics.fmean,
        "standard_error": standard_error,
        "fixed": fixed,
        "percent": percent,
        "significant": significant,
        "span": span,
    }
    return made


def fill(page: str) -> str:
    """A page with every block written again.

    Raises
    ------
    FigureError
        If a marker has no partner, or a template needs what no result has.
    """
    made = environment()

    def block(found: re.Match[str]) -> str:
        name = found[1]
        try:
            text = (
                made.get_template(f"{name}.md")
                .render()
                .strip()
                .replace("|  |", "| |")
                .replace("|  |", "| |")
            )
        except jinja2.TemplateError as error:
            raise FigureError(f"The block {name!r} cannot be filled in: {error!r}") from error
        return f"<!-- figures: {name} -->\n\n{text}\n\n<!-- end of figures -->"

    if MARKER.search(BLOCK.sub("", page)):
        raise FigureError("A block needs both markers, with an empty line inside each.")
    return BLOCK.sub(block, page)


def unmarked(page: str) -> Iterator[str]:
    """Parts of a page that look measured and name no source.

    Outside of blocks and code these are: a table with three or more cells that hold a number with
    decimals, or of percent, times or seconds, unless ``<!-- not measured: why -->`` is the
    paragraph before it; and a paragraph with such a number that names a benchmark.
    """
    before = ""
    for part in re.split(r"\n\s*\n", FENCE.sub("", BLOCK.sub("", page))):
        excused, before = before.startswith(NOT_MEASURED), part.strip()
        words = CODE.sub("", part)
        cells = [
            one for line in words.splitlines() if line.startswith("|") for one in line.split("|")
        ]
        count = sum(bool(FIGURE.search(cell)) for cell in cells)
        named = "benchmarks/" in part or "make bench" in part
        if not excused and (count >= LEAST_CELLS or (named and FIGURE.search(words))):
            yield part.strip()


def typed(template: str) -> list[str]:
    """Figures in a template's own words, where none may be: they come out of the results.

    Settings of an experiment are no findings: a first line ``{# settings: 95 % interval; ... #}``
    names the words with which they are told.
    """
    words = CODE.sub("", TAG.sub("", template))
    for setting in re.findall(r"\{# settings: (.*?) #\}", template):
        for one in setting.split("; "):
            words = words.replace(one, "")
    return FIGURE.findall(words)


def problems() -> Iterator[str]:
    """All that is wrong with the pages and templates as they are."""
    used = set()
    for path in pages():
        page = path.read_text(encoding="utf-8")
        used |= {found[1] for found in BLOCK.finditer(page)}
        try:
            if fill(page) != page:
                yield f"{path}: not what was recorded: python docs-hooks/figures.py --write"
        except FigureError as error:
            yield f"{path}: {error}"
        yield from (
            f"{path}: measured, but no figures block: {one[:200]}" for one in unmarked(page)
        )
    for path in sorted(TEMPLATES.glob("*.md")):
        if path.stem not in used:
            yield f"{path}: no page has this block"
        yield from (f"{path}: {one!r} is typed" for one in typed(path.read_text(encoding="utf-8")))


def main() -> int:
    """Write or check, as asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--write", action="store_true", help="fill every block in again")
    chosen.add_argument("--check", action="store_true", help="say what is wrong; status 1 if any")
    if parser.parse_args().write:
        for path in pages():
            page = path.read_text(encoding="utf-8")
            if (filled := fill(page)) != page:
                path.write_text(filled, encoding="utf-8")
                print(f"written: {path.relative_to(ROOT)}")
    found = list(problems())
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
