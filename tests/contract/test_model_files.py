"""A saved model of any family comes back to the bit; a damaged file is refused, not guessed at."""

import copy
import dataclasses
import json
import math
import os
import stat
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_families import COUNT, FAMILIES, LABELS, ROWS, SCHEMA

from needs import needs
from voile import Category, Receipt, Schema, VoileError, load
from voile.errors import ModelError
from voile.privacy.noise import fixed_noise


def of_families(list_cases=lambda family: [((), "")]):
    """One case per family and, where asked for, per example or damage of it."""
    return [
        pytest.param(family, *values, marks=needs(*family.needed), id=", ".join(filter(None, ids)))
        for name, family in FAMILIES.items()
        for values, *more in list_cases(family)
        for ids in [(name, *more)]
    ]


each_family = pytest.mark.parametrize("family", of_families())


@cache
def file_of(name):
    """What the small model of a family looks like in its file, and every place of it."""
    family = FAMILIES[name]
    data = family.files.data_of(family.small())
    return data, list(places_of(data))


def name_of(family):
    return next(name for name, one in FAMILIES.items() if one is family)


def places_of(node, place=()):
    if place:
        yield place
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places_of(child, (*place, step))


def at(data, place):
    for step in place:
        data = data[step]
    return data


def change(data, place, value):
    """A copy of nested data with the value at one place replaced."""
    data = copy.deepcopy(data)
    at(data, place[:-1])[place[-1]] = value
    return data


def parts_of(value):
    """Everything a model is made of, in order; arrays as they are in memory."""
    if isinstance(value, np.ndarray):
        yield value.dtype, value.shape, value.tobytes()
    elif isinstance(value, Receipt):
        yield value.to_dict()
    elif isinstance(value, tuple):
        yield len(value)
        for one in value:
            yield from parts_of(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, Schema):
        yield type(value)
        for one in dataclasses.fields(value):
            yield one.name
            yield from parts_of(getattr(value, one.name))
    else:
        yield value


def arrays_of(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from arrays_of(one)
    elif dataclasses.is_dataclass(value):
        for one in dataclasses.fields(value):
            yield from arrays_of(getattr(value, one.name))


def assert_frozen(model):
    arrays = list(arrays_of(model))
    assert arrays
    for array in arrays:
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1


# -- files that are right -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "make"),
    of_families(lambda family: [((make,), name) for name, make in family.models.items()]),
)
def test_a_model_comes_back_to_the_bit(family, make, tmp_path):
    model, files = make(), family.files
    path = files.write(model, tmp_path / "model.voile")
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == files.data_of(model)
    assert not {"Infinity", "NaN"} & set(text.replace(",", " ").split())
    for back in (load(path).model_, files.model_of(files.data_of(model))):
        assert list(parts_of(back)) == list(parts_of(model))
        assert files.data_of(back) == files.data_of(model)
        assert_frozen(back)


@each_family
def test_the_file_says_what_it_is_and_which_version_wrote_it(family):
    data, _ = file_of(name_of(family))
    assert (data["format"], data["kind"]) == (1, family.files.kind)
    assert data["voile"]


def test_the_file_of_an_ebm_can_be_read_without_voile():
    family = FAMILIES["ebm"]
    data = family.files.data_of(family.models["logit"]())
    assert data["classes"] == ["no", "yes"]
    assert data["terms"][0]["edges"] == [17.0, 25.0, 31.1, 40.0, 52.3, 60.0, 71.0, 90.0]
    assert data["terms"][3]["levels"] == [False, True]
    assert len(data["terms"][0]["scores"]) == 8
    assert "original" not in data
    changed = family.files.data_of(family.models["logit, edited"]())
    assert set(changed["original"]) == {"intercept", "intercept_errors", "terms"}
    assert "pairs" not in data
    paired = family.files.data_of(FAMILIES["ebm with pairs"].models["logit"]())
    assert paired["pairs"][0]["first"]["edges"] == [17.0, 31.1, 45.0, 60.0, 90.0]
    assert paired["pairs"][0]["second"]["groups"] == [0, 1, 1, 2, 3, 3]
    assert "evidence" in paired["pairs"][0]
    assert not {"evidence", "whole_errors"} & set(paired["pairs"][2])


