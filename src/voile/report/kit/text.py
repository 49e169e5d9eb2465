"""Names and texts as plotly must be given them to show them as they are."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from voile.explain.ebm.text import cut_text


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
    return [plot_text(text) for text in short_names(texts, most)]


def short_names(texts: Sequence[str], most: int) -> list[str]:
    """Shorten names that stand beside each other, so that different ones stay different.

    What is cut off is the end, else the middle, else the words that they have in common; where
    nothing else helps, they are numbered.

    Examples
    --------
    >>> short_names(["mean of the left half", "mean of the right half", "sum"], 12)
    ['…left…', '…right…', 'sum']
    >>> short_names(["blood, day 1, sample A, raw", "blood, day 2, sample A, raw"], 12)
    ['…1,…', '…2,…']
    """
    clean = {text: re.sub(r"\s+", " ", text) for text in texts}
    names = {text: cut_text(one, most) for text, one in clean.items()}
    alike: dict[str, list[str]] = {}
    for text, name in names.items():
        alike.setdefault(name, []).append(text)
    groups = [group for group in alike.values() if len(group) > 1]
    # Groups may have been told apart by the same words: then all of them together are.
    for group in (*groups, [text for some in groups for text in some]):
        if len(set(names.values())) < len(names):
            found = _tell_apart([clean[text] for text in group], most)
            names.update(zip(group, found, strict=True))
    if len(set(names.values())) < len(names):
        for i, text in enumerate(names, 1):
            mark = f" ({i})"
            names[text] = cut_text(clean[text], most - len(mark)) + mark
    return [names[text] for text in texts]


def _tell_apart(texts: list[str], most: int) -> list[str]:
    """Names that begin alike, cut so that they differ, as far as that is possible."""
    tail = max((most - 1) // 2 - 1, 1)
    ends = [one if len(one) <= most else f"{one[: most - 1 - tail]}…{one[-tail:]}" for one in texts]
    if len(set(ends)) == len(texts):
        return ends
    words = [one.split(" ") for one in texts]
    shared = set(words[0]).intersection(*words)
    return [
        cut_text(re.sub(" *…[… ]*", "…", " ".join("…" if w in shared else w for w in some)), most)
        for some in words
    ]
