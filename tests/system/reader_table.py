"""Every reader of files and messages: an example that it reads, how it reads it, and a use of it.

A function that reads what others wrote must be here: `tests/architecture/test_readers.py` looks for
those that are not. What a reader lets through is used as a person would use it, because a model
that can be read and not asked is damaged all the same.
"""

import contextlib
import io
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import ebm_models
import explained_models
import linear_map_models
import numpy as np
import prototype_models
import surrogate_records

from voile import Budget, Category, Ledger, Number, Receipt, Schema, Unit, load
from voile.cli.edit import apply_script
from voile.errors import VoileError
from voile.explain import Explanation
from voile.explaining import explain_global, explain_local
from voile.models.ebm.edit import Editor
from voile.models.ebm.files import SavedEBM
from voile.models.evaluation.measure import Baseline, Difference, Measure
from voile.models.evaluation.record import Evaluation, GroupScores, Reliability
from voile.models.evaluation.thresholds import ScoreCounts
from voile.models.locally_linear.files import SavedLocallyLinear
from voile.models.lvq.files import SavedLVQ
from voile.models.training_settings import record_settings
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.memory import AnswerMemory, KeptAnswer
from voile.privacy.clients.questions import AccessId, Opening, Payment
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Gaussian, Plan, Threshold
from voile.privacy.files.own_rows import read_own_rows
from voile.privacy.files.table_files import TableFile, read_table
from voile.privacy.files.table_proposal import propose_schema
from voile.privacy.noise import NoiseSource
from voile.privacy.wire import Packer, Unpacker


@dataclass(frozen=True)
class Reader:
    """One reader.

    Attributes
    ----------
    seed : callable
        Makes the bytes of an undamaged file, in a folder for its work.
    run : callable
        Reads the file at a path, and uses what was read; ``VoileError`` is all that may come out.
    reads : tuple of str
        The functions of the source that it covers, with dots.
    name : str
        Of the file.
    needed : tuple of str
        Libraries without which there is no such reader.
    """

    seed: Callable[[Path], bytes]
    run: Callable[[Path], None]
    reads: tuple[str, ...]
    name: str = "file.json"
    needed: tuple[str, ...] = ()


READERS: dict[str, Reader] = {}


