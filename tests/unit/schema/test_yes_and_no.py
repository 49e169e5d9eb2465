"""Of two classes that nobody put in order, the one that says yes comes last."""

import pytest

from voile.schema.yes_and_no import with_yes_last


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        *(("no", "yes"), ("N", "y"), ("false", "true"), ("Nein", "Ja"), ("n", "j")),
        *(("falsch", "wahr"), ("non", "oui"), ("FAUX", "Vrai"), ("no", "sí"), ("No", "SI")),
    ],
)
def test_yes_is_last(no, yes):
    assert with_yes_last((no, yes)) == with_yes_last((yes, no)) == (no, yes)


@pytest.mark.parametrize(
    "levels", [("Ja", "no"), ("a", "b"), ("Ja",), ("Ja", "Nein", "?"), (1, 0), (True, False), ()]
)
def test_all_else_stays(levels):
    assert with_yes_last(levels) == levels