def test_levels_keep_their_types():
    files = FAMILIES["ebm"].files
    data = json.loads(json.dumps(files.data_of(FAMILIES["ebm"].models["logit"]())))
    levels = files.model_of(data)["flag"].column.levels
    assert levels == (False, True)
    assert all(type(level) is bool for level in levels)


@pytest.mark.parametrize(("stored", "given"), [((0, 1), (False, True)), ((0, 1), (0.0, 1.0))])
def test_classes_keep_their_types(stored, given):
    family = FAMILIES["lvq"]
    model = family.models["numbers"]()
    model = dataclasses.replace(model, schema=model.schema.with_target(Category(stored)))
    with pytest.raises(ModelError, match="classes"):
        family.files.model_of({**family.files.data_of(model), "classes": list(given)})


def test_counts_that_were_not_estimated_are_null():
    family = FAMILIES["lvq"]
    data = family.files.data_of(family.models["categories"]())
    assert data["counts"][1] is None
    assert math.isnan(family.files.model_of(data).counts[1])


# -- writing ------------------------------------------------------------------------------------


@each_family
def test_writing_is_whole_or_not_at_all(family, tmp_path, monkeypatch):
    path = family.files.write(family.small(), tmp_path / "m.voile")
    before = path.read_bytes()

    def fail(fileno):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ModelError, match="cannot be written"):
        family.files.write(family.models["extreme"](), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m.voile"]


@each_family
def test_who_reads_meanwhile_sees_the_old_file_whole(family, tmp_path):
    path = family.files.write(family.small(), tmp_path / "m.voile")
    before = path.read_bytes()
    with path.open("rb") as stream:
        family.files.write(family.models["extreme"](), path)
        assert stream.read() == before
    assert path.read_bytes() != before


@each_family
def test_a_file_has_the_usual_permissions(family, tmp_path):
    (tmp_path / "usual").write_text("")
    path = family.files.write(family.small(), tmp_path / "m.voile")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


@each_family
def test_a_path_that_cannot_be_written_is_named(family, tmp_path):
    with pytest.raises(ModelError, match="nowhere"):
        family.files.write(family.small(), tmp_path / "nowhere" / "m.voile")
    with pytest.raises(ModelError, match="cannot be written"):
        family.files.write(family.small(), tmp_path)


@each_family
def test_a_model_that_contradicts_itself_is_not_written(family, tmp_path):
    for model in family.contradictions():
        with pytest.raises(ModelError):
            family.files.write(model, tmp_path / "m.voile")
        assert list(tmp_path.iterdir()) == []


# -- files that are wrong -----------------------------------------------------------------------


@each_family
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"[1, 2", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"null", "kind"),
        (b"[]", "kind"),
        (b'{"kind": "KIND"', "not valid JSON"),
        (b'{"kind": "KIND", "kind": "KIND"}', "twice"),
        (b'{"kind": "KIND", "format": NaN}', "NaN"),
        (b'{"kind": "KIND", "format": Infinity}', "Infinity"),
        (b'{"kind": "KIND", "format": 99, "voile": "9.9"}', "9.9"),
        (b'{"kind": "KIND", "format": true}', "format"),
        (b'{"kind": "KIND", "format": 1}', "has no"),
    ],
    ids=lambda value: None if isinstance(value, str) else value[:45].decode("latin-1"),
)
def test_a_bad_file_is_named_with_what_is_wrong(family, tmp_path, content, message):
    path = tmp_path / "bad.voile"
    path.write_bytes(content.replace(b"KIND", family.files.kind.encode()))
    with pytest.raises(ModelError, match=message) as raised:
        load(path)
    assert "bad.voile" in str(raised.value)


def test_no_file_and_a_folder_are_errors_of_voile(tmp_path):
    for path, why in ((tmp_path / "none.voile", "There is no file"), (tmp_path, "cannot be read")):
        with pytest.raises(VoileError, match=why):
            load(path)