def _text(path: Path) -> str:
    """As a caller would have it; bytes that are no text never reach a reader of text."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


# -- schemas --------------------------------------------------------------------------------------

SCHEMA = Schema(
    {
        "age": Number(17, 90),
        "job": Category(["clerk", "nurse", "été"]),
        "pay": Number(),
        "flag": Category([False, True]),
        "rank": Category([3, 1, -2, 2.5]),
    },
    target=Category(["no", "yes"]),
    rows=500,
    unit=Unit("patient", rows=2),
)


def _use_schema(schema: Schema) -> None:
    texts = (str(schema), repr(schema), schema.to_json(), schema.to_yaml(), schema.missing_facts)
    "".join(map(str, texts)).encode()
    assert Schema.from_json(schema.to_json()) == schema
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert hash(schema.with_rows(None)) is not None


def _run_schema_text(path: Path) -> None:
    read = Schema.from_json if path.suffix == ".json" else Schema.from_yaml
    _use_schema(read(_text(path)))


def _run_schema_file(path: Path) -> None:
    schema = Schema.load(path)
    _use_schema(schema)
    schema.save(path.with_name(f"again{path.suffix}"))


_SCHEMA_READS = ("voile.schema.schema.Schema.from_dict", "voile.schema.files.facts_from_dict")
READERS["schema, JSON"] = Reader(
    lambda folder: SCHEMA.to_json().encode(),
    _run_schema_file,
    (*_SCHEMA_READS, "voile.schema.schema.Schema.load", "voile.schema.files.read_text"),
)
READERS["schema, text of JSON"] = Reader(
    lambda folder: SCHEMA.to_json().encode(),
    _run_schema_text,
    ("voile.schema.schema.Schema.from_json",),
)
READERS["schema, YAML"] = Reader(
    lambda folder: SCHEMA.to_yaml().encode(), _run_schema_file, _SCHEMA_READS, "file.yaml"
)
READERS["schema, text of YAML"] = Reader(
    lambda folder: SCHEMA.to_yaml().encode(),
    _run_schema_text,
    ("voile.schema.schema.Schema.from_yaml",),
    "file.yaml",
)


# -- receipts and evaluations ---------------------------------------------------------------------


def _use_receipt(receipt: Receipt) -> None:
    "".join((str(receipt), repr(receipt), receipt.guarantee, receipt._repr_html_())).encode()
    assert Receipt.from_json(receipt.to_json()).to_dict() == receipt.to_dict()


READERS["receipt"] = Reader(
    lambda folder: replace(ebm_models.make_receipt(), notes=("A note.",)).to_json().encode(),
    lambda path: _use_receipt(Receipt.from_json(_text(path))),
    (
        "voile.privacy.receipt.Receipt",
        "voile.privacy.events.Event.from_dict",
    ),
)


def _evaluation(folder: Path) -> bytes:
    measures = (
        Measure(
            "AUROC",
            0.91,
            0.88,
            0.94,
            0.01,
            baseline=Baseline("a random order", 0.5, 0.5, 0.5, True, 1e-6, "clear"),
        ),
        Measure("accuracy", 0.8, 0.75, 0.85, 0.01),
        Measure("calibration error", math.nan, math.nan, math.nan, math.nan, "points"),
    )
    return (
        Evaluation(
            model="EBMClassifier",
            target="classification",
            rows=612.5,
            confidence=0.95,
            measures=measures,
            classes=("no", "yes"),
            confusion=((250.0, 40.5), (39.0, 283.0)),
            reliability=(
                Reliability(0.2, Measure("happened", 0.25, 0.2, 0.3, 0.02), 300.0),
                Reliability(0.7, Measure("happened", 0.68, 0.6, 0.8, 0.02), 312.5),
            ),
            groups=(
                GroupScores(
                    "job",
                    "nurse",
                    210.0,
                    measures[:2],
                    (Difference("accuracy", 0.1, -0.1, 0.3, 0.4, "cannot be told from nothing"),),
                ),
            ),
            receipt=ebm_models.make_receipt(),
            notes=("Few rows.",),
            entry="0123456789abcdef",
            edits="",
            scores=(
                ScoreCounts(
                    "yes",
                    "probability",
                    (0.3, 0.5),
                    (200.0, 60.0, 29.0),
                    (20.0, 40.5, 263.0),
                    (30.0, 20.0),
                    (20.0, 30.0),
                    (-3.0, -4.0),
                    1,
                    (),
                ),
            ),
        )
        .to_json()
        .encode()
    )


def _run_evaluation(path: Path) -> None:
    found = Evaluation.from_json(_text(path))
    "".join((str(found), repr(found))).encode()
    found.to_html(path.with_suffix(".html"))
    found.fits(ebm_models.make_model())
    found.to_records()
    assert Evaluation.from_json(found.to_json()).to_dict() == found.to_dict()
    _use_receipt(found.receipt)


READERS["evaluation"] = Reader(
    _evaluation,
    _run_evaluation,
    ("voile.models.evaluation.record.Evaluation",),
)


# -- models ---------------------------------------------------------------------------------------


def _rows(schema: Schema, absent: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Three rows that fit a schema: at its edges, beyond them, and missing."""
    rows = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            lower, upper = column.lower or 0.0, column.upper or 1.0
            values = [lower, lower / 2 + upper / 2, math.nan]
        else:
            levels = list(column.levels or ())
            values = [*levels[:1], "unheard of", None][-3:]
            values = [None] * (3 - len(values)) + values
        if name not in absent:
            rows[name] = np.array(values, dtype=float if isinstance(column, Number) else object)
    return rows


