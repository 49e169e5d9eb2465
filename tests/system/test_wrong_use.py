"""Wrong use of the command: one line that says the remedy, a documented code, nothing spent."""

import json
import math
import os
import re
import sqlite3
import subprocess
import sys

import joblib
import pytest
from command_line import run_voile, write_patients

from voile import Budget, EBMClassifier, Ledger, Schema
from voile.cli import exit_codes
from voile.privacy.events import Gaussian, Plan

TRAIN = ["train", "patients.csv", "--target", "ill", "--schema", "patients.yaml"]
KEPT = [*TRAIN, "--ledger", "hospital.db"]
BOX = ["explain", "--blackbox", "box.joblib", "--run-code-of-the-blackbox"]
USAGE, BUDGET, LEDGER, MODEL, EXTRA, FILES = 2, 3, 4, 5, 6, 7


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with everything right, copied for each wrong use."""
    folder = tmp_path_factory.mktemp("right")
    write_patients(folder)
    table = _columns(folder)
    schema = Schema.load(folder / "patients.yaml")
    model = EBMClassifier(epsilon=2, schema=schema, rounds=2).fit(*table)
    model.save(folder / "model.voile")
    Ledger(folder / "hospital.db", Budget(1.2, 1e-6), dataset="patients")
    newer = json.loads((folder / "model.voile").read_text())
    newer["format"] = 99
    (folder / "newer.voile").write_text(json.dumps(newer))
    (folder / "empty.csv").write_text("")
    (folder / "names-only.csv").write_text("age,ward,dose,ill\n")
    (folder / "garbage.csv").write_bytes(bytes(range(256)) * 40)
    (folder / "garbage.parquet").write_bytes(bytes(range(256)) * 40)
    (folder / "garbage.db").write_bytes(bytes(range(256)) * 40)
    (folder / "garbage.voile").write_bytes(bytes(range(256)) * 40)
    (folder / "list.voile").write_text("[1, 2]")
    (folder / "twice.csv").write_text("age,age,ill\n1,2,yes\n")
    (folder / "nameless.csv").write_text("age,,ill\n1,2,yes\n")
    (folder / "ragged.csv").write_text("age,ward,dose,ill\n" + "1,2\n" * 9)
    (folder / "notes.docx").write_text("age,ill\n")
    (folder / "wrong.yaml").write_text(
        (folder / "patients.yaml").read_text().replace("dose:", "height:")
    )
    (folder / "misspelt.yaml").write_text(
        (folder / "patients.yaml").read_text().replace("lower", "lowest")
    )
    (folder / "broken.yaml").write_text("voile_schema: 1\ncolumns: {age: [\n")
    (folder / "no-target.yaml").write_text(
        (folder / "patients.yaml").read_text().split("target:")[0]
    )
    (folder / "edits.yaml").write_text("- {do: monotone, term: age, directoin: up}\n")
    (folder / "code.yaml").write_text("!!python/object/apply:os.system ['touch owned']\n")
    joblib.dump({"a": 1}, folder / "box.joblib")
    with sqlite3.connect(folder / "other.db") as other:
        other.execute("CREATE TABLE shopping (item TEXT)")
    other.close()
    (folder / "file").write_text("")
    return folder


def _columns(folder):
    import pandas as pd

    table = pd.read_csv(folder / "patients.csv")
    return table[["age", "ward", "dose"]], table["ill"]


@pytest.fixture
def place(prepared, tmp_path, monkeypatch):
    for one in prepared.iterdir():
        (tmp_path / one.name).write_bytes(one.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


WRONG = {
    "no such file": (["train", "patient.csv", "--target", "ill"], USAGE, "check the path"),
    "unknown ending": (["train", "notes.docx", "--target", "ill"], USAGE, "Parquet"),
    "empty file": (["train", "empty.csv", "--target", "ill"], USAGE, "empty"),
    "names and no rows": (["train", "names-only.csv", "--target", "ill"], USAGE, "no rows"),
    "binary garbage as CSV": (["train", "garbage.csv", "--target", "ill"], USAGE, "not text"),
    "binary garbage as Parquet": (["train", "garbage.parquet", "--target", "ill"], USAGE, "no Par"),
    "a column twice": (["train", "twice.csv", "--target", "ill"], USAGE, "two columns 'age'"),
    "a column without a name": (["train", "nameless.csv", "--target", "ill"], USAGE, "no name"),
    "lines of another length": (["train", "ragged.csv", "--target", "ill"], USAGE, "4 fields"),
    "wrong target": (["train", "patients.csv", "--target", "il"], USAGE, "did you mean 'ill'"),
    "no target": (["train", "patients.csv"], USAGE, "--target"),
    "negative epsilon": ([*KEPT, "--epsilon", "-1"], USAGE, "epsilon"),
    "epsilon 0": ([*KEPT, "--epsilon", "0"], USAGE, "> 0"),
    "epsilon is no number": ([*KEPT, "--epsilon", "much"], USAGE, "--help"),
    "epsilon is not a number": ([*KEPT, "--epsilon", "nan"], USAGE, "epsilon"),
    "delta 0": ([*KEPT, "--delta", "0"], USAGE, "delta"),
    "delta 2": ([*KEPT, "--delta", "2"], USAGE, "delta"),
    "all rows held out": ([*KEPT, "--holdout", "1"], USAGE, "holdout"),
    "unknown column in the schema": (
        ["train", "patients.csv", "--target", "ill", "--schema", "wrong.yaml"],
        USAGE,
        "'height'",
    ),
    "misspelt key in the schema": (
        ["train", "patients.csv", "--target", "ill", "--schema", "misspelt.yaml"],
        USAGE,
        "lowest",
    ),
    "schema is no YAML": (
        ["train", "patients.csv", "--target", "ill", "--schema", "broken.yaml"],
        USAGE,
        "not valid YAML",
    ),
    "schema that would run code": (
        ["train", "patients.csv", "--target", "ill", "--schema", "code.yaml"],
        USAGE,
        "not valid YAML",
    ),
    "schema without a target": (
        ["train", "patients.csv", "--target", "ill", "--schema", "no-target.yaml"],
        USAGE,
        "says nothing of the target",
    ),
    "a number without a task": (["train", "patients.csv", "--target", "dose"], USAGE, "--task"),
    "prototypes of numbers": (
        ["train", "patients.csv", "--target", "dose", "--task", "regression", "--model", "glvq"],
        USAGE,
        "ebm",
    ),
    "unknown model": ([*KEPT, "--model", "forest"], USAGE, "ebm"),
    "unknown group": ([*KEPT, "--group", "sex"], USAGE, "'ward'"),
    "unknown option": ([*KEPT, "--epsylon", "1"], USAGE, "--help"),
    "unknown verb": (["tarin"], USAGE, "--help"),
    "unit that is no column": ([*KEPT, "--unit", "person"], USAGE, "patient_id"),
    "unwritable folder": ([*KEPT, "-o", "nowhere/m.voile"], FILES, "no such folder"),
    "output is a folder": ([*KEPT, "-o", "."], FILES, "folder"),
    "output below a file": ([*KEPT, "-o", "file/m.voile"], FILES, "folder"),
    "budget exhausted": ([*KEPT, "--epsilon", "5"], BUDGET, "Nothing was spent"),
    "ledger of another data set": ([*KEPT, "--dataset", "staff"], LEDGER, "'patients'"),
    "ledger is garbage": ([*TRAIN, "--ledger", "garbage.db"], LEDGER, "garbage.db"),
    "ledger with another budget": ([*KEPT, "--budget", "9"], LEDGER, "never enlarged"),
    "new ledger without a budget": ([*TRAIN, "--ledger", "new.db"], LEDGER, "--budget"),
    "budget without a ledger": ([*TRAIN, "--budget", "3"], LEDGER, "--ledger"),
    "ledger that is not there": (["ledger", "show", "none.db"], LEDGER, "ledger create"),
    "ledger made twice": (["ledger", "create", "hospital.db", "--epsilon", "9"], LEDGER, "already"),
    "ledger of a strange kind": (["ledger", "show", "mysql://x/y"], LEDGER, "PostgreSQL"),
    "model that is not there": (["explain", "none.voile"], MODEL, "check the path"),
    "model is garbage": (["explain", "garbage.voile"], MODEL, "cannot be read"),
    "model is something else": (["report", "list.voile"], MODEL, "list.voile"),
    "model of a newer version": (["predict", "newer.voile", "new.csv"], MODEL, "newer.voile"),
    "rows without a column": (["predict", "model.voile", "names-only.csv"], USAGE, "no rows"),
    "rows of another table": (["predict", "model.voile", "twice.csv"], USAGE, "two columns"),
    "edit of an unknown column": (
        ["edit", "model.voile", "--monotone", "agee", "--why", "w"],
        USAGE,
        "'age'",
    ),
    "edit without a reason": (["edit", "model.voile", "--drop", "age"], USAGE, "--why"),
    "edit with an unknown key": (
        ["edit", "model.voile", "--script", "edits.yaml"],
        USAGE,
        "directoin",
    ),
    "edit that would run code": (
        ["edit", "model.voile", "--script", "code.yaml"],
        USAGE,
        "not valid YAML",
    ),
    "a score without a value": (["edit", "model.voile", "--set", "age"], USAGE, "--value"),
    "black box without the flag": (
        ["explain", "--blackbox", "box.joblib", "--data", "patients.csv", "new.csv"],
        USAGE,
        "--run-code-of-the-blackbox",
    ),
    "black box that is no model": (
        [*BOX, "--data", "patients.csv", "--schema", "patients.yaml", "new.csv"],
        USAGE,
        "dict",
    ),
    "black box without private rows": (
        [*BOX, "new.csv"],
        USAGE,
        "--data",
    ),
    "report to nowhere": (["report", "model.voile", "-o", "nowhere/r.html"], FILES, "folder"),
    "quality that is none": (
        ["report", "model.voile", "--quality", "list.voile"],
        MODEL,
        "evaluation",
    ),
    "plan without a row count": (["plan", "--schema", "patients.yaml"], USAGE, "--rows"),
    "plan with a negative epsilon": (
        ["plan", "--schema", "patients.yaml", "--rows", "100", "--epsilons", "-1"],
        USAGE,
        "epsilon",
    ),
    "plan with negative rows": (
        ["plan", "patients.csv", "--target", "ill", "--rows", "-5", "--unit", "row"],
        USAGE,
        "from 1 to",
    ),
    "unknown data set": (["datasets", "fetch", "adlut"], USAGE, "adult"),
    "unknown benchmark": (["bench", "nothing"], USAGE, "nothing"),
    "audit of an unknown family": (["audit", "cores"], USAGE, "core"),
    "demo into a file": (["demo", "-o", "file"], FILES, "folder"),
    "demo with a negative epsilon": (["demo", "--epsilon", "-1"], USAGE, "epsilon"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_use_is_one_line_with_the_remedy(case, place, monkeypatch, capsys):
    arguments, code, remedy = WRONG[case]
    before = {one.name for one in place.iterdir()}
    done = run_voile(arguments, monkeypatch, capsys)
    assert done.code == code, done.err
    assert done.err.startswith("voile: ")
    assert len(done.err.strip().splitlines()) == 1
    assert remedy in done.err
    assert done.out == ""
    assert Ledger(place / "hospital.db").history() == ()
    assert {one.name for one in place.iterdir()} <= before | {"hospital.db-journal"}


def test_no_message_holds_a_private_value(place, monkeypatch, capsys):
    """A row that would break a careless reader: it is skipped, or missing, in silence."""
    secret = "Jane-Doe-1234"
    text = (place / "patients.csv").read_text()
    (place / "patients.csv").write_text(f'{text}1,{secret}\n2,"{secret}",A,{secret},yes\n')
    done = run_voile([*TRAIN, "--no-evaluate"], monkeypatch, capsys)
    assert done.code == 0, done.err
    assert secret not in done.out + done.err
    assert secret not in (place / "patients.voile").read_text()


def test_what_was_paid_for_a_search_in_vain_is_told(place, monkeypatch, capsys):
    """One class alone: nothing public says so, and looking for classes has its price."""
    text = (place / "patients.csv").read_text().replace(",yes", ",no")
    (place / "patients.csv").write_text(text)
    done = run_voile(
        ["train", "patients.csv", "--target", "ill", "--unit", "row", "--ledger", "hospital.db"],
        monkeypatch,
        capsys,
    )
    assert done.code == exit_codes.NOTHING == 8, done.err
    assert len([one for one in done.err.splitlines() if one.startswith("voile:")]) == 1
    assert "list the classes of the target in the schema" in done.err
    assert "stays paid" in done.err
    assert Ledger(place / "hospital.db").fraction_spent() > 0


def test_an_unforeseen_error_does_not_print_what_it_says(capsys):
    def fail():
        raise RuntimeError("row of Jane Doe")

    assert exit_codes.run(fail) == 70
    said = capsys.readouterr().err
    assert "Jane" not in said
    assert "VOILE_DEBUG" in said


def test_a_missing_extra_has_its_own_code(capsys):
    from voile.errors import MissingExtra

    def fail():
        raise MissingExtra("torch", "federated")

    assert exit_codes.run(fail) == EXTRA
    assert "voile[federated]" in capsys.readouterr().err


def test_a_full_disk_is_told(capsys):
    def fail():
        raise OSError(28, "No space left on device", "m.voile")

    assert exit_codes.run(fail) == FILES
    assert "No space left" in capsys.readouterr().err


def test_a_training_whose_quality_could_not_be_paid_is_refused_at_once(place, monkeypatch, capsys):
    """The ledger has room for the training but not for the estimate of quality after it."""
    from voile.privacy.calibrate import divide

    (place / "hospital.db").unlink()
    training, _ = divide(Budget(1.0, 1e-6), 9, 1)
    Ledger(place / "hospital.db", Budget(training.epsilon * 1.0005, 1e-6), dataset="patients")
    done = run_voile([*KEPT, "--epsilon", "1"], monkeypatch, capsys)
    assert done.code == BUDGET, done.err
    assert "--no-evaluate" in done.err
    assert Ledger(place / "hospital.db").history() == ()
    assert not (place / "patients.voile").exists()


def test_what_was_released_is_paid_and_kept_when_the_rest_is_refused(place, monkeypatch, capsys):
    """Somebody else spends what is left, while the training goes on."""
    save = EBMClassifier.save

    def save_and_be_late(self, *given, **named):
        save(self, *given, **named)
        ledger = Ledger(place / "hospital.db")
        loss = ledger.filter.limit.loss * (1 - ledger.fraction_spent())
        ledger.spend(Plan.of(a=Gaussian(noise_multiplier=1.01 / math.sqrt(loss))), "another job")

    monkeypatch.setattr(EBMClassifier, "save", save_and_be_late)
    done = run_voile([*KEPT, "--epsilon", "1", "--json"], monkeypatch, capsys)
    assert done.code == exit_codes.PAID == 9, done.err
    told = json.loads(done.out)
    assert told["quality"] is None
    assert "refused" in told["notes"][0]
    assert "The model is saved as 'patients.voile'" in done.err
    assert "voile ledger history hospital.db" in done.err
    assert (place / "patients.voile").exists()
    history = Ledger(place / "hospital.db").history()
    assert sum(entry.parent is None for entry in history) == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_training_says_so_and_keeps_book(place):
    """Ctrl-C after the payment: exit code 130, one line, no model, and the price in the ledger."""
    program = (
        "import os, signal, sys\n"
        # Tests in the background of a shell inherit a Ctrl-C that is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from voile.models.ebm import fit\n"
        "def stop(*_, **__):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while True: pass\n"
        "fit.train = stop\n"
        "from voile.cli.app import main\n"
        f"sys.argv = ['voile', *{KEPT!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 130
    assert done.stderr.startswith("voile: Interrupted")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (place / "patients.voile").exists()
    history = Ledger(place / "hospital.db").history()
    assert {entry.what for entry in history} == {"EBMClassifier.fit"}
    assert Ledger(place / "hospital.db").fraction_spent() > 0.3


def test_the_help_lists_every_exit_code():
    """The page of them is compared with the module in test_reference_pages.py."""
    from voile.cli.app import app

    told = re.findall(r"^    (\d+) ", exit_codes.__doc__, re.MULTILINE)
    assert re.findall(r"\b\d+\b", app.info.epilog) == told
