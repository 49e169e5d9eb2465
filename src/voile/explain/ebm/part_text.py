"""One term or pair as plain text: what print() shows of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from voile.arrays import Floats
from voile.explain.wording import noisy, short, spread

MOST_BINS, MOST_LABEL = 16, 40


def part_text(
    head: str,
    labels: Sequence[str],
    scores: Floats,
    errors: Floats,
    counts: tuple[Floats, Floats],
    what: str,
) -> str:
    """A line of each bin or cell; of many, those with the greatest scores, in their order.

    Parameters
    ----------
    head : str
        The first line.
    labels : sequence of str
    scores, errors : ndarray of shape (labels, outputs)
    counts : pair of ndarray of shape (labels,)
        Rows, and their standard errors. Where there are none, a score says little and comes last.
    what : str
        What has a label: "bins" or "cells".
    """
    seen = counts[0] > counts[1]
    order = np.lexsort((-np.abs(scores).max(axis=1), ~seen))[:MOST_BINS]
    names = [labels[i][:MOST_LABEL] for i in sorted(order.tolist())]
    width = max(map(len, names), default=0)
    lines = [head]
    for i, name in zip(sorted(order.tolist()), names, strict=True):
        told = ", ".join(map(noisy, scores[i].tolist(), errors[i].tolist()))
        lines.append(f"  {name:<{width}}  {told}; {_rows_text(counts, i)}")
    left = len(labels) - len(order)
    if left:
        lines.append(f"  ... and {left} more {what}: to_frame() of the explanation has all")
    return "\n".join(lines)


def head_text(name: str, verdict: str, importance: Floats, alone: Floats) -> str:
    """What a part is, how clear it is and how much it matters."""
    return (
        f"{name}: {verdict}, importance {short(float(importance.sum()))} "
        f"({short(float(alone.sum()), digits=2)} by noise and sampling error alone)"
    )


def _rows_text(counts: tuple[Floats, Floats], i: int) -> str:
    count, error = float(counts[0][i]), float(counts[1][i])
    return f"about {count:,.0f} rows" + (spread(error) if error > 0 else "")