def _run_model(path: Path) -> None:
    estimator = load(path)
    model = estimator.model_
    X = _rows(model.schema)
    told = [repr(estimator), estimator._repr_html_()]
    found = estimator.predict(X)
    told.append(str(found.tolist()))
    for name in ("predict_proba", "decision_function"):
        if hasattr(estimator, name):
            assert np.isfinite(getattr(estimator, name)(X)).all()
    for explanation in (estimator.explain_global(), estimator.explain_local(X)):
        told += [str(explanation), explanation.to_json()]
        explanation.to_records()
    estimator.report(path.with_suffix(".html"), rows=X)
    _use_receipt(estimator.receipt_)
    if hasattr(estimator, "edit"):
        editor = estimator.edit("a fuzzer")
        told.append(str(editor.history))
        with contextlib.suppress(VoileError):
            editor.undo().redo()
        first = next(iter(model.schema))
        estimator = estimator.with_model(editor.drop(first).undo())
        estimator.to_csv(path.with_suffix(".csv"))
    again = load(estimator.save(path.with_name("again.json")))
    assert np.array_equal(again.predict(X), found)
    "".join(told).encode()


def _run_network(path: Path) -> None:
    estimator = load(path)
    X = _rows(estimator.model_.schema)
    found = estimator.predict(X)
    if hasattr(estimator, "predict_proba"):  # a regression may stand in its place
        assert estimator.predict_proba(X).shape == (3, len(estimator.classes_))
    "".join((repr(estimator), str(found.tolist()), estimator._repr_html_())).encode()
    _use_receipt(estimator.receipt_)
    again = load(estimator.save(path.with_name("again.json")))
    assert np.array_equal(again.predict(X), found)


def _saved(write: Callable[..., Path], model: Any, estimator: str | None = None) -> Any:
    def make(folder: Path) -> bytes:
        import voile

        known = None if estimator is None else record_settings(getattr(voile, estimator)())
        return write(model(), folder / "seed.json", known).read_bytes()

    return make


def _edited() -> Any:
    editor = Editor(ebm_models.make_model("softmax"), who="Dr. Weber")
    editor.set("age", 0.25, between=(30, 50), output="mid", why="an artefact")
    editor.set("job", 0.0, levels=["nurse"]).monotone("age").undo()
    return editor.drop("pay", why="not to be used").model


_LOAD = "voile.models.load.load"
_EBM = (_LOAD, "voile.models.saved_model.SavedModel", "voile.models.ebm.estimator.load_estimator")
_LVQ = (_LOAD, "voile.models.saved_model.SavedModel", "voile.models.lvq.estimator.load_estimator")
_MAPS = (
    *(_LOAD, "voile.models.saved_model.SavedModel"),
    "voile.models.locally_linear.estimator.load_estimator",
)
for _name, _make, _write, _estimator, _reads in (
    ("ebm, two classes", ebm_models.make_model, SavedEBM.write, "EBMClassifier", _EBM),
    ("ebm, edited", _edited, SavedEBM.write, "EBMClassifier", _EBM),
    (
        "ebm, regression",
        lambda: ebm_models.make_model("identity"),
        SavedEBM.write,
        "EBMRegressor",
        _EBM,
    ),
    ("lvq, numbers", prototype_models.tumour_model, SavedLVQ.write, "GMLVQClassifier", _LVQ),
    ("lvq, categories", prototype_models.mixed_model, SavedLVQ.write, None, _LVQ),
    (
        *("lvq, pictures", lambda: prototype_models.picture_model(4, 3), SavedLVQ.write),
        *("GLVQClassifier", _LVQ),
    ),
    (
        "maps, table",
        linear_map_models.ward_model,
        SavedLocallyLinear.write,
        "LocallyLinearClassifier",
        _MAPS,
    ),
    (
        "maps, pictures",
        linear_map_models.picture_linear_maps,
        SavedLocallyLinear.write,
        None,
        _MAPS,
    ),
):
    READERS[_name] = Reader(_saved(_write, _make, _estimator), _run_model, _reads)


