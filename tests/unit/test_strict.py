"""What others wrote is read strictly: the value that was meant, or one error with its place."""

import json
import math
from dataclasses import dataclass, replace
from typing import Literal

import ebm_models
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from prototype_models import tumour_model

from voile import Category, EBMClassifier, Number, Receipt, Schema, Unit, load
from voile.codec import decode
from voile.errors import (
    DataError,
    LedgerError,
    LedgerUnavailable,
    ModelError,
    ReceiptError,
    SchemaError,
    SettingError,
)
from voile.explain import Explanation
from voile.explain.lvq.border import _least_distance
from voile.explaining import explain_global, explain_local
from voile.models.ebm.files import SavedEBM
from voile.models.evaluation import Evaluation
from voile.models.evaluation.measure import shown_ends
from voile.models.locally_linear.pictures import SmoothBasis
from voile.models.lvq.files import SavedLVQ
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.memory import AnswerMemory
from voile.privacy.events import Event, Gaussian, Plan
from voile.privacy.files.table_files import read_table as read_file
from voile.stored import Count, ZeroToOne
from voile.strict import MOST_DEEP, Strict, is_text

READ = Strict(ModelError, "a model")


@dataclass(frozen=True)
class Small:
    a: int


ODD_NAMES = ("\ud800", "a\udcffb", "a\0b", "\0")


@pytest.mark.parametrize("text", ["", "plain", "été", "日本", "\x1b", "\ufdd0"])
def test_text_that_can_be_written(text):
    assert is_text(text)
    assert READ.parse(json.dumps(text)) == text


@pytest.mark.parametrize("text", ODD_NAMES)
def test_text_that_cannot_be_written_is_refused_everywhere(text, tmp_path):
    assert not is_text(text)
    for data in (text, [text], {text: 1}, {"a": {"b": [text]}}):
        with pytest.raises(ModelError, match="surrogates"):
            READ.parse(json.dumps(data))
    with pytest.raises(SchemaError):
        Schema({text: Number(0, 1)})
    with pytest.raises(SchemaError):
        Category([text])
    with pytest.raises(SchemaError):
        Unit(text)
    for path in (text, f"folder/{text}.json"):
        with pytest.raises(ModelError):
            load(path)
        with pytest.raises(SchemaError):
            Schema.load(f"{path}.yaml")
    if "\0" in text:
        with pytest.raises(ModelError):
            SavedEBM.write(ebm_models.make_model(), tmp_path / text)
        with pytest.raises(SchemaError):
            Schema({"a": Number()}).save(tmp_path / f"{text}.yaml")
        with pytest.raises(SettingError):
            explain_global(ebm_models.make_model()).to_html(tmp_path / text)


def test_a_private_text_with_nul_is_another_level_and_no_error():
    schema = Schema({"x": Category(["a", "b"])}, target=Category(["n", "y"]))
    rows = {"x": np.array(["a", "a\0b", "\ud800", "b"] * 50, dtype=object)}
    model = EBMClassifier(epsilon=math.inf, schema=schema).fit(rows, np.array(["n", "y"] * 100))
    assert model.predict(rows).shape == (200,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MOST_DEEP + 2) + "]" * (MOST_DEEP + 2), "nested too deeply"),
        ("1" * 5_000, "not valid JSON"),
        ("[1" + "0" * 400 + "]", "64 bits"),
        ("[1e999]", "finite"),
        ("[-1e999]", "finite"),
        ("NaN", "NaN"),
        ('{"a": 1, "a": 1}', "'a' stands twice"),
    ],
)
def test_json_of_other_kinds_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        READ.parse(text)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Count, (True, 1.0, -1, "1", None, 2**65)),
        (float, (True, "1", None, math.nan, math.inf, 10**400)),
        (ZeroToOne, (-0.1, 1.1)),
        (bool, (0, 1, "true", None)),
        (str, (1, None, b"x", "\ud800")),
        (Literal["a", "b"], ("c", 1, ["a"], None)),
        (Literal[1], (True, 1.0, "1")),
        (NeighbouringRelation, ("x", 1, None, ["add_remove"])),
        (tuple[int, int], ((1, 2), [1], "ab", None, [1, True])),
        (dict[str, int], ([], {"a": True}, {1: 1}, {"\ud800": 1}, None)),
        (int | None, (True, "1", 0.5)),
        (Small, ([], {}, {"a": 1, "b": 2}, {"a": True}, None)),
    ],
)
def test_values_of_another_form_are_refused(kind, values):
    for value in values:
        with pytest.raises(ModelError):
            decode(kind, value, READ)


@pytest.mark.parametrize("value", [object(), {1: 2}, [(1,)], {"a": np.float64(1)}, b"x"])
def test_what_is_no_plain_data_is_refused(value):
    with pytest.raises(ModelError):
        READ.plain(value)


# -- each break that was found --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [["x"], {}, 1, None, "voile x"])
def test_the_kind_of_a_model_may_be_anything(kind, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**SavedEBM.data_of(ebm_models.make_model()), "kind": kind}))
    with pytest.raises(ModelError, match="not a model"):
        load(path)


@pytest.mark.parametrize("place", ["omega", "prototypes", "means", "prototype_errors"])
def test_a_prototype_model_without_measure_is_refused(place, tmp_path):
    data = SavedLVQ.data_of(tumour_model())
    data[place][1][1] = 1e308
    path = tmp_path / "m.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ModelError, match=place):
        load(path)


