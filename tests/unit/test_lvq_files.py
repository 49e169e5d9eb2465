"""A stored prototype model comes back to the bit; a damaged file is refused, never guessed at."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prototype_models import mixed_model, picture_model, tumour_model

from voile import Category, GLVQClassifier, GMLVQClassifier, LVQ1Classifier, Number, Schema, load
from voile.errors import ModelError
from voile.models.lvq.files import SavedPrototypes
from voile.models.lvq.model import PrototypeModel
from voile.privacy import noise

from_dict, to_dict = SavedPrototypes.model_of, SavedPrototypes.data_of
write = SavedPrototypes.write

MODELS = {"numbers": tumour_model, "categories": mixed_model, "pictures": picture_model}


def assert_same(one, other):
    for name in ("prototypes", "prototype_errors", "labels", "means", "counts", "omega", "centre"):
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype
        assert np.array_equal(first, second, equal_nan=True)
    for name in ("kind", "mechanism", "schema", "image_shape", "classes", "receipt"):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_comes_back_to_the_bit(make, tmp_path):
    model = make()
    path = write(model, tmp_path / "m.json")
    back = load(path)
    assert_same(back.model_, model)
    assert to_dict(back.model_) == to_dict(model) == json.loads(path.read_text(encoding="utf-8"))


def test_extreme_floats_survive(tmp_path):
    model = tumour_model()
    places = model.prototypes.copy()
    places[0] = [5e-324, -0.0, 1 / 3, -1e-300]
    back = load(write(replace(model, prototypes=places), tmp_path / "m.json")).model_
    assert np.array_equal(back.prototypes, places)
    assert math.copysign(1, back.prototypes[0, 1]) == -1


def test_counts_that_were_not_estimated_are_null():
    data = to_dict(mixed_model())
    assert data["counts"][1] is None
    assert math.isnan(from_dict(data).counts[1])


def test_what_was_read_cannot_be_changed():
    model = from_dict(to_dict(tumour_model()))
    for name in ("prototypes", "prototype_errors", "labels", "means", "counts", "omega", "centre"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[0] = 1


def test_a_trained_model_cannot_be_changed():
    model = GLVQClassifier(schema=SCHEMA).fit(ROWS, LABELS).model_
    for name in ("prototypes", "prototype_errors", "labels", "means", "counts", "omega", "centre"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[0] = 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"kind": "voile lvq"', "not valid JSON"),
        (b'{"kind": "voile lvq", "kind": "voile lvq"}', "twice"),
        (b'{"kind": "voile lvq", "format": NaN}', "NaN"),
        (b'{"kind": "voile lvq", "format": Infinity}', "Infinity"),
        (b'{"kind": "voile lvq", "format": 2, "voile": "9.9"}', "9.9"),
        (b'{"kind": "voile lvq", "format": 1}', "has no"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as raised:
        load(path)
    assert "bad.json" in str(raised.value)


@pytest.mark.parametrize("name", ["prototypes", "means", "omega", "centre", "counts"])
def test_nan_is_refused_in_every_table(tmp_path, name):
    path = write(tumour_model(), tmp_path / "m.json")
    data = json.loads(path.read_text())
    table = data[name]
    place = table[0] if isinstance(table[0], list) else table
    place[0] = math.nan
    path.write_text(json.dumps(data))
    with pytest.raises(ModelError, match="NaN"):
        load(path)
    with pytest.raises(ModelError):
        from_dict(data)


# -- contradictions --------------------------------------------------------------------------------


def change(data, place, value):
    data = copy.deepcopy(data)
    node = data
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    return data


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["format"], True),
        (["format"], 1.0),
        (["format"], "1"),
        (["kind"], "voile ebm"),
        (["voile"], None),
        (["voile"], ["0.1"]),
        (["rule"], "lvq3"),
        (["rule"], ["glvq"]),
        (["mechanism"], None),
        (["mechanism"], {}),
        (["classes"], ["malignant", "benign"]),
        (["classes"], ["benign"]),
        (["classes"], "benign"),
        (["features"], ["radius"]),
        (["features"], None),
        (["image_shape"], [2, 3]),
        (["image_shape"], [4, True]),
        (["image_shape"], [-2, -2]),
        (["image_shape"], [2.0, 2]),
        (["image_shape"], [4]),
        (["image_shape"], "4x1"),
        (["labels"], []),
        (["labels"], [0, 2]),
        (["labels"], [0, -1]),
        (["labels"], [0, True]),
        (["labels"], [0, 1.0]),
        (["labels"], [0, 10**400]),
        (["labels"], [0]),
        (["labels"], [0, 1, 1]),
        (["prototypes"], []),
        (["prototypes", 0], [0.0]),
        (["prototypes", 0, 0], "0"),
        (["prototypes", 0, 0], None),
        (["prototypes", 0, 0], True),
        (["prototypes", 0, 0], 10**400),
        (["prototypes", 0, 0], math.inf),
        (["prototype_errors", 0, 0], -1e-9),
        (["prototype_errors", 0, 0], math.inf),
        (["means"], [[0.0] * 4]),
        (["means", 1, 1], [0.0]),
        (["counts"], [1.0]),
        (["counts"], [1.0, -1.0]),
        (["counts"], [1.0, math.inf]),
        (["counts"], {}),
        (["omega"], []),
        (["omega", 0], []),
        (["omega"], None),
        (["centre"], [0.0] * 3),
        (["centre"], 0.0),
        (["schema"], {}),
        (["schema", "target"], None),
        (["schema", "columns", "radius"], {"kind": "number"}),
        (["receipt"], None),
        (["receipt"], []),
        (["receipt", "delta"], "1e-6"),
        (["receipt", "delta"], 10**400),
        (["receipt", "more"], 1),
        (["receipt", "looks", 0, "openings"], 1.5),
        (["receipt", "looks", 0, "openings"], math.inf),
        (["receipt", "looks", 0, "event", "count"], -1),
        (["receipt", "looks"], {}),
        (["extra"], 1),
    ],
    ids=str,
)
def test_a_contradiction_is_found(place, value):
    data = change(to_dict(tumour_model()), place, value)
    with pytest.raises(ModelError):
        from_dict(data)


@pytest.mark.parametrize(("stored", "given"), [((0, 1), (False, True)), ((0, 1), (0.0, 1.0))])
def test_classes_keep_their_types(stored, given):
    model = tumour_model()
    data = to_dict(replace(model, schema=model.schema.with_target(Category(stored))))
    with pytest.raises(ModelError, match="classes"):
        from_dict({**data, "classes": list(given)})


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.array([0, 5])},
        {"labels": np.array([0])},
        {"prototypes": np.full((2, 4), math.nan)},
        {"prototype_errors": np.full((2, 4), -1.0)},
        {"omega": np.zeros((4, 3))},
        {"counts": np.array([-1.0, 2.0])},
        {"image_shape": (3, 3)},
        {"kind": "lvq9"},
        {"mechanism": "magic"},
        {"schema": Schema({"radius": Number(0, 1)}, target=Category(["a", "b"]))},
    ],
    ids=str,
)
def test_a_model_that_contradicts_itself_is_not_written(tmp_path, changes):
    with pytest.raises(ModelError):
        write(replace(tumour_model(), **changes), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


# -- any damage ------------------------------------------------------------------------------------

SMALL = to_dict(mixed_model())


def places_of(node, place=()):
    if place:
        yield place
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places_of(child, (*place, step))


PLACES = list(places_of(SMALL))
FIELDS = [place for place in PLACES if len(place) == 1]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([0, 1, -1, 0.5, 10**400, math.inf, math.nan, "", "age", "number", "\ud800"]),
    st.text(max_size=5),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def read_or_refuse(data):
    """The model, which says exactly what the data says; None if it was refused."""
    try:
        model = from_dict(data)
    except ModelError:
        return None
    assert isinstance(model, PrototypeModel)
    again = to_dict(model)
    points = model.points({name: np.zeros(2) for name in model.schema})
    with np.errstate(all="ignore"):
        assert model.class_distances(points).shape == (2, len(model.classes))
    # Words that are derived from the rest.
    data = copy.deepcopy(data)
    for one in (again, data):
        one["receipt"].pop("guarantee", None)
        one["voile"] = ""
        for name in ("target", "rows", "unit"):
            if one["schema"].get(name) is None:
                one["schema"].pop(name, None)
    assert again == data
    return model


@pytest.mark.parametrize("place", FIELDS, ids=str)
def test_every_field_is_needed_and_of_its_type(place):
    (name,) = place
    without = {field: value for field, value in SMALL.items() if field != name}
    with pytest.raises(ModelError, match=name):
        from_dict(without)
    for wrong in (True, -7, 0.5, "", "\ud800", [], {}, [None], [[]], {"a": 1}, math.nan, 10**400):
        if name != "voile" or not isinstance(wrong, str):
            with pytest.raises(ModelError):
                from_dict({**SMALL, name: wrong})
    if name != "image_shape":
        with pytest.raises(ModelError):
            from_dict({**SMALL, name: None})


def test_every_place_can_go_missing():
    refused = 0
    for place in PLACES:
        data = copy.deepcopy(SMALL)
        node = data
        for step in place[:-1]:
            node = node[step]
        del node[place[-1]]
        refused += read_or_refuse(data) is None
    # What may go missing: the derived sentence, the schema's options, a look of the receipt, and a
    # direction of the metric.
    assert refused > 0.9 * len(PLACES)


@settings(max_examples=300)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_altered_place_is_read_as_it_is_or_refused(place, value):
    read_or_refuse(change(SMALL, place, value))


@settings(max_examples=150)
@given(first=st.sampled_from(PLACES), second=st.sampled_from(PLACES))
def test_any_two_places_can_be_swapped(first, second):
    if first[: len(second)] == second or second[: len(first)] == first:
        return

    def at(place):
        node = SMALL
        for step in place:
            node = node[step]
        return node

    read_or_refuse(change(change(SMALL, first, at(second)), second, at(first)))


@settings(max_examples=100)
@given(data=VALUES)
def test_anything_else_is_refused(data):
    with pytest.raises(ModelError):
        from_dict(data)


# -- no exact count --------------------------------------------------------------------------------

COUNT = 1999
generator = np.random.default_rng(4)
LABELS = np.where(generator.uniform(size=COUNT) < 0.3, "ill", "well")
ROWS = {
    "a": generator.normal(np.where(LABELS == "ill", 1.0, -1.0), 1.0),
    "b": generator.choice(["u", "v"], COUNT),
}
SCHEMA = Schema({"a": Number(-4, 4), "b": Category(["u", "v"])}, target=Category(["well", "ill"]))


def numbers_in(value):
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers_in(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers_in(item)]
    if isinstance(value, str):
        try:
            return [float(value)]
        except ValueError:
            return []
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.parametrize("mechanism", ["gaussian", "sgd"])
@pytest.mark.parametrize("kind", [GLVQClassifier, GMLVQClassifier, LVQ1Classifier])
def test_the_file_holds_no_exact_count(kind, mechanism, tmp_path):
    if kind is not GLVQClassifier and mechanism == "sgd":
        pytest.skip("the search for the noise of samples takes seconds")
    ill, u = int((LABELS == "ill").sum()), int((ROWS["b"] == "u").sum())
    exact = {COUNT, ill, COUNT - ill, u, COUNT - u}
    shares = {ill / COUNT, 1 - ill / COUNT, u / COUNT, 1 - u / COUNT}
    means = {float(ROWS["a"][one == LABELS].mean()) for one in ("ill", "well")}
    for seed in range(2):
        with noise.fixed_noise(seed):
            model = kind(epsilon=4.0, schema=SCHEMA, mechanism=mechanism, epochs=1, rate=0.5)
            model.fit(ROWS, LABELS)
        path = model.save(tmp_path / f"{seed}.json")
        data = json.loads(path.read_text())
        assert not any(float(count).is_integer() for count in data["counts"])
        found = set(numbers_in(data))
        assert len(found) > 20
        assert not (exact | shares | means) & found
        assert str(COUNT) not in str(model.receipt_)
