"""Which pairs of columns a user wants as terms: the setting, its checks, what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from voile.errors import SchemaError, SettingError
from voile.models.ebm.pair_cells import MOST_TERMS
from voile.schema import Schema

Interactions = Literal["auto"] | int | Sequence[tuple[str, str]]

MOST_CHOSEN = 10
"""Most pairs that are chosen by the rule."""

_JOINING = 0.4
"""Part of the rounds, the first ones, in which columns are alone."""

_FEWEST_ROUNDS = 5

_WANTED = (
    "The 'interactions' must be 'auto', a number of pairs, or a list of pairs of columns such as "
    "[('age', 'weight')]."
)


@dataclass(frozen=True)
class WantedPairs:
    """Which pairs may become terms.

    Attributes
    ----------
    most : int
        Most pairs that are chosen.
    named : tuple of pairs of int
        Numbers of the columns of pairs that a person named; then nothing is chosen.
    eligible : tuple of int
        Columns whose pairs are candidates.
    """

    most: int
    named: tuple[tuple[int, int], ...]
    eligible: tuple[int, ...]


def joining_round(rounds: int) -> int:
    """The round before which pairs join."""
    return max(int(_JOINING * rounds), 1)


def read_interactions(given: object) -> Interactions | None:
    """The setting as a number, or a tuple of pairs of names; None for 'auto' (SettingError)."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given <= MOST_TERMS:
            raise SettingError(
                f"The number of 'interactions' must be from 0 to {MOST_TERMS}. Got {given!r}."
            )
        return int(given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise SettingError(f"{_WANTED} Got {given!r} instead.")
    pairs: list[tuple[str, str]] = []
    for one in given:
        names = list(one) if isinstance(one, (tuple, list)) else []
        if len(names) != 2 or not all(isinstance(name, str) for name in names):
            raise SettingError(f"{_WANTED} Got the element {one!r}.")
        pairs.append((names[0], names[1]))
    if len(pairs) > MOST_TERMS:
        raise SettingError(f"At most {MOST_TERMS} 'interactions' can be named: name fewer.")
    return tuple(pairs)


def check_interactions(
    wanted: Interactions | None,
    schema: Schema,
    monotone: Mapping[str, object],
    method: str,
    exposure: str | None = None,
) -> None:
    """Refuse pairs that no fit can have, before anything is spent."""
    if not wanted:
        return
    if method == "cyclic":
        raise SettingError("The 'interactions' need method='rounds'.")
    if isinstance(wanted, int | str):
        return
    seen: set[frozenset[str]] = set()
    for one, other in wanted:
        for name in (one, other):
            if name == exposure:
                raise SettingError(
                    f"The interaction ({one!r}, {other!r}) names {name!r}, which is the exposure "
                    "and no term: name another column."
                )
            if name not in schema:
                raise SchemaError(
                    f"The interaction ({one!r}, {other!r}) names {name!r}, which is no column of "
                    f"the schema: name two of {', '.join(map(repr, schema))}."
                )
            if name in monotone:
                raise SettingError(
                    f"The column {name!r} is monotone, and a pair could bend its effect: leave it "
                    "out of 'monotone' or of 'interactions'."
                )
        if one == other:
            raise SettingError(f"The interaction ({one!r}, {other!r}) names one column twice.")
        if frozenset((one, other)) in seen:
            raise SettingError(f"The interaction ({one!r}, {other!r}) is named twice.")
        seen.add(frozenset((one, other)))


def find_wanted(
    wanted: Interactions | None, schema: Schema, monotone: Mapping[str, object], rounds: int
) -> WantedPairs | None:
    """What a fit is to do about pairs; None if there can be none."""
    order = {name: k for k, name in enumerate(schema)}
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        pairs = [(order[one], order[other]) for one, other in wanted]
        named = tuple((min(pair), max(pair)) for pair in pairs)
        return WantedPairs(len(named), named, ()) if named and rounds > 1 else None
    eligible = tuple(k for name, k in order.items() if name not in monotone)
    most = MOST_CHOSEN if wanted is None or isinstance(wanted, str) else wanted
    # Too few rounds are left for a pair otherwise, or there is nothing to choose.
    if most == 0 or rounds < _FEWEST_ROUNDS or not any(combinations(eligible, 2)):
        return None
    return WantedPairs(most, (), eligible)
