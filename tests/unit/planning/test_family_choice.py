"""The advice on kinds of models follows public facts, and what was measured."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from voile import Category, Number, Schema, Unit, forecast
from voile.planning.facts import gather_facts
from voile.planning.family_choice import suggest_family

RESULT = Path(__file__).parents[3] / "benchmarks" / "ebm" / "results" / "families.json"


def schema_of(numbers, categories, classes):
    columns = {f"n{k}": Number(0, 1) for k in range(numbers)}
    columns |= {f"c{k}": Category(range(5)) for k in range(categories)}
    target = Category(range(classes)) if classes else Number(0, 1)
    return Schema(columns, target=target)


def advice(numbers, categories, classes, rows, epsilon):
    facts = gather_facts(schema_of(numbers, categories, classes), rows=rows)
    return suggest_family(facts, epsilon)


@pytest.mark.parametrize(
    ("numbers", "categories", "classes", "rows", "epsilon", "own", "together"),
    [
        (16, 0, 11, 3_850, 1.0, "ebm", "gmlvq"),
        (16, 0, 26, 20_000, 0.5, "ebm", "gmlvq"),
        (16, 0, 2, 20_000, 1.0, "ebm", "gmlvq"),
        (8, 8, 2, 20_000, 1.0, "ebm", "ebm"),
        (0, 8, 12, 20_000, 1.0, "ebm", "ebm"),
        (1, 0, 12, 20_000, 1.0, "ebm", "ebm"),
        (8, 8, 2, 2_000, 1.0, "gmlvq", "gmlvq"),
        (8, 8, 2, 2_000, 8.0, "ebm", "ebm"),
        (16, 0, 11, 10**9, 0.1, "ebm", "gmlvq"),
    ],
)
def test_the_advice_follows_public_facts(
    numbers, categories, classes, rows, epsilon, own, together
):
    found = advice(numbers, categories, classes, rows, epsilon)
    assert (found.own, found.together, found.classes) == (own, together, classes)
    for name in {own, together}:
        assert f"({name})" in found.words
    assert "in our measurements" in found.words


def test_a_number_has_additive_models_alone():
    assert advice(4, 2, 0, 5_000, 1.0) is None
    record = forecast(schema_of(4, 2, 0), rows=5_000)
    assert record[1.0].family is None
    assert record.family_words == ""
    assert "Which model" not in record._repr_html_()


def test_people_with_several_rows_count_as_one():
    schema = schema_of(8, 8, 2)
    assert suggest_family(gather_facts(schema, rows=8_000), 1.0).own == "ebm"
    people = gather_facts(schema.with_unit(Unit("who", rows=4)), rows=8_000)
    assert suggest_family(people, 1.0).own == "gmlvq"


def measured():
    """Accuracy of each family by table, classes, rows and epsilon."""
    found = defaultdict(dict)
    for one in json.loads(RESULT.read_text(encoding="utf-8"))["figures"]:
        key = (one["table"], one["classes"], one["rows"], one["epsilon"])
        found[key][one["family"]] = one["accuracy"]
    return found


@pytest.mark.parametrize("kind", ["correlated", "clouds", "curves", "mixed"])
def test_the_advice_is_that_of_the_measurements(kind):
    """Over all tables of a kind the advised family loses little against the better of the two."""
    regrets, fixed = [], defaultdict(list)
    for (table, classes, rows, epsilon), accuracy in measured().items():
        if table != kind:
            continue
        numbers = 8 if kind == "mixed" else 16
        found = advice(numbers, 16 - numbers, classes, rows, epsilon)
        name = found.together if kind in ("correlated", "clouds") else found.own
        best = max(accuracy["ebm"], accuracy["gmlvq"])
        regrets.append(best - accuracy[name])
        for one in ("ebm", "gmlvq"):
            fixed[one].append(best - accuracy[one])
    assert len(regrets) == 72
    assert np.mean(regrets) < 0.01
    assert np.mean(regrets) <= min(map(np.mean, fixed.values())) + 1e-12


def test_another_model_is_named_where_it_is_likely_ahead(capsys):
    textures = schema_of(16, 0, 11)
    planned = forecast(textures, rows=4_000, epsilons=[1.0])
    assert "gmlvq" in planned.other_family[0]
    text = " ".join(str(planned).split())
    assert planned.other_family[0] in text
    planned.show()
    assert planned.other_family[0] in " ".join(capsys.readouterr().out.split())
    assert "(gmlvq)" in planned._repr_html_()
    told = json.loads(planned.to_json())["outlooks"][0]["family"]
    assert (told["own"], told["together"]) == ("ebm", "gmlvq")
    # Few classes: both are near, and nothing is said beside the page.
    few = forecast(schema_of(16, 0, 2), rows=4_000, epsilons=[1.0])
    assert few.other_family == ()
    assert few.family_words
    fitting = forecast(schema_of(4, 6, 3), rows=40_000, model="gmlvq", epsilons=[1.0])
    assert "(ebm)" in fitting.other_family[0]
