"""A stored model of maps comes back to the bit; a damaged file is refused, never guessed at."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from explained_models import make_receipt
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import Category, LocallyLinearClassifier, Number, Schema, load
from voile.errors import ModelError
from voile.models.features import Features
from voile.models.locally_linear.files import SavedMaps
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.pictures import SmoothBasis
from voile.privacy import noise

from_dict, to_dict, write = SavedMaps.model_of, SavedMaps.data_of, SavedMaps.write

ARRAYS = ("weights", "offsets", "weight_errors")
INPUTS = ("centre", "radius", "filling")


def maps_model(columns, classes, maps=2, seed=0, basis=None, image_shape=None, **more):
    """Made by hand; nothing is trained."""
    chance = np.random.default_rng(seed)
    schema = Schema(columns, target=Category(classes))
    picture = None if image_shape is None else (*image_shape, 1)[:3]
    inputs = Inputs.uncentred(schema, picture, basis, root=picture is not None, normalise=True)
    size = inputs.size
    inputs = replace(
        inputs,
        centre=chance.normal(0, 0.2, size),
        radius=chance.uniform(0.5, 2, size),
        filling=chance.uniform(-1, 1, len(Features(schema))),
    )
    parts = {
        "inputs": inputs,
        "weights": chance.normal(size=(len(classes), maps, size)),
        "offsets": chance.normal(size=(len(classes), maps)),
        "weight_errors": chance.uniform(0, 0.1, (len(classes), maps, size)),
        "beta": 0.1,
        "receipt": make_receipt(labels=("centre and row count", "steps", "range")),
        "image_shape": image_shape,
    }
    return LocallyLinearModel(**{**parts, **more})


def table_model(**more):
    columns = {"age": Number(18, 95), "ward": Category(["A", "B"]), "smoker": Category([False])}
    return maps_model(columns, ["home", 1, 2.5], **more)


def number_model(**more):
    columns = {"radius": Number(6, 29), "texture": Number(9, 40)}
    return maps_model(columns, ["benign", "malignant"], **more)


def picture_model(**more):
    columns = {f"pixel {i}": Number(0, 255) for i in range(20)}
    basis = SmoothBasis((5, 4, 1), 3, 6.0, True)
    return maps_model(columns, [0, 1, 2], basis=basis, image_shape=(5, 4), **more)


def colour_model():
    columns = {f"pixel {i}": Number(0, 1) for i in range(12)}
    return maps_model(columns, [0, 1], image_shape=(2, 2, 3), taught_by="Teacher")


MODELS = {
    "numbers": number_model,
    "categories": table_model,
    "pictures": picture_model,
    "colours": colour_model,
}


def assert_same(one, other):
    for first, second, names in ((one, other, ARRAYS), (one.inputs, other.inputs, INPUTS)):
        for name in names:
            assert getattr(first, name).dtype == getattr(second, name).dtype
            assert np.array_equal(getattr(first, name), getattr(second, name))
    for name in ("schema", "image_shape", "classes", "receipt", "beta", "taught_by", "maps"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("picture", "basis", "root", "normalise"):
        assert getattr(one.inputs, name) == getattr(other.inputs, name)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_comes_back_to_the_bit(make, tmp_path):
    model = make()
    path = write(model, tmp_path / "m.json")
    back = load(path)
    assert type(back) is LocallyLinearClassifier
    assert_same(back.model_, model)
    assert to_dict(back.model_) == to_dict(model) == json.loads(path.read_text(encoding="utf-8"))


def test_extreme_floats_survive(tmp_path):
    model = number_model()
    weights = model.weights.copy()
    weights[0] = [[5e-324, -0.0], [1 / 3, -1e-300]]
    back = load(write(replace(model, weights=weights), tmp_path / "m.json")).model_
    assert np.array_equal(back.weights, weights)
    assert math.copysign(1, back.weights[0, 0, 1]) == -1


def assert_frozen(model):
    for owner, names in ((model, ARRAYS), (model.inputs, INPUTS)):
        for name in names:
            with pytest.raises(ValueError, match="read-only"):
                getattr(owner, name)[0] = 1


def test_what_was_read_cannot_be_changed():
    assert_frozen(from_dict(to_dict(number_model())))


def test_a_trained_model_cannot_be_changed():
    settings = {"epsilon": math.inf, "steps": 2}
    assert_frozen(LocallyLinearClassifier(schema=SCHEMA, **settings).fit(ROWS, LABELS).model_)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"kind": "KIND"', "not valid JSON"),
        ('{"kind": "KIND", "kind": "KIND"}', "twice"),
        ('{"kind": "KIND", "format": NaN}', "NaN"),
        ('{"kind": "KIND", "format": Infinity}', "Infinity"),
        ('{"kind": "KIND", "format": 99, "voile": "9.9"}', "9.9"),
        ('{"kind": "KIND", "format": 1}', "has no"),
        ("", "not valid JSON"),
        ("[]", "model"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_text(content.replace("KIND", SavedMaps.kind))
    with pytest.raises(ModelError, match=message) as raised:
        load(path)
    assert "bad.json" in str(raised.value)


@pytest.mark.parametrize("name", [*ARRAYS, *INPUTS])
def test_nan_is_refused_in_every_table(tmp_path, name):
    path = write(number_model(), tmp_path / "m.json")
    data = json.loads(path.read_text())
    place = data[name][0] if isinstance(data[name][0], list) else data[name]
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


ANY_MODEL = [
    (["format"], True),
    (["format"], 1.0),
    (["format"], "1"),
    (["kind"], "voile lvq"),
    (["voile"], None),
    (["classes"], [0, 1]),
    (["classes"], [0, 2, 1]),
    (["classes"], [0, True, 2]),
    (["classes"], [0, 1.0, 2]),
    (["classes"], "012"),
    (["features"], ["pixel 0"]),
    (["features"], None),
    (["image_shape"], None),
    (["image_shape"], [4, 6]),
    (["image_shape"], [20]),
    (["image_shape"], [20.0, 1]),
    (["image_shape"], [-5, -4]),
    (["image_shape"], [True, 20]),
    (["image_shape"], [1, 1, 1, 20]),
    (["image_shape"], "5x4"),
    (["basis"], []),
    (["basis"], {}),
    (["basis", "cut"], 0),
    (["basis", "cut"], 2),
    (["basis", "cut"], 3.0),
    (["basis", "cut"], True),
    (["basis", "cut"], 10**9),
    (["basis", "width"], 0.0),
    (["basis", "width"], -1.0),
    (["basis", "width"], math.inf),
    (["basis", "window"], 1),
    (["basis", "more"], 1),
    (["normalise"], 1),
    (["normalise"], None),
    (["root"], "yes"),
    (["centre"], [0.0]),
    (["centre"], 0.0),
    (["centre", 0], None),
    (["radius"], []),
    (["radius", 0], 0.0),
    (["radius", 0], -1.0),
    (["radius", 0], 5e-324),
    (["filling"], [0.0] * 8),
    (["beta"], -0.1),
    (["beta"], math.inf),
    (["beta"], True),
    (["beta"], "0.1"),
    (["weights"], []),
    (["weights"], [[0.0]] * 6),
    (["weights", 0, 0], "0"),
    (["weights", 0, 0], None),
    (["weights", 0, 0], True),
    (["weights", 0, 0], 10**400),
    (["weights", 0, 0], math.inf),
    (["weight_errors"], []),
    (["weight_errors", 0, 0], -1e-9),
    (["weight_errors", 0, 0], math.inf),
    (["offsets"], []),
    (["offsets"], [[0.0, 0.0]] * 2),
    (["offsets", 0], [0.0]),
    (["taught_by"], 1),
    (["taught_by"], "\ud800"),
    (["schema"], {}),
    (["schema", "target"], None),
    (["schema", "columns", "pixel 0"], {"kind": "number"}),
    (["receipt"], None),
    (["receipt", "delta"], "1e-6"),
    (["receipt", "more"], 1),
    (["receipt", "looks", 0, "openings"], 1.5),
    (["receipt", "looks", 0, "event", "count"], -1),
    (["extra"], 1),
]


@pytest.mark.parametrize(("place", "value"), ANY_MODEL, ids=str)
def test_a_contradiction_is_found(place, value):
    data = to_dict(picture_model())
    assert from_dict(data) is not None
    with pytest.raises(ModelError):
        from_dict(change(data, place, value))


def test_a_basis_needs_pictures():
    data = to_dict(number_model())
    with pytest.raises(ModelError, match="basis"):
        from_dict({**data, "basis": {"cut": 1, "width": 1.0, "window": False}})


def test_maps_are_as_many_for_every_class():
    data = to_dict(picture_model())
    for name in ("weights", "weight_errors"):
        data[name] = data[name][:-1]
    with pytest.raises(ModelError, match="offsets"):
        from_dict(data)


def test_a_target_that_is_a_number_is_refused():
    model = number_model()
    data = to_dict(model)
    data["schema"] = model.schema.with_target(Number(0, 1)).to_dict()
    with pytest.raises(ModelError, match="classes"):
        from_dict(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": np.full((2, 2, 2), math.nan)},
        {"offsets": np.full((2, 2), math.inf)},
        {"offsets": np.zeros((2, 3))},
        {"weight_errors": np.full((2, 2, 2), -1.0)},
        {"image_shape": (3, 3)},
        {"beta": -1.0},
        {"beta": math.nan},
        {"taught_by": 7},
    ],
    ids=str,
)
def test_a_model_that_contradicts_itself_is_not_written(tmp_path, changes):
    with pytest.raises(ModelError):
        write(replace(number_model(), **changes), tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


# -- any damage ------------------------------------------------------------------------------------

SMALL = to_dict(table_model())


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
    assert isinstance(model, LocallyLinearModel)
    again = to_dict(model)
    with np.errstate(all="ignore"):
        scores = model.decide({name: np.zeros(2) for name in model.schema})
    assert scores.shape == (2, len(model.classes))
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
    wrongs = [True, -7, 0.5, "", "\ud800", [], {}, [None], [[]], {"a": 1}, math.nan, 10**400]
    fine = {"voile": str, "taught_by": str, "normalise": bool, "root": bool, "beta": float}
    for wrong in wrongs:
        if type(wrong) is fine.get(name) and wrong == wrong and wrong != "\ud800":
            continue
        with pytest.raises(ModelError):
            from_dict({**SMALL, name: wrong})
    if name not in ("image_shape", "basis", "taught_by"):
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
    # What may go missing: the derived sentence, the schema's options, a look of the receipt.
    assert refused > 0.9 * len(PLACES)


@settings(max_examples=200)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_altered_place_is_read_as_it_is_or_refused(place, value):
    read_or_refuse(change(SMALL, place, value))


@settings(max_examples=100)
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


@settings(max_examples=50)
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


@pytest.mark.parametrize("projection", [None, 2])
def test_the_file_holds_no_exact_count(projection, tmp_path):
    ill, u = int((LABELS == "ill").sum()), int((ROWS["b"] == "u").sum())
    exact = {COUNT, ill, COUNT - ill, u, COUNT - u}
    shares = {ill / COUNT, 1 - ill / COUNT, u / COUNT, 1 - u / COUNT}
    means = {float(ROWS["a"][one == LABELS].mean()) for one in ("ill", "well")}
    with noise.fixed_noise(0):
        model = LocallyLinearClassifier(
            epsilon=4.0, schema=SCHEMA, steps=5, sampling_rate=1.0, projection=projection
        ).fit(ROWS, LABELS)
    path = model.save(tmp_path / "m.json")
    found = set(numbers_in(json.loads(path.read_text())))
    assert len(found) > 20
    assert not (exact | shares | means) & found
    assert str(COUNT) not in str(model.receipt_)