@each_family
def test_a_file_that_was_cut_off_anywhere_is_refused(family, tmp_path):
    text = json.dumps(file_of(name_of(family))[0])
    path = tmp_path / "cut.voile"
    for length in range(0, len(text), max(17, len(text) // 120)):
        path.write_text(text[:length])
        with pytest.raises(ModelError):
            load(path)


@each_family
def test_not_a_number_is_refused_in_every_table(family, tmp_path):
    data, places = file_of(name_of(family))
    numbers = [one for one in places if type(at(data, one)) is float]
    assert numbers
    path = tmp_path / "m.json"
    for place in {one[0]: one for one in numbers}.values():
        wrong = change(data, place, math.nan)
        path.write_text(json.dumps(wrong))
        with pytest.raises(ModelError, match="NaN"):
            load(path)
        with pytest.raises(ModelError):
            family.files.model_of(wrong)


EVERYWHERE = [
    (["format"], True, "format"),
    (["format"], 1.0, "format"),
    (["format"], "1", "format"),
    (["format"], 99, "version"),
    (["kind"], "voile nothing", "kind"),
    (["kind"], "voile ebm", "kind"),
    (["kind"], "voile lvq", "kind"),
    (["kind"], "voile network", "kind"),
    (["voile"], None, "voile"),
    (["voile"], ["0.1"], "voile"),
    (["schema"], {}, "schema"),
    (["schema", "target"], None, "target|classes"),
    (["receipt"], None, "receipt"),
    (["receipt"], [], "receipt"),
    (["receipt"], {}, "receipt"),
    (["receipt", "delta"], "1e-6", "receipt"),
    (["receipt", "delta"], 10**400, "receipt"),
    (["receipt", "more"], 1, "receipt"),
    (["receipt", "accesses"], {}, "receipt"),
    (["receipt", "accesses", 0, "openings"], 1.5, "receipt"),
    (["receipt", "accesses", 0, "openings"], math.inf, "receipt"),
    (["receipt", "accesses", 0, "event", "count"], -1, "receipt"),
    (["extra"], 1, "unknown field"),
]


@each_family
@pytest.mark.parametrize(("place", "value", "message"), EVERYWHERE, ids=str)
def test_a_wrong_head_or_receipt_is_found(family, place, value, message):
    data = family.files.data_of(family.models[family.damaged]())
    if place == ["kind"] and value == data["kind"]:
        value = "voile"
    with pytest.raises(ModelError, match=f"(?i){message}"):
        family.files.model_of(change(data, place, value))


def _name(place, value):
    shown = value.__name__ if callable(value) else value
    return str((place, shown))[:60]


@pytest.mark.parametrize(
    ("family", "place", "value", "message"),
    of_families(lambda family: [(one, _name(*one[:2])) for one in family.refused]),
)
def test_what_the_family_forbids_is_found(family, place, value, message):
    data = family.files.data_of(family.models[family.damaged]())
    value = value() if callable(value) else value
    with pytest.raises(ModelError, match=message):
        family.files.model_of(change(data, place, value))


def test_an_original_without_edits_is_refused():
    family = FAMILIES["ebm"]
    data = family.files.data_of(family.models["logit, edited"]())
    del data["original"]
    with pytest.raises(ModelError, match="if and only if"):
        family.files.model_of(data)


def test_a_basis_needs_pictures():
    family = FAMILIES["locally linear"]
    data = family.files.data_of(family.models["numbers"]())
    with pytest.raises(ModelError, match="basis"):
        family.files.model_of({**data, "basis": {"cut": 1, "width": 1.0, "window": False}})


def test_maps_are_as_many_for_every_class():
    family = FAMILIES["locally linear"]
    data = family.files.data_of(family.models["pictures"]())
    for name in ("weights", "weight_errors"):
        data[name] = data[name][:-1]
    with pytest.raises(ModelError, match="offsets"):
        family.files.model_of(data)


# -- any damage ---------------------------------------------------------------------------------

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [0, 1, -1, 0.5, 10**400, math.inf, math.nan, "", "age", "pay", "number", "\ud800"]
    ),
    st.text(max_size=5),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def read_or_refuse(family, data):
    """The model, which says exactly what the data says; None if it was refused."""
    try:
        model = family.files.model_of(data)
    except ModelError:
        return None
    if family.ask is not None:
        with np.errstate(all="ignore"):
            assert family.ask(model).shape == (2, len(model.classes))
    again, data = family.files.data_of(model), copy.deepcopy(data)
    # Words that are derived from the rest.
    for one in (again, data):
        one["receipt"].pop("guarantee", None)
        one["voile"] = ""
        for name in ("target", "rows", "unit"):
            if one["schema"].get(name) is None:
                one["schema"].pop(name, None)
        # What is not known of a pair may stand there as null, too.
        for pair in (*one.get("pairs", ()), *(one.get("original") or {}).get("pairs", ())):
            for name in ("evidence", "whole_errors"):
                if pair.get(name) is None:
                    pair.pop(name, None)
    assert again == data
    return model


@each_family
def test_every_field_is_needed_and_of_its_type(family):
    data, places = file_of(name_of(family))
    for (name,) in (place for place in places if len(place) == 1):
        without = {field: value for field, value in data.items() if field != name}
        with pytest.raises(ModelError, match=name):
            family.files.model_of(without)
        wrongs = [True, -7, 0.5, "", "\ud800", [], {}, [None], [[]], {"a": 1}, math.nan, 10**400]
        for wrong in wrongs + [None] * (name not in family.nullable):
            fits = type(wrong) is family.fitting.get(name)
            if fits and wrong == wrong and wrong != "\ud800":
                continue
            with pytest.raises(ModelError):
                family.files.model_of({**data, name: wrong})


@each_family
def test_every_place_can_go_missing(family):
    data, places = file_of(name_of(family))
    refused = 0
    for place in places:
        damaged = copy.deepcopy(data)
        del at(damaged, place[:-1])[place[-1]]
        refused += read_or_refuse(family, damaged) is None
    # What may go missing: the derived sentence, the schema's options, an access of the receipt,
    # one of several edits, a setting of an edit (found when it is replayed), a direction of a
    # metric.
    assert refused > 0.9 * len(places)


@each_family
@settings(max_examples=200)
@given(data=st.data())
def test_any_altered_place_is_read_as_it_is_or_refused(family, data):
    right, places = file_of(name_of(family))
    place, value = data.draw(st.sampled_from(places)), data.draw(VALUES)
    read_or_refuse(family, change(right, place, value))


@each_family
@settings(max_examples=100)
@given(data=st.data())
def test_any_two_places_can_be_swapped(family, data):
    right, places = file_of(name_of(family))
    first, second = data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))
    if first[: len(second)] == second or second[: len(first)] == first:
        return
    swapped = change(right, first, at(right, second))
    read_or_refuse(family, change(swapped, second, at(right, first)))


@each_family
@settings(max_examples=50)
@given(data=VALUES)
def test_anything_else_is_refused(family, data):
    with pytest.raises(ModelError):
        family.files.model_of(data)


# -- trained models -----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("family", "make"),
    of_families(lambda family: [((make,), name) for name, make in family.trained.items()]),
)
def test_a_trained_model_cannot_be_changed_and_its_file_holds_no_exact_count(
    family, make, tmp_path
):
    ill, u = int((LABELS == "ill").sum()), int((ROWS["b"] == "u").sum())
    exact = {COUNT, ill, COUNT - ill, u, COUNT - u}
    shares = {ill / COUNT, 1 - ill / COUNT, u / COUNT, 1 - u / COUNT}
    means = {float(ROWS["a"][one == LABELS].mean()) for one in ("ill", "well")}
    with fixed_noise(0):
        model = make(epsilon=4.0, schema=SCHEMA).fit(ROWS, LABELS)
    assert_frozen(model.model_)
    data = json.loads(model.save(tmp_path / "m.json").read_text())
    assert not any(float(count).is_integer() for count in data.get("counts", []))
    found = set(numbers_in(data))
    assert len(found) > 20
    assert not (exact | shares | means) & found
    assert str(COUNT) not in str(model.receipt_)