def _network(folder: Path) -> bytes:
    from voile.models.networks.architectures import Description, initial_weights
    from voile.models.networks.files import SavedNetwork
    from voile.models.networks.images import Standard
    from voile.models.networks.model import NetworkModel

    schema = Schema({f"p{i}": Number(0, 255) for i in range(64)}, target=Category(["a", "b"]))
    description = Description("cnn", (1, 8, 8), 2, seed=3)
    model = NetworkModel(
        schema,
        description,
        initial_weights(description),
        Standard((0.4,), (0.3,), 8),
        (8, 8),
        "uniform",
        ebm_models.make_receipt(),
    )
    return SavedNetwork.write(model, folder / "seed.json").read_bytes()


def _fedavg(folder: Path) -> bytes:
    data = json.loads(_network(folder))
    del data["placement"]
    return json.dumps({**data, "kind": "voile fedavg", "noise": "client"}).encode()


READERS["network"] = Reader(
    _network,
    _run_network,
    (
        "voile.models.saved_model.SavedModel",
        "voile.models.networks.estimator.load_estimator",
    ),
    needed=("torch",),
)
READERS["network, averaged"] = Reader(
    _fedavg,
    _run_network,
    (
        "voile.models.saved_model.SavedModel",
        "voile.federated.fedavg.estimator.load_estimator",
    ),
    needed=("torch",),
)


# -- explanations ---------------------------------------------------------------------------------


def _run_explanation(path: Path) -> None:
    found = Explanation.from_json(_text(path))
    "".join((str(found), found.to_json())).encode()
    found.to_records()
    found.to_html(path.with_suffix(".html"))
    with contextlib.redirect_stdout(io.StringIO()):
        found.show()
    again = Explanation.from_json(found.to_json())
    assert again.to_dict() == found.to_dict()
    _use_receipt(found.receipt)


def _heat_maps() -> Any:
    from voile.explain.networks.record import COST, HeatMaps

    rng = np.random.default_rng(0)
    return HeatMaps(
        outputs=("cat", "dog"),
        units="the network's score",
        receipt=explained_models.make_receipt(),
        cost=COST,
        maps=np.abs(rng.normal(size=(2, 4, 5))),
        pictures=rng.integers(0, 256, (2, 4, 5)),
        method="grad_cam",
        how="layer second",
        layer="second",
        targets=np.array([0, 1]),
        probabilities=np.array([[0.7, 0.3], [0.2, 0.8]]),
    )


def _local(model: Any) -> Any:
    return explain_local(model, _rows(model.schema))


_RECORDS: dict[str, Callable[[], Any]] = {
    "global": lambda: explain_global(_edited()),
    "local": lambda: _local(ebm_models.make_model("softmax")),
    "prototypes": lambda: explain_global(prototype_models.mixed_model()),
    "decisions": lambda: _local(prototype_models.mixed_model()),
    "linear maps": lambda: explain_global(linear_map_models.picture_linear_maps((4, 3))),
    "linear map decisions": lambda: _local(linear_map_models.ward_model()),
    "slopes": surrogate_records.census_surrogate,
    "slopes on words": surrogate_records.review_surrogate,
    "slopes on pictures": lambda: surrogate_records.picture_surrogate((4, 3)),
    "heat maps": _heat_maps,
}


def _record_seed(make: Callable[[], Any]) -> Callable[[Path], bytes]:
    return lambda folder: make().to_json().encode()


for _name, _make in _RECORDS.items():
    READERS[f"explanation, {_name}"] = Reader(
        _record_seed(_make), _run_explanation, ("voile.explain.explanation.Explanation",)
    )


# -- messages -------------------------------------------------------------------------------------


def _message() -> Any:
    return {
        "opening": Opening(
            "job", SCHEMA, NeighbouringRelation.ADD_REMOVE, Terms("shares", ("a", "b", "c"))
        ),
        "payment": Payment(
            "job",
            0,
            Plan.of(count=Gaussian(1, 3.0), levels=Threshold(1, 4.0, 1e-9)),
            "x",
            None,
            True,
        ),
        "look": (AccessId(0, "count", 1), [math.inf, 2.5, None, True], b"bytes"),
        "sums": np.arange(6, dtype=np.int64).reshape(2, 3),
    }


