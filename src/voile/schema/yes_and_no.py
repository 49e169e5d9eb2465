"""Words for yes and no, as tables have them: of two classes that nobody put in order, yes is last.

A model of two classes speaks of the last one. Sorted by the alphabet that is "yes", but not "Ja".
"""

from __future__ import annotations

from collections.abc import Sequence

from voile.schema.columns import Level

_PAIRS = {
    frozenset(pair)
    for pair in (
        *(("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f")),
        *(("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("w", "f")),
        *(("oui", "non"), ("o", "n"), ("vrai", "faux"), ("v", "f")),
        *(("sí", "no"), ("si", "no"), ("sì", "no"), ("s", "n")),
    )
}
_YES = {"yes", "y", "true", "t", "ja", "j", "wahr", "w", "oui", "o", "vrai", "v"} | {
    *("sí", "si", "sì", "s")
}


def with_yes_last(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Two levels that say yes and no, yes last; all others as they are.

    Examples
    --------
    >>> with_yes_last(("Ja", "Nein")), with_yes_last(("N", "Y")), with_yes_last(("a", "b"))
    (('Nein', 'Ja'), ('N', 'Y'), ('a', 'b'))
    """
    words = [one.strip().casefold() for one in levels if isinstance(one, str)]
    if len(words) == len(levels) == 2 and frozenset(words) in _PAIRS and words[0] in _YES:
        return (levels[1], levels[0])
    return tuple(levels)
