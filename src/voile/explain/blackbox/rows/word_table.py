"""Texts as tables of words: which words of a public vocabulary occur in each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.words import WORD


def check_vocabulary(vocabulary: object) -> tuple[str, ...]:
    """The words as a tuple; refuses what no text could contain as a word."""
    if isinstance(vocabulary, (str, bytes, Mapping)) or not isinstance(
        vocabulary, (Sequence, np.ndarray)
    ):
        raise SettingError(
            f"The 'vocabulary' must be a sequence of words. Got {type(vocabulary).__name__} "
            "instead: give a list."
        )
    words = tuple(vocabulary)
    for word in words:
        if not isinstance(word, str) or _words_of(word) != [word]:
            raise SettingError(
                f"The vocabulary's {word!r} is not a word as texts are read (lower case, two "
                "letters or digits at least, no spaces): correct it, or leave it out."
            )
    if not words or len(set(words)) < len(words):
        raise SettingError(
            "The 'vocabulary' must hold at least one word, and each once: correct it."
        )
    return tuple(map(str, words))


def texts_in(X: object, *, expected: bool = False) -> list[Any] | None:
    """The texts in a list, tuple, series or flat array; None if it is nothing of the kind.

    Only the first is looked at, and only for its type.

    Parameters
    ----------
    X : object
    expected : bool
        Whether texts are announced: the first may then be missing or of any type but a row's.
    """
    if isinstance(X, (list, tuple)):
        if expected:
            rows = X and isinstance(X[0], (list, tuple, np.ndarray, Mapping))
            return None if rows else list(X)
        return list(X) if X and isinstance(X[0], str) else None
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "UTO" else None
    if hasattr(X, "columns") or isinstance(X, Mapping):
        return None
    for convert in ("to_list", "to_pylist"):  # series of pandas and polars; arrays of pyarrow
        if hasattr(X, convert):
            texts: list[Any] = getattr(X, convert)()
            return texts
    return None


def tabulate_words(texts: Sequence[Any], vocabulary: Sequence[str]) -> dict[str, NDArray[np.uint8]]:
    """One column per word, shape (rows,): 1 where the text contains it, 0 elsewhere.

    What is not text contains no word: a value in private rows must not cause an error.
    """
    place = {word: column for column, word in enumerate(vocabulary)}
    # One line per word, since columns are what is read later.
    table = np.zeros((len(place), len(texts)), dtype=np.uint8)
    for row, text in enumerate(texts):
        if isinstance(text, str):
            found = [place[word] for word in set(_words_of(text)) if word in place]
            table[found, row] = 1
    return dict(zip(vocabulary, table, strict=True))


def join_words(columns: Mapping[str, NDArray[Any]], vocabulary: Sequence[str]) -> list[str]:
    """Texts of the words that are present (above one half), in the vocabulary's order."""
    present = np.column_stack([np.asarray(columns[word]) > 0.5 for word in vocabulary])
    words = np.array(vocabulary, dtype=object)
    return [" ".join(words[row]) for row in present]


def _words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())