def test_a_metric_without_measure_brings_nothing_down():
    model = tumour_model()
    omega = model.omega.copy()
    omega[1, 1] = -1e308
    rows = {name: [column.lower, column.upper] for name, column in model.schema.items()}
    with np.errstate(all="ignore"), pytest.raises(DataError):
        explain_local(replace(model, omega=omega), rows)


def test_no_condition_at_all_is_met_by_no_move():
    # Prototypes of both classes in one place; scipy's nnls would bring the process down.
    assert (_least_distance(np.zeros((0, 3)), np.zeros(0)) == 0).all()


def test_yaml_of_thousands_of_brackets_is_refused_at_once():
    for text in ("[" * 20_000, "- " * 3_000, "{a: " * 20_000):
        with pytest.raises(SchemaError, match="nested too deeply"):
            Schema.from_yaml(text)


@pytest.mark.parametrize("rows", [0, 2**53 + 1, 10**400, True, 1.0])
def test_counts_of_rows_are_counts(rows):
    with pytest.raises(SchemaError):
        Schema({"a": Number()}, rows=rows)
    with pytest.raises(SchemaError):
        Unit("a", rows=rows)


def test_numbers_without_end_are_no_evaluation():
    text = json.dumps({"voile_evaluation": 1})
    for wrong in (text.replace("1", "1" + "0" * 400), "[]", text):
        with pytest.raises(ModelError):
            Evaluation.from_json(wrong)


def test_an_interval_without_width_can_be_told():
    assert shown_ends(0.5, 0.0, 5e-324)[0].startswith("0.5")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *(("epsilon", one) for one in (10**400, "1", True, -1, [])),
        *(("delta", one) for one in (2, -1, None, "x")),
        *(("what", one) for one in (1, None, "\ud800")),
        *(("relation", one) for one in ("x", ["add_remove"], None)),
        *(("accesses", one) for one in ({}, [1], [{}], None)),
        *(("ledger", one) for one in ([], {}, None)),
        *(("notes", one) for one in ("x", [1])),
        *(("format", one) for one in (True, 1.0, 2, [1])),
        ("more", 1),
    ],
)
def test_a_receipt_is_read_field_by_field(place, value):
    data = {**ebm_models.make_receipt().to_dict(), place: value}
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)
    with pytest.raises(ReceiptError):
        Receipt.from_json(json.dumps(data))


@pytest.mark.parametrize("data", [None, 5, "x", [], {}, {"kind": []}, {"kind": "gaussian", "x": 1}])
def test_what_is_no_event_is_refused(data):
    with pytest.raises(LedgerError):
        Event.from_dict(data)
    with pytest.raises(LedgerError):
        Plan.from_dict([{"label": "a", "event": data}])


@pytest.mark.parametrize("count", [10**400, 2**54, math.inf, -1, 0.5])
def test_events_are_counted(count):
    with pytest.raises(SettingError):
        Gaussian(count, 1.0)


KEPT = {
    "plan": 0,
    "step": "a",
    "index": 1,
    "attempt": 0,
    "names": "",
    "noise": "operating system entropy",
    "before": "",
    "salt": "00",
    "values": "AAAAAAAAAAA=",
}


@pytest.mark.parametrize(
    "answers",
    [
        *([], 1, {"j": []}, {"j": {}}, {"j": {**KEPT, "more": 1}}, {"j": {**KEPT, "index": "1"}}),
        *({"j": {**KEPT, name: 5}} for name in ("step", "names", "before", "salt", "values")),
        *({"j": {**KEPT, name: "x"}} for name in ("noise", "salt", "values", "plan")),
    ],
)
def test_a_damaged_memory_is_refused_when_it_is_opened(answers, tmp_path):
    path = tmp_path / "memory"
    path.write_text(json.dumps({"answers": {"j": KEPT}, "heads": {"j": ""}}))
    assert AnswerMemory(path).last("j").values.tolist() == [0]
    path.write_text(json.dumps({"answers": answers, "heads": {}}))
    with pytest.raises(LedgerUnavailable, match="Restore it"):
        AnswerMemory(path)
    path.write_text(json.dumps({"answers": {}, "heads": answers}))
    with pytest.raises(LedgerUnavailable, match="Restore it"):
        AnswerMemory(path)


def test_a_basis_is_not_made_larger_than_memory():
    with pytest.raises(SettingError, match="smaller"):
        SmoothBasis((10**6, 10**6, 1), 10**6, 3.0)
    with pytest.raises(SettingError):
        SmoothBasis((4, 4, True), 2, 3.0)


def test_positions_that_lead_out_of_an_arrow_file_are_refused(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({"job": ["nurse" * 3, "clerk" * 3, None] * 50})
    pyarrow.feather.write_feather(table, path, compression="uncompressed")
    raw, second = path.read_bytes(), (15).to_bytes(4, "little") + (30).to_bytes(4, "little")
    assert raw.count(second) == 1
    path.write_bytes(raw.replace(second, (2**30).to_bytes(4, "little") * 2))
    with pytest.raises(DataError, match="damaged"):
        read_file(path, Schema({"job": Category(["nurse"])}))


def test_an_explanation_speaks_of_what_is_there():
    data = explain_local(tumour_model(), {name: [0.1] for name in tumour_model().schema}).to_dict()
    for place, value in (("predicted", 2), ("right", 9), ("wrong", -2), ("given", ["x"])):
        damaged = {**data, "decisions": [{**data["decisions"][0], place: value}]}
        with pytest.raises(DataError):
            Explanation.from_dict(damaged)
    for value in (None, [], 1, "x"):
        with pytest.raises(DataError):
            Explanation.from_dict(value)
