"""A forecast for counts, amounts and quantiles says that it is that of squared loss."""

import pytest

from voile import Category, Number, Schema
from voile.errors import SchemaError, SettingError
from voile.planning.forecast import forecast

SCHEMA = Schema(
    {"age": Number(18, 90), "town": Category(["no", "yes"]), "years": Number(0.1, 1)},
    target=Number(0, 20),
)


def look(schema=SCHEMA, **settings):
    return forecast(schema, rows=20_000, epsilons=[1], **settings)


def test_an_exposure_is_no_column_and_squared_loss_is_said():
    found = look(objective="poisson", exposure="years")
    assert [one.name for one in found.outlooks[0].columns] == ["age", "town"]
    assert "squared loss" in str(found)
    assert "multiply" in str(found)
    bare = Schema({n: SCHEMA[n] for n in ("age", "town")}, target=SCHEMA.target)
    assert look(bare).outlooks == found.outlooks


def test_a_quantile_has_no_curves_that_multiply():
    found = str(look(objective="quantile"))
    assert "'quantile'" in found
    assert "multiply" not in found
    assert "squared loss" not in str(look())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objective": "poison"}, "objective"),
        ({"exposure": "years"}, "leave it out"),
        ({"objective": "poisson", "exposure": "year"}, "no column"),
        ({"objective": "poisson", "exposure": "town"}, "must be a number"),
        ({"objective": "poisson", "model": "gmlvq"}, "model='ebm'"),
        (
            {
                "objective": "poisson",
                "exposure": "years",
                "interactions": [("age", "years")],
            },
            "is the exposure",
        ),
    ],
)
def test_what_no_training_could_do_is_refused(settings, words):
    with pytest.raises((SettingError, SchemaError), match=words):
        look(**settings)


def test_an_objective_for_classes_is_refused():
    schema = Schema({"age": Number(18, 90)}, target=Category(["no", "yes"]))
    with pytest.raises(SettingError, match="a category"):
        look(schema, objective="gamma")
