"""What one sees on pointing at a bin of a shape."""

from __future__ import annotations

from voile.explain.ebm.factors import factor_range_text
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.wording import noisy, signed, spread
from voile.report.kit.text import plot_text


def rows_text(term: ExplainedTerm, position: int) -> str:
    """About how many rows lie in a bin."""
    count, error = float(term.counts[position]), float(term.count_errors[position])
    return f"about {count:,.0f} rows" + (spread(error) if error > 0 else "")


def bin_texts(term: ExplainedTerm, k: int, output: str, *, factors: bool = False) -> list[str]:
    """What one sees on pointing at a bin: its name, score, noise and rows.

    With ``factors``, scores multiply the prediction, and by what is told first.
    """
    texts = []
    for i, label in enumerate(term.labels):
        scored = float(term.scores[i, k]), float(term.standard_errors[i, k])
        about = f"{plot_text(output)}: " if output else ""
        lines = [
            f"<b>{plot_text(label)}</b>",
            about + noisy(*scored),
        ]
        if factors:
            lines.insert(1, factor_range_text(*scored))
        if term.original is not None:
            lines.append(f"{about}as trained: {signed(float(term.original[i, k]))}")
        texts.append("<br>".join([*lines, rows_text(term, i)]))
    return texts
