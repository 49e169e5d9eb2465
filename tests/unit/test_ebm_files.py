"""A stored model comes back to the bit, and a damaged file is refused, never guessed at."""

import copy
import dataclasses
import json
import math
import os
import stat

import numpy as np
import pytest
from ebm_models import COLUMNS, assert_same_model, make_model
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import Category, Number, VoileError
from voile.errors import ModelError
from voile.models.ebm.edit import Editor
from voile.models.ebm.files import from_dict, to_dict, write
from voile.models.ebm.model import AdditiveModel
from voile.models.history import Edit
from voile.models.json_files import read_json


def read(path):
    return read_json(path, from_dict)


def edited(link="logit"):
    editor = Editor(make_model(link), who="Zoë")
    editor.set("age", 0.1 + 0.2, between=(20.5, 31.1), why="ünsicher").drop("flag")
    editor.set("rank", -1, levels=[3, 2.5]).set("job", 1e-300, levels="(other)")
    return editor.model


@pytest.mark.parametrize("link", ["identity", "logit", "softmax"])
@pytest.mark.parametrize("make", [make_model, edited])
def test_a_model_comes_back_to_the_bit(tmp_path, link, make):
    model = make(link)
    path = write(model, tmp_path / "model.voile")
    assert_same_model(read(path), model)
    assert_same_model(from_dict(to_dict(model)), model)
    assert json.loads(path.read_text(encoding="utf-8")) == to_dict(model)
    assert to_dict(read(path)) == to_dict(model)


def test_extreme_floats_and_infinite_errors_survive(tmp_path):
    model = make_model("softmax")
    term = model["age"]
    scores = term.scores.copy()
    scores[0] = [5e-324, -1e30, -0.0]
    errors, count_errors = term.standard_errors.copy(), term.count_errors.copy()
    errors[2, 1], count_errors[3] = math.inf, math.inf
    term = dataclasses.replace(
        term, scores=scores, standard_errors=errors, count_errors=count_errors
    )
    model = dataclasses.replace(
        model.with_term(term), intercept_errors=np.array([0.0, math.inf, 1.0])
    )
    again = read(write(model, tmp_path / "m.json"))
    assert_same_model(again, model)
    assert math.copysign(1, again["age"].scores[0, 2]) == -1
    assert "Infinity" not in (tmp_path / "m.json").read_text(encoding="utf-8")