def _wire_seed(folder: Path) -> bytes:
    packed = Packer().pack(_message())
    parts = b"".join(_framed(one) for one in packed.parts.values())
    return _framed(packed.body) + parts


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(4, "little") + part


def _run_wire(path: Path) -> None:
    import hashlib

    raw, parts = path.read_bytes(), []
    while raw:
        size = int.from_bytes(raw[:4], "little")
        parts.append(raw[4 : 4 + size])
        raw = raw[4 + size :]
    unpacker = Unpacker()
    unpacker.hold({hashlib.sha256(one).hexdigest(): one for one in parts[1:]})
    value = unpacker.unpack(parts[0] if parts else b"")
    repr(value).encode()
    Packer().pack(value)


READERS["message"] = Reader(
    _wire_seed,
    _run_wire,
    (
        "voile.privacy.wire.Unpacker.unpack",
        "voile.privacy.wire.Unpacker.hold",
        "voile.privacy.events.Plan.from_dict",
    ),
    "file.bin",
)


def _journal_seed(folder: Path) -> bytes:
    place = folder / "seed.journal"
    journal = Journal(place)
    for number in range(3):
        journal.write({"plan": number, "values": np.arange(4.0), "label": "sums"})
    journal.close()
    return place.read_bytes()


def _run_journal(path: Path) -> None:
    journal = Journal(path)
    repr(journal.lines).encode()
    journal.close()


READERS["journal"] = Reader(
    _journal_seed, _run_journal, ("voile.privacy.clients.journal.Journal",), "file.journal"
)


def _kept_answer() -> KeptAnswer:
    access = AccessId(0, "sums", 1)
    return KeptAnswer(access, 0, "", NoiseSource.SYSTEM, "", bytes(16), np.arange(4))


def _memory_seed(folder: Path) -> bytes:
    place = folder / "seed.memory"
    memory = AnswerMemory(place)
    memory.keep("job", _kept_answer())
    return place.read_bytes()


def _run_memory(path: Path) -> None:
    memory = AnswerMemory(path)
    memory.last("job")
    memory.keep("other", _kept_answer())


READERS["memory of a client"] = Reader(
    _memory_seed,
    _run_memory,
    ("voile.privacy.clients.memory.AnswerMemory",),
    "file.memory",
)


def _introduction() -> Any:
    from voile.federated.flower.members import Introduction

    return Introduction


def _run_introduction(path: Path) -> None:
    repr(_introduction().from_bytes(path.read_bytes())).encode()


READERS["introduction"] = Reader(
    lambda folder: _introduction()("north").to_bytes(),
    _run_introduction,
    ("voile.federated.flower.members.Introduction.from_bytes",),
    needed=("flwr",),
)


# -- tables ---------------------------------------------------------------------------------------

_CSV = (
    "patient,age,job,pay,flag,rank,y\n"
    '1,34,clerk,12.5,true,3,no\n2,51,"nurse, night",,false,1,yes\n3,66,été,NA,yes,-2,no\n'
    "4,29,nurse,1e3,no,2.5,yes\n"
)


def _run_table(path: Path) -> None:
    file = TableFile(path)
    repr((file.columns, file.guesses, file.remarks, file.doubts)).encode()
    schema = propose_schema(file, None).with_unit("row")
    schema.to_yaml().encode()
    if len(schema):
        table = read_table(path, schema)
        table.to_pylist()
    file.read(SCHEMA.select(["age", "job"]), also=["y"]).to_pylist()


def _arrow_seed(folder: Path, ending: str) -> bytes:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"age": [34, 51, None], "job": ["a", "b", None], "y": ["no", "yes", "no"]})
    place = folder / f"seed.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, place)
    else:
        pyarrow.feather.write_feather(table, place, compression="uncompressed")
    return place.read_bytes()


