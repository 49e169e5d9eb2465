"""Keeps what a benchmark found as results/NAME.json of its family, for pages to quote.

    python benchmarks/kit/record.py FAMILY/NAME FILE "COMMAND"

The file is what the benchmark wrote or printed when it was run by that command: JSON, or a text
that ends in JSON. Numbers are cut to six digits, and long curves are left out. The pages are then
written again with ``python docs-hooks/figures.py --write``.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
LONGEST = 50
"""Numbers of a list; the curves of a ROC have thousands."""


def read(text: str) -> Any:
    """The JSON at the end of a text, from the first line on that it can begin with.

    Raises
    ------
    ValueError
        If there is none.
    """
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line[:1] in "{[":
            try:
                return json.loads("".join(lines[place:]))
            except json.JSONDecodeError:
                continue
    raise ValueError("there is no JSON at the end of this file")


def is_curve(value: Any) -> bool:
    return isinstance(value, list) and len(value) > LONGEST and isinstance(value[0], float)


def shorten(value: Any) -> Any:
    """The same with six digits of every number, and without long curves, which nobody quotes."""
    if isinstance(value, dict):
        short = {key: one for key, one in value.items() if not is_curve(one)}
        return {key: shorten(one) for key, one in short.items()}
    if isinstance(value, list):
        return [shorten(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def record(name: str, figures: Any, command: str) -> Path:
    """Write results/NAME.json of "family/NAME"."""
    family, _, short = name.partition("/")
    path = BENCHMARKS / family / "results" / f"{short}.json"
    path.parent.mkdir(exist_ok=True)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    kept = {"command": command, "recorded": day, "source": "measured", "figures": shorten(figures)}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    print(record(sys.argv[1], read(Path(sys.argv[2]).read_text(encoding="utf-8")), sys.argv[3]))
