"""Features that are words: which of them a text has, and where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from voile.explain.explained_feature import ExplainedFeature

WORD = re.compile(r"\b\w\w+\b")
"""What counts as a word: two characters or more, as vectorisers of texts have it."""


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and the position of the feature it stands for; None for all else."""

    text: str
    feature: int | None


def find_word(feature: ExplainedFeature) -> str:
    """The word a feature stands for, in lower case: its level if it has one, else its name."""
    return (feature.name if feature.level is None else feature.level).lower()


def list_words(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(one.lower() for one in WORD.findall(text))


def split_text(text: str, words: Sequence[str]) -> Iterator[Piece]:
    """Cut a text into pieces, which together are the text: known words, and what is between."""
    places = {one.lower(): j for j, one in enumerate(words)}
    start = 0
    for match in WORD.finditer(text):
        place = places.get(match.group().lower())
        if place is None:
            continue
        if match.start() > start:
            yield Piece(text[start : match.start()], None)
        yield Piece(match.group(), place)
        start = match.end()
    if start < len(text):
        yield Piece(text[start:], None)


def cut_words(text: str, most: int) -> str:
    """The beginning of a long text, which never ends within a word."""
    if len(text) <= most:
        return text
    # Half a word may be another word, and would be marked as such.
    ends = [0, *(one.end() for one in WORD.finditer(text, 0, most + 1) if one.end() <= most)]
    return text[: ends[-1]]