def test_what_was_read_cannot_be_changed():
    model = from_dict(to_dict(make_model()))
    with pytest.raises(ValueError, match="read-only"):
        model["age"].scores[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        model.intercept[0] = 1.0


def test_levels_keep_their_types():
    levels = from_dict(json.loads(json.dumps(to_dict(make_model()))))["flag"].column.levels
    assert levels == (False, True)
    assert all(type(level) is bool for level in levels)


def test_the_file_says_what_it_is_and_can_be_read_without_voile():
    data = to_dict(make_model())
    assert (data["format"], data["kind"]) == (1, "voile ebm")
    assert data["classes"] == ["no", "yes"]
    assert data["terms"][0]["edges"] == [17.0, 25.0, 31.1, 40.0, 52.3, 60.0, 71.0, 90.0]
    assert data["terms"][3]["levels"] == [False, True]
    assert len(data["terms"][0]["scores"]) == 8
    assert "original" not in data
    assert set(to_dict(edited())["original"]) == {"intercept", "intercept_errors", "terms"}


# -- files --------------------------------------------------------------------------------------


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.voile"
    write(make_model(), path)
    before = path.read_bytes()

    def fail(fileno):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ModelError, match="cannot be written"):
        write(make_model(seed=5), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m.voile"]


def test_who_reads_meanwhile_sees_the_old_file_whole(tmp_path):
    path = write(make_model(), tmp_path / "m.voile")
    before = path.read_bytes()
    with path.open("rb") as stream:
        write(make_model(seed=5), path)
        assert stream.read() == before
    assert path.read_bytes() != before


def test_a_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    path = write(make_model(), tmp_path / "m.voile")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ModelError, match="nowhere"):
        write(make_model(), tmp_path / "nowhere" / "m.voile")
    with pytest.raises(ModelError, match="cannot be written"):
        write(make_model(), tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"[1, 2", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"null", "kind"),
        (b"[]", "kind"),
        (b'{"kind": "voile ebm", "kind": "voile ebm"}', "twice"),
        (b'{"kind": "voile ebm", "format": NaN}', "NaN"),
        (b'{"kind": "voile ebm", "format": 2, "voile": "9.9"}', "9.9"),
        (b'{"kind": "voile ebm", "format": true}', "format"),
        (b'{"kind": "voile ebm", "format": 1}', "no 'voile'|has no"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "bad.voile"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as raised:
        read(path)
    assert "bad.voile" in str(raised.value)


def test_no_file_and_a_folder_are_errors_of_voile(tmp_path):
    for path in (tmp_path / "none.voile", tmp_path):
        with pytest.raises(VoileError, match="cannot be read"):
            read(path)


def test_a_file_that_was_cut_off_anywhere_is_refused(tmp_path):
    text = json.dumps(to_dict(make_model("identity", columns={"pay": COLUMNS["pay"]})))
    path = tmp_path / "cut.voile"
    for length in range(0, len(text), 17):
        path.write_text(text[:length])
        with pytest.raises(ModelError):
            read(path)


# -- contradictions -----------------------------------------------------------------------------


def change(data, place, value):
    """A copy of nested data with the value at one place replaced."""
    data = copy.deepcopy(data)
    node = data
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    return data


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["link"], "probit", "link"),
        (["link"], "identity", "does not fit"),
        (["link"], ["logit"], "link"),
        (["classes"], ["yes", "no"], "classes"),
        (["terms", 0, "edges", 2], 20.5, "increase strictly"),
        (["terms", 0, "edges", 2], 17.5, "increase strictly"),
        (["terms", 0, "edges", 0], 16.0, "begin and end"),
        (["terms", 0, "edges", -1], 91.0, "begin and end"),
        (["terms", 0, "edges"], [17.0], "begin and end"),
        (["terms", 0, "edges"], [17.0, 30.0, 90.0], "length 3"),
        (["terms", 0, "scores", 0], [0.0, 0.0], "length 1"),
        (["terms", 0, "scores", 0, 0], None, "finite"),
        (["terms", 0, "scores", 0, 0], 10**400, "finite"),
        (["terms", 0, "scores", 0, 0], math.inf, "finite"),
        (["terms", 0, "scores", 0, 0], True, "finite"),
        (["terms", 0, "counts", 0], -1.0, ">= 0"),
        (["terms", 0, "counts", 0], None, "finite"),
        (["terms", 0, "standard_errors", 1, 0], -0.1, ">= 0"),
        (["terms", 0, "kind"], "category", "kind"),
        (["terms", 0, "name"], "job", "in order"),
        (["terms", 3, "levels"], [0, 1], "levels"),
        (["terms", 3, "levels"], [True, False], "levels"),
        (["terms", 1, "extra"], 1, "unknown field"),
        (["extra"], 1, "unknown field"),
        (["intercept"], [], "length 1"),
        (["schema", "columns", "age"], {"kind": "number"}, "no bounds"),
        (["schema", "target"], None, "target"),
        (["schema"], {}, "schema"),
        (["receipt"], None, "receipt"),
        (["receipt", "delta"], "1e-6", "receipt"),
        (["receipt", "delta"], 10**400, "receipt"),
        (["receipt", "more"], 1, "receipt"),
        (["receipt", "looks", 0, "event", "count"], -1, "receipt"),
        (["edits"], [], "if and only if"),
        (["edits", 0, "term"], "nobody", "no term"),
        (["edits", 0, "settings"], [], "mapping"),
        (["edits", 0, "settings", "value"], {"a": 1}, "value"),
        (["edits", 0, "why"], None, "why"),
        (["edits", 0, "why"], "\ud800", "why"),
        (["original"], None, "original"),
        (["original", "terms", 1, "scores", 2, 0], "0", "finite"),
    ],
)
def test_a_contradiction_is_found(place, value, message):
    data = change(to_dict(edited()), place, value)
    with pytest.raises(ModelError, match=message):
        from_dict(data)


