"""Names and texts as plotly must be given them to show them as they are."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from voile.explain.plain_text import cut_text


def plot_text(text: str, most: int | None = None) -> str:
    """Escape text for a figure, where tags and entities have a meaning.

    Parameters
    ----------
    text : str
    most : int or None
        Characters to keep.

    Examples
    --------
    >>> plot_text("<b>income & more</b>"), plot_text("a very long name", 8)
    ('&lt;b&gt;income &amp; more&lt;/b&gt;', 'a very…')
    """
    clean = re.sub(r"\s+", " ", text)
    return html.escape(clean if most is None else cut_text(clean, most), quote=False)


def plot_labels(texts: Sequence[str], most: int) -> list[str]:
    """Escape and shorten names that stand beside each other, so that they stay different.

    Examples
    --------
    >>> plot_labels(["degree of science", "degree of arts"], 11)
    ['degree…ence', 'degree…arts']
    """
    cut = [plot_text(text, most) for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    tail = (most - 1) // 2 - 1
    return [
        plot_text(text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}")
        for text in texts
    ]
