"""Short labels of what a row has in its columns and pairs: "age & ward = 71 & B"."""

from __future__ import annotations

from collections.abc import Sequence

from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.text import cut_text
from voile.models.ebm.pair_term import JOINED
from voile.report.kit.bars import MOST_VALUE, value_label
from voile.report.kit.text import short_names

MOST_NAME = 20


def label_features(record: EBMLocalExplanation, row: int) -> list[str]:
    """A label for each feature of a row.

    Both sides of a pair are shortened by themselves, so that neither hides the other. How a value
    was read stands beside the column itself; the pair has it as it counted.
    """
    names, pairs = short_names(record.features, MOST_NAME), find_sides(record.features)
    given, read = record.given[row], record.read_as[row]
    columns = [j for j in range(len(names)) if j not in pairs]
    short = short_names([record.features[j] for j in columns], MOST_NAME // 2)
    sides = dict(zip(columns, short, strict=True))
    labels = []
    for j, name in enumerate(names):
        if j not in pairs:
            labels.append(value_label(name, given[j], read[j] or ""))
            continue
        values = (cut_text(read[i] or given[i], MOST_VALUE // 2 + 1) for i in pairs[j])
        whole = len(record.features[j]) <= MOST_NAME
        both = name if whole else JOINED.join(sides[i] for i in pairs[j])
        labels.append(f"{both} = {JOINED.join(values)}")
    return labels


def find_sides(features: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Places of the two columns of each feature that is a pair, by its own place.

    Columns stand before pairs; a name may hold what joins two names.
    """
    places: dict[str, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for j, feature in enumerate(features):
        sides = _split(feature, places)
        if sides is None:
            places.setdefault(feature, j)
        else:
            found[j] = sides
    return found


def _split(feature: str, places: dict[str, int]) -> tuple[int, int] | None:
    at = feature.find(JOINED)
    while at >= 0:
        first, second = feature[:at], feature[at + len(JOINED) :]
        if first in places and second in places:
            return places[first], places[second]
        at = feature.find(JOINED, at + 1)
    return None