def test_an_original_without_edits_is_refused():
    data = to_dict(edited())
    del data["original"]
    with pytest.raises(ModelError, match="if and only if"):
        from_dict(data)


def broken_models():
    model = make_model()
    age = model["age"]
    nan = age.scores * math.nan
    yield dataclasses.replace(model, terms=model.terms[:-1])
    yield dataclasses.replace(model, terms=model.terms[::-1])
    yield dataclasses.replace(model, link="softmax")
    yield dataclasses.replace(model, link="identity")
    yield make_model("logit", target=Category(["a", "b", "c"]))
    yield model.with_term(dataclasses.replace(age, scores=nan))
    yield model.with_term(dataclasses.replace(age, standard_errors=nan))
    yield model.with_term(dataclasses.replace(age, cuts=age.cuts[::-1]))
    yield model.with_term(dataclasses.replace(age, cuts=age.cuts[1:]))
    yield model.with_term(dataclasses.replace(age, column=Number(17, 91)))
    yield model.with_term(dataclasses.replace(model["job"], column=Category(["a", "b", "c", "d"])))
    yield dataclasses.replace(model, original=model)
    yield dataclasses.replace(model, edits=(Edit("set", "age", {}, "", "", ""),))
    yield dataclasses.replace(
        edited(), original=dataclasses.replace(model, schema=model.schema.with_rows(3))
    )
    yield dataclasses.replace(edited(), original=edited())
    yield dataclasses.replace(
        edited(), edits=(Edit("set", "age", {"value": object()}, "", "", ""),)
    )


@pytest.mark.parametrize("model", list(broken_models()))
def test_a_model_that_contradicts_itself_is_not_written(tmp_path, model):
    with pytest.raises(ModelError):
        write(model, tmp_path / "m.voile")
    assert list(tmp_path.iterdir()) == []


# -- any damage ---------------------------------------------------------------------------------

SMALL = to_dict(
    Editor(make_model("softmax", columns={name: COLUMNS[name] for name in ("pay", "flag")}))
    .set("pay", 1.0, between=(0.0, 1.0), output="mid")
    .set("flag", 2.0, levels=[True])
    .model
)


def places_of(node, place=()):
    if place:
        yield place
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from places_of(child, (*place, step))


PLACES = list(places_of(SMALL))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([0, 1, -1, 0.5, 10**400, math.inf, math.nan, "", "pay", "number", "\ud800"]),
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
    assert isinstance(model, AdditiveModel)
    again = to_dict(model)
    # Words that are derived from the rest.
    for one in (again, data):
        one["receipt"].pop("guarantee", None)
        one["voile"] = ""
        for name in ("target", "rows", "unit"):
            if one["schema"].get(name) is None:
                one["schema"].pop(name, None)
    assert again == data
    return model


def test_every_place_can_go_missing():
    refused = 0
    for place in PLACES:
        data = copy.deepcopy(SMALL)
        node = data
        for step in place[:-1]:
            node = node[step]
        del node[place[-1]]
        refused += read_or_refuse(data) is None
    # What may go missing: the derived sentence, the schema's options, one of several edits, a
    # setting of an edit (found when it is replayed), a look of the receipt.
    assert refused > 0.9 * len(PLACES)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_altered_place_is_read_as_it_is_or_refused(place, value):
    read_or_refuse(change(SMALL, place, value))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
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


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(data=VALUES)
def test_anything_else_is_refused(data):
    with pytest.raises(ModelError):
        from_dict(data)
