"""A saved model keeps the settings of its training; what is no such setting is refused."""

import copy
import html
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    Federation,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
    load,
)
from voile.errors import ModelError
from voile.models.training_settings import (
    read_settings,
    record_settings,
    restore_parameters,
    unrecorded_settings,
)
from voile.report.model.report import draw_report

CHANCE = np.random.default_rng(0)
X = {"a": CHANCE.uniform(0, 10, 300), "b": CHANCE.uniform(0, 10, 300)}
CLASSES = np.where(X["a"] > 5, 1, 0)
TWO = {"a": Number(0, 10), "b": Number(0, 10)}
SCHEMA = Schema(TWO, target=Category([0, 1]))

PIXELS = {f"x{i}": CHANCE.uniform(0, 1, 300) for i in range(6)}
PICTURES = Schema({name: Number(0, 1) for name in PIXELS}, target=Category([0, 1]))

CASES = {
    "cyclic": (EBMClassifier, {"epsilon": 4, "method": "cyclic", "rounds": 3, "bins": 4}),
    "monotone": (
        EBMClassifier,
        {"monotone": {"a": "increasing"}, "rounds": np.int64(2), "bins": 4, "delta": 1e-5},
    ),
    "pairs by a rule": (EBMClassifier, {"interactions": "auto", "rounds": 5, "bins": 4}),
    "no pairs": (EBMClassifier, {"interactions": 0, "rounds": 2, "bins": 4}),
    "few pairs": (EBMClassifier, {"interactions": np.int64(2), "rounds": 5, "bins": 4}),
    "named pairs": (EBMClassifier, {"interactions": (("b", "a"),), "rounds": 2, "bins": 4}),
    "weights": (EBMClassifier, {"largest_weight": np.float32(2.1), "rounds": 2, "bins": 4}),
    "no noise": (EBMClassifier, {"epsilon": math.inf, "rounds": 2, "random_state": 7}),
    "prototypes by class": (GLVQClassifier, {"prototypes_per_class": {0: 2, 1: 1}}),
    "prototypes by a rule": (GMLVQClassifier, {"prototypes_per_class": "auto", "typical": 0.7}),
    "groups": (GLVQClassifier, {"mechanism": "sample_aggregate", "groups": 5, "epsilon": 8.0}),
    "steps of prototypes": (GLVQClassifier, {"mechanism": "sgd", "epochs": 1, "rate": 0.5}),
    "first rule": (LVQ1Classifier, {"random_state": np.int32(3)}),
    "maps": (
        LocallyLinearClassifier,
        {"steps": 2, "maps": 3, "normalise": np.False_, "sampling_rate": 1.0},
    ),
    "cold maps": (
        LocallyLinearClassifier,
        {"steps": 2, "inverse_temperature": 0.3, "clip": 0.2, "sampling_rate": 1.0},
    ),
}


def fit(name):
    kind, given_ = CASES[name]
    return kind(**{"schema": SCHEMA, **given_}).fit(X, CLASSES)


def parameters_of(model):
    """All but what is kept elsewhere."""
    given_ = model.get_params()
    return {name: value for name, value in given_.items() if name not in ("schema", "ledger")}


def assert_kept(model, path):
    data = json.loads(model.save(path).read_text(encoding="utf-8"))
    assert set(data["settings"]) == set(parameters_of(model))
    back = load(path)
    assert type(back) is type(model)
    assert parameters_of(back) == parameters_of(model)
    assert back.training_settings_ == model.training_settings_ == data["settings"]
    again = path.with_name("again.json")
    assert back.save(again).read_bytes() == path.read_bytes()
    return back


@pytest.mark.parametrize("name", CASES)
def test_the_parameters_come_back(name, tmp_path):
    assert_kept(fit(name), tmp_path / "m.json")


def picture_maps(**settings):
    """All rows in every step: the search for the noise of samples takes seconds."""
    return LocallyLinearClassifier(steps=2, sampling_rate=1.0, schema=PICTURES, **settings)


@pytest.mark.parametrize(
    "made",
    [
        GLVQClassifier(image_shape=(2, 3), schema=PICTURES),
        picture_maps(image_shape=(2, 3), basis="plain"),
        picture_maps(image_shape=(1, 2, 3), copies=False),
    ],
    ids=repr,
)
def test_shapes_of_pictures_come_back(made, tmp_path):
    assert_kept(made.fit(PIXELS, CLASSES), tmp_path / "m.json")


