"""What the figures of numbers and of categories have in common: texts, and bars of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from voile.explain.plain_text import CLASS_SCORE
from voile.explain.term import ExplainedTerm
from voile.explain.wording import noisy, signed, spread
from voile.report.kit.palette import ROWS, WAS
from voile.report.kit.text import plot_text


def score_title(outputs: tuple[str, ...], units: str) -> str:
    """Title of an axis of scores."""
    if units == "log-odds" and len(outputs) == 1:
        return f"log-odds of {plot_text(outputs[0], 20)}"
    if units == CLASS_SCORE:
        return units if len(outputs) > 1 else f"score of {plot_text(outputs[0], 20)}"
    return f"score ({plot_text(units)})"


def score_range(term: ExplainedTerm) -> list[float]:
    """Ends of an axis of scores: it holds zero, every score, and the noise of bins with rows.

    The noise of a bin that nobody is in can be so great that nothing else would be seen.
    """
    seen = term.counts > 2 * term.count_errors
    noise = np.where(np.isfinite(term.standard_errors), 2 * term.standard_errors, 0.0)
    if seen.any():
        noise = noise * seen[:, None]
    parts = [term.scores - noise, term.scores + noise]
    if term.original is not None:
        parts.append(term.original)
    low = min(0.0, *(float(part.min()) for part in parts))
    high = max(0.0, *(float(part.max()) for part in parts))
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def drawn_noise(term: ExplainedTerm) -> NDArray[np.float64]:
    """Two standard errors of every score; an infinite one reaches beyond the figure.

    Returns
    -------
    ndarray of shape (bins, outputs)
    """
    low, high = score_range(term)
    return np.where(np.isfinite(term.standard_errors), 2 * term.standard_errors, 2 * (high - low))


def rows_text(term: ExplainedTerm, position: int) -> str:
    """About how many rows lie in a bin."""
    count, error = float(term.counts[position]), float(term.count_errors[position])
    return f"about {count:,.0f} rows" + (spread(error) if error > 0 else "")


def bin_texts(term: ExplainedTerm, k: int, output: str) -> list[str]:
    """What one sees on pointing at a bin: its name, score, noise and rows."""
    texts = []
    for i, label in enumerate(term.labels):
        lines = [
            f"<b>{plot_text(label)}</b>" + (f" ({plot_text(output)})" if output else ""),
            noisy(float(term.scores[i, k]), float(term.standard_errors[i, k])),
        ]
        if term.original is not None:
            lines.append(f"as trained: {signed(float(term.original[i, k]))}")
        texts.append("<br>".join([*lines, rows_text(term, i)]))
    return texts


def count_range(term: ExplainedTerm) -> list[float]:
    """Ends of an axis of counts, which starts at zero."""
    errors = np.nan_to_num(2 * term.count_errors, posinf=0.0)
    return [0.0, 1.05 * max(float((term.counts + errors).max()), 1.0)]


def count_bars(term: ExplainedTerm, part: slice, line: dict[str, Any], **place: Any) -> go.Bar:
    """Bars of private counts, with whiskers of two standard errors that stop at zero.

    Parameters
    ----------
    term : ExplainedTerm
    part : slice
        Which bins.
    line : dict
        Border of the bars.
    **place
        Position along the other axis: ``x`` for upright bars, ``y`` for lying ones.
    """
    counts = term.counts[part].tolist()
    errors = np.nan_to_num(2 * term.count_errors[part], posinf=0.0).tolist()
    upright = "x" in place
    whiskers = {
        "array": errors,
        "arrayminus": [min(error, count) for error, count in zip(errors, counts, strict=True)],
        "color": WAS,
        "thickness": 1,
        "width": 0,
    }
    positions = range(len(term.labels))[part]
    return go.Bar(
        **{"y" if upright else "x": counts, "error_y" if upright else "error_x": whiskers},
        **place,
        orientation="v" if upright else "h",
        marker={"color": ROWS, "line": line},
        hovertext=[
            f"<b>{plot_text(term.labels[i])}</b><br>{rows_text(term, i)}" for i in positions
        ],
        hoverinfo="text",
        showlegend=False,
    )
