"""What a notebook shows of models and ledgers: small, escaped, and without scripts."""

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    Schema,
)
from voile.errors import SettingError
from voile.rendering import draw_card

EVIL = "<script>alert(1)</script>"


def fitted(kind, ledger):
    X = {EVIL: np.arange(900.0) % 10, "c": np.array(["u", "v"])[np.arange(900) % 2]}
    y = np.where(X[EVIL] > 4, "yes", EVIL)
    schema = Schema(
        {EVIL: Number(0, 10), "c": Category(["u", "v"])}, target=Category([EVIL, "yes"])
    )
    return kind(epsilon=1, schema=schema, ledger=ledger).fit(X, y)


@pytest.mark.parametrize("kind", [EBMClassifier, GLVQClassifier, LocallyLinearClassifier])
def test_a_fitted_model_shows_its_guarantee_and_no_markup_of_others(kind):
    shown = fitted(kind, Ledger(Budget(9, 1e-6)))._repr_mimebundle_()
    assert "differential privacy for one row" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert "alert(1)" in shown["text/html"]
    assert kind.__name__ in shown["text/plain"]


def test_a_model_that_is_not_fitted_shows_what_scikit_learn_shows():
    assert "EBMClassifier" in EBMClassifier()._repr_html_()


def test_a_ledger_shows_who_took_what():
    ledger = Ledger(Budget(2, 1e-6), dataset=EVIL)
    assert "Nothing was spent" in ledger._repr_html_()
    fitted(EBMClassifier, ledger)
    shown = ledger._repr_html_()
    assert "EBMClassifier.fit" in shown
    assert "<script" not in shown
    assert f"{ledger.fraction_spent():.0%} of the loss is spent" in shown


def test_a_ledger_without_end_is_drawn_too():
    ledger = Ledger(Budget(float("inf"), 1e-6))
    assert "0% of the loss" in ledger._repr_html_()


def test_other_things_have_no_card():
    with pytest.raises(SettingError):
        draw_card(3)