def test_a_regression_and_an_unknown_schema_come_back(tmp_path):
    model = EBMRegressor(epsilon=3.5, rounds=2, bins=5).fit(X, X["a"] * 2.0)
    assert_kept(model, tmp_path / "m.json")


def test_federated_fits_keep_them_too(tmp_path):
    rows = np.column_stack(list(X.values()))
    parts = [(rows[:100], CLASSES[:100]), (rows[100:], CLASSES[100:])]
    model = EBMClassifier(epsilon=2.0, rounds=2, bins=4)
    assert_kept(model.fit_federated(Federation.local(parts, SCHEMA)), tmp_path / "m.json")


def test_what_could_not_be_read_back_is_not_recorded(tmp_path):
    model = LocallyLinearClassifier(steps=3, epsilon=-1.0).learn_from(fit("cyclic"))
    back = load(model.save(tmp_path / "m.json"))
    assert unrecorded_settings(back.training_settings_, type(back)) == ("epsilon",)


def test_models_with_a_teacher_keep_them_too(tmp_path):
    model = LocallyLinearClassifier(steps=3, maps=2, random_state=1)
    assert_kept(model.learn_from(fit("cyclic")), tmp_path / "m.json")


def test_edited_models_keep_them(tmp_path):
    before = fit("cyclic")
    loaded = load(before.save(tmp_path / "m.json"))
    edited = loaded.with_model(loaded.edit("me").drop("b"))
    back = assert_kept(edited, tmp_path / "edited.json")
    assert back.model_.edits
    assert back.training_settings_ == before.training_settings_
    assert back.original().training_settings_ == before.training_settings_


def test_the_settings_are_those_of_the_fit_and_not_later_ones(tmp_path):
    model = fit("cyclic")
    model.set_params(method="rounds", rounds=9)
    assert load(model.save(tmp_path / "m.json")).rounds == 3
    assert model.training_settings_["method"] == "cyclic"
    assert model.fit(X, CLASSES).training_settings_["rounds"] == 9


def test_what_a_caller_changes_later_is_not_the_setting():
    monotone = {"a": "increasing"}
    model = EBMClassifier(schema=SCHEMA, monotone=monotone, rounds=2, bins=4).fit(X, CLASSES)
    monotone["b"] = "decreasing"
    assert model.training_settings_["monotone"] == {"pairs": [["a", "increasing"]]}


def test_clones_and_pickles_are_as_before():
    model = fit("cyclic")
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "_trained_with")
    back = pickle.loads(pickle.dumps(model))
    assert back.training_settings_ == model.training_settings_
    del back._trained_with  # a pickle of an earlier version
    assert back.training_settings_ is None


def test_a_loaded_model_can_be_trained_again_with_the_same_settings(tmp_path):
    back = load(fit("cyclic").save(tmp_path / "m.json"))
    labels = {line.label: line.event.count for line in back.fit(X, CLASSES).receipt_.lines}
    assert labels["cyclic steps"] == 3 * 2


# -- objects ------------------------------------------------------------------------------------


def test_only_the_kind_of_an_object_is_kept(tmp_path):
    class Seed(int):
        """A whole number all the same."""

    model = EBMClassifier(schema=SCHEMA, rounds=2, bins=4, random_state=Seed(3)).fit(X, CLASSES)
    assert model.training_settings_["random_state"] == 3
    model = EBMClassifier(
        schema=SCHEMA, rounds=2, bins=4, random_state=np.random.default_rng(0)
    ).fit(X, CLASSES)
    assert model.training_settings_["random_state"] == {"object": "Generator"}
    back = load(model.save(tmp_path / "m.json"))
    assert back.random_state is None
    assert unrecorded_settings(back.training_settings_, EBMClassifier) == ("random_state",)
    assert json.loads(back.save(tmp_path / "again.json").read_text())["settings"][
        "random_state"
    ] == {"object": "Generator"}