_TABLES = (
    "voile.privacy.files.table_files.read_table",
    "voile.privacy.files.table_files.TableFile",
)
READERS["table, CSV"] = Reader(
    lambda folder: _CSV.encode(),
    _run_table,
    (
        *_TABLES,
        "voile.privacy.files.csv_files.read_heading",
        "voile.privacy.files.csv_files.read_columns",
        "voile.privacy.files.cells.read_cells",
    ),
    "file.csv",
)
READERS["table, Parquet"] = Reader(
    lambda folder: _arrow_seed(folder, "parquet"), _run_table, _TABLES, "file.parquet"
)
READERS["table, Arrow"] = Reader(
    lambda folder: _arrow_seed(folder, "arrow"), _run_table, _TABLES, "file.arrow"
)


def _sheet_seed(folder: Path) -> bytes:
    import datetime

    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["patient", "age", "job", "when", "y"])
    sheet.append([1, 34, "clerk", datetime.date(2024, 12, 31), "no"])
    sheet.append([2, "51,5", "nurse", "31.12.2024", "yes"])
    sheet.append([3, "=1/0", True, None, "#N/A"])
    place = folder / "seed.xlsx"
    book.save(place)
    return place.read_bytes()


def _run_own(path: Path) -> None:
    own = read_own_rows(path, SCHEMA.select(["age", "job"]), keep=["y"])
    repr((own.table.to_pylist(), own.given.to_pylist(), own.unreadable, own.kept)).encode()
    assert own.table.num_rows == len(own.places)


READERS["table, Excel"] = Reader(
    _sheet_seed,
    _run_table,
    (*_TABLES, "voile.privacy.files.sheet_files.SheetFile"),
    "file.xlsx",
    ("python_calamine", "openpyxl"),
)
READERS["own rows, Excel"] = Reader(
    _sheet_seed,
    _run_own,
    ("voile.privacy.files.own_rows.read_own_rows",),
    "file.xlsx",
    ("python_calamine", "openpyxl"),
)
READERS["own rows, CSV"] = Reader(
    lambda folder: _CSV.encode(),
    _run_own,
    ("voile.privacy.files.own_rows.read_own_rows",),
    "file.csv",
)


# -- scripts --------------------------------------------------------------------------------------

_SCRIPT = """- {do: monotone, term: age, direction: increasing, why: risk rises with age}
- {do: set, term: job, value: 0, levels: [nurse], why: closed since May}
- {do: set, term: age, value: 0.1, between: [80, 90]}
- {do: smooth, term: pay, strength: 10}
- {do: drop, term: flag, why: not to be used}
"""


def _run_script(path: Path) -> None:
    editor = Editor(ebm_models.make_model(), who="a fuzzer")
    apply_script(editor, path)
    str(editor.history).encode()


READERS["script of edits"] = Reader(
    lambda folder: _SCRIPT.encode(), _run_script, ("voile.cli.edit.read_script",), "file.yaml"
)


# -- ledgers --------------------------------------------------------------------------------------


@cache
def _ledger_bytes(folder: Path) -> bytes:
    place = folder / "seed.db"
    ledger = Ledger(place, Budget(2, 1e-6))
    ledger.spend(Plan.of(count=Gaussian(1, 30.0)), what="a count")
    return place.read_bytes()


def _run_ledger(path: Path) -> None:
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    ledger = Ledger(path)
    told = (ledger.history(), ledger.spent(), ledger.remaining(), repr(ledger), ledger.to_json())
    repr(told).encode()


READERS["ledger"] = Reader(
    _ledger_bytes,
    _run_ledger,
    (
        "voile.privacy.ledger.facts.LedgerFacts.from_json",
        "voile.privacy.ledger.entry.Entry.from_fields",
        "voile.privacy.ledger.entry.Refusal.from_fields",
    ),
    "file.db",
)


def quietly(run: Callable[[Path], None], path: Path) -> None:
    """Run without warnings: a number that overflows is a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(path)