class Picky(EBMClassifier):
    """Somebody's own estimator, with parameters of which nothing is declared."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, schema=None, ledger=None, colour=None):
        super().__init__(epsilon=epsilon, delta=delta, schema=schema, ledger=ledger, rounds=2)
        self.colour = colour


class Undeclared(EBMClassifier):
    """Its declaration cannot be read, which must not undo a fit that was paid."""

    def __init__(self, *, schema=None, colour: "Nowhere" = "red"):  # noqa: F821
        super().__init__(schema=schema, rounds=2)
        self.colour = colour


@pytest.mark.parametrize("kind", [Picky, Undeclared])
def test_a_class_of_somebody_else_is_recorded_as_far_as_it_goes(kind):
    model = kind(schema=SCHEMA, colour="blue").fit(X, CLASSES)
    assert model.training_settings_["colour"] == "blue"
    assert kind(schema=SCHEMA, colour=[object()]).fit(X, CLASSES).training_settings_["colour"] == {
        "object": "list"
    }


# -- old files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cyclic", "groups", "maps"])
def test_files_without_the_field_are_read_and_stay_without_it(name, tmp_path):
    model = fit(name)
    data = json.loads(model.save(tmp_path / "m.json").read_text())
    del data["settings"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    back = load(tmp_path / "old.json")
    assert back.training_settings_ is None
    assert back.epsilon == model.receipt_.epsilon
    for fact in {"mechanism", "maps"} & set(vars(model)):  # the model itself tells these
        assert getattr(back, fact) == getattr(model, fact)
    assert "settings" not in json.loads(back.save(tmp_path / "again.json").read_text())


def test_a_setting_of_a_later_version_is_one_that_is_not_recorded(tmp_path):
    data = json.loads(fit("cyclic").save(tmp_path / "m.json").read_text())
    del data["settings"]["bins"]
    (tmp_path / "m.json").write_text(json.dumps(data))
    back = load(tmp_path / "m.json")
    assert (back.bins, back.rounds) == ("auto", 3)
    assert unrecorded_settings(back.training_settings_, EBMClassifier) == ("bins",)


# -- files that are hostile or damaged ----------------------------------------------------------

HOSTILE = [
    ("cyclic", [], "mapping"),
    ("cyclic", None, "mapping"),
    ("cyclic", "rounds", "mapping"),
    ("cyclic", {"schema": None}, "unknown field 'schema'"),
    ("cyclic", {"ledger": "sqlite:///x"}, "unknown field 'ledger'"),
    ("cyclic", {"self": 1}, "unknown field 'self'"),
    ("cyclic", {"__class__": 1}, "unknown field"),
    ("cyclic", {"mechanism": "gaussian"}, "unknown field"),
    ("cyclic", {"rounds": "many"}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": True}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": 3.0}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": None}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": [3]}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": {"a": 3}}, "'rounds' of 'settings'"),
    ("cyclic", {"rounds": -1}, "settings of the training cannot be"),
    ("cyclic", {"bins": 10**400}, "at most 64 bits"),
    ("cyclic", {"method": "magic"}, "'method' of 'settings'"),
    ("cyclic", {"method": "inf"}, "'method' of 'settings'"),
    ("cyclic", {"epsilon": "4"}, "'epsilon' of 'settings'"),
    ("cyclic", {"epsilon": "nan"}, "'epsilon' of 'settings'"),
    ("cyclic", {"epsilon": 10**400}, "at most 64 bits"),
    ("cyclic", {"epsilon": [1.0]}, "'epsilon' of 'settings'"),
    ("cyclic", {"epsilon": -1.0}, "'epsilon' of 'settings'"),
    ("cyclic", {"epsilon": "-inf"}, "'epsilon' of 'settings'"),
    ("cyclic", {"delta": 2}, "'delta' of 'settings'"),
    ("cyclic", {"monotone": {"a": "increasing"}}, "'monotone' of 'settings'"),
    ("cyclic", {"monotone": {"pairs": [["a", "up"]]}}, "'monotone' of 'settings'"),
    ("cyclic", {"monotone": {"pairs": [["a"]]}}, "length 2"),
    ("cyclic", {"monotone": {"pairs": ["ab"]}}, "must be a list"),
    ("cyclic", {"monotone": {"pairs": [[["a"], "increasing"]]}}, "pairs of a key"),
    ("cyclic", {"monotone": {"pairs": [[{}, "increasing"]]}}, "pairs of a key"),
    ("cyclic", {"monotone": {"pairs": [["a", "increasing"]] * 2}}, "twice"),
    ("cyclic", {"monotone": {"pairs": [], "more": 1}}, "unknown field"),
    ("cyclic", {"monotone": {"pairs": [["\ud800", "increasing"]]}}, "lone surrogates"),
    ("cyclic", {"monotone": {"object": 3}}, "must be text"),
    ("cyclic", {"monotone": {"object": "\ud800"}}, "lone surrogates"),
    ("cyclic", {"monotone": {"object": "x", "more": 1}}, "unknown field"),
    ("cyclic", {"random_state": "seed"}, "'random_state' of 'settings'"),
    ("groups", {"mechanism": "gaussian"}, "the model has 'sample_aggregate'"),
    ("groups", {"image_shape": [1, 2]}, "the model has None"),
    ("groups", {"image_shape": [1, 2, 3]}, "'image_shape' of 'settings'"),
    ("groups", {"prototypes_per_class": {"pairs": [[0, 1.5]]}}, "'prototypes_per_class'"),
    ("groups", {"prototypes_per_class": {"pairs": [[None, 1]]}}, "'prototypes_per_class'"),
    ("groups", {"prototypes_per_class": {"pairs": [[0, 1], [False, 1]]}}, "twice"),
    ("groups", {"typical": 2}, "settings of the training cannot be"),
    ("maps", {"maps": 4}, "the model has 3"),
    ("maps", {"normalise": 0}, "'normalise' of 'settings'"),
    ("maps", {"window": "auto"}, "'window' of 'settings'"),
    ("maps", {"copies": True}, "settings of the training cannot be"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    names = ("cyclic", "groups", "maps")
    paths = {name: fit(name).save(folder / f"{name}.json") for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items()}


@pytest.mark.parametrize(("name", "change", "message"), HOSTILE, ids=str)
def test_what_is_no_setting_is_refused(name, change, message, files, tmp_path):
    data = copy.deepcopy(files[name])
    data["settings"] = {**data["settings"], **change} if isinstance(change, dict) else change
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ModelError, match=message) as raised:
        load(path)
    assert "bad.json" in str(raised.value)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["inf", "-inf", "nan", "auto", "cyclic", "pairs", "object", 10**400, "\ud800"]),
    st.text(max_size=5),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(["pairs", "object"]), st.text(max_size=3)), inner, max_size=2
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    kind=st.sampled_from([EBMClassifier, GLVQClassifier, LocallyLinearClassifier]),
    data=st.one_of(VALUES, st.dictionaries(st.sampled_from(
        ["epsilon", "method", "monotone", "prototypes_per_class", "image_shape", "maps", "clip"]
    ), VALUES, max_size=3)),
)  # fmt: skip
def test_anything_is_read_as_it_is_or_refused(kind, data):
    try:
        found = read_settings(data, kind)
    except ModelError:
        return
    assert found == data
    values = restore_parameters(found, kind)
    again = record_settings(kind(**values))
    assert {name: again[name] for name in values} == {name: found[name] for name in values}


# -- the report ---------------------------------------------------------------------------------


def settings_of(page):
    place = page.split("Settings of the training")
    return html.unescape(place[2].split("</pre>")[0].split(">", 1)[1])


def test_the_report_tells_the_settings_of_the_training(tmp_path):
    model = EBMClassifier(
        epsilon=math.inf, schema=SCHEMA, monotone={"a": "increasing"}, rounds=2, bins=4
    ).fit(X, CLASSES)
    told = json.loads(settings_of(draw_report(model)))
    assert told["rounds"] == 2
    assert told["epsilon"] == "inf"
    assert told["monotone"] == {"a": "increasing"}
    back = load(model.save(tmp_path / "m.json"))
    assert settings_of(draw_report(back)) == settings_of(draw_report(model))


def test_the_report_says_what_is_not_recorded(tmp_path):
    model = fit("cyclic")
    data = json.loads(model.save(tmp_path / "m.json").read_text())
    data["settings"]["monotone"] = {"object": "Shapes"}
    (tmp_path / "m.json").write_text(json.dumps(data))
    told = json.loads(settings_of(draw_report(load(tmp_path / "m.json"))))
    assert told["monotone"] == "Shapes, not recorded"
    del data["settings"]
    (tmp_path / "m.json").write_text(json.dumps(data))
    assert settings_of(draw_report(load(tmp_path / "m.json"))) == "not recorded in this file"


def test_a_ledger_is_no_setting():
    ledger = Ledger(Budget(4.0, 1e-6))
    model = EBMClassifier(schema=SCHEMA, ledger=ledger, rounds=2, bins=4).fit(X, CLASSES)
    assert not {"ledger", "schema"} & set(model.training_settings_)
