"""Paid results outlive a full disk, a closed stream, a lost ledger; earlier files outlive all."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading

import joblib
import pytest
from command_line import run_voile, write_patients

from voile import Ledger, load
from voile.cli import exit_codes
from voile.cli.account import current

TRAIN = ["train", "patients.csv", "--target", "ill", "--schema", "patients.yaml", "-o", "m.voile"]
PAID = exit_codes.PAID
posix = pytest.mark.skipif(sys.platform == "win32", reason="links, devices and signals of POSIX")


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with made-up patients."""
    write_patients(tmp_path, rows=300)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(*arguments, code=0):
        done = run_voile(arguments, monkeypatch, capsys)
        assert done.code == code, done.err
        return done

    run.folder = tmp_path
    return run


def fail_to_replace(monkeypatch, *endings):
    """No file whose name ends so can be put into its place any more."""
    real = os.replace

    def replace(source, target, **named):
        if str(target).endswith(endings):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target, **named)

    monkeypatch.setattr(os, "replace", replace)


def train_earlier(go):
    go(*TRAIN, "--no-evaluate")
    return (go.folder / "m.voile").read_bytes()


# -- train ----------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_written_is_saved_beside(go, monkeypatch):
    earlier = train_earlier(go)
    fail_to_replace(monkeypatch, "m.voile")
    done = go(*TRAIN, "--ledger", "l.db", "--budget", "2", "--json", code=PAID)
    saved = go.folder / "m.saved.voile"
    assert f"The model is saved as {str(saved)!r}" in done.err
    assert "No space left" in done.err
    assert "voile ledger history l.db" in done.err
    told = json.loads(done.out)
    assert told["model"] == str(saved)
    assert load(saved).receipt_.entry in {one.id for one in Ledger("l.db").history()}
    # Its quality, which only this command could measure, goes with it.
    assert json.loads((go.folder / "m.saved.quality.json").read_text()) == told["quality"]
    assert (go.folder / "m.voile").read_bytes() == earlier
    assert not (go.folder / "m.voile.bak").exists()
    assert not list(go.folder.glob(".voile-*"))


def test_a_ledger_that_goes_between_training_and_evaluation_costs_no_model(go, monkeypatch):
    from voile import EBMClassifier

    save = EBMClassifier.save

    def save_and_lose(self, *given, **named):
        save(self, *given, **named)
        (go.folder / "l.db").rename(go.folder / "gone.db")

    monkeypatch.setattr(EBMClassifier, "save", save_and_lose)
    done = go(*TRAIN, "--ledger", "l.db", "--budget", "2", code=PAID)
    assert "does not answer (the file is gone)" in done.err
    assert "The model is saved as 'm.voile'" in done.err
    assert "Spent in all: epsilon (not known) of 2" in done.out
    history = Ledger("gone.db").history()
    assert sum(entry.parent is None for entry in history) == 1
    assert load("m.voile").receipt_.entry in {entry.id for entry in history}


@pytest.mark.parametrize("kind", ["glvq", "locally-linear"])
def test_a_ledger_that_goes_while_it_is_trained_costs_no_model(go, monkeypatch, kind):
    """Prototypes give back what they did not use when they are done: that may fail."""
    from voile.models.locally_linear import fit as maps
    from voile.models.lvq import fit as lvq

    module, name = (lvq, "train") if kind == "glvq" else (maps, "train")
    real = getattr(module, name)

    def train_and_lose(*given, **named):
        trained = real(*given, **named)
        (go.folder / "l.db").rename(go.folder / "gone.db")
        return trained

    monkeypatch.setattr(module, name, train_and_lose)
    done = go(*TRAIN, "--model", kind, "--ledger", "l.db", "--budget", "2", code=PAID)
    assert "The model is saved as 'm.voile'" in done.err
    assert load("m.voile").receipt_.entry in {entry.id for entry in Ledger("gone.db").history()}


@posix
def test_a_link_to_a_model_stays_one(go):
    (go.folder / "models").mkdir()
    (go.folder / "m.voile").symlink_to("models/real.voile")
    go(*TRAIN, "--no-evaluate")
    first = (go.folder / "models" / "real.voile").read_bytes()
    go(*TRAIN, "--no-evaluate")
    assert (go.folder / "m.voile").is_symlink()
    assert (go.folder / "models" / "real.voile.bak").read_bytes() == first
    assert (go.folder / "models" / "real.voile").read_bytes() != first


@posix
def test_a_device_is_not_replaced(go):
    done = go(*TRAIN[:-1], "/dev/null", "--ledger", "l.db", "--budget", "2", code=7)
    assert "no file that can be replaced" in done.err
    assert not (go.folder / "l.db").exists()


@posix
@pytest.mark.parametrize(
    ("options", "streams"), [("--json", ">&- 2>&- <&-"), ("--json", ">/dev/full"), ("", ">&-")]
)
def test_closed_and_full_streams_cost_no_model(go, options, streams):
    command = f'exec "$@" {options} {streams}'
    words = [sys.executable, "-m", "voile", *TRAIN, "--no-evaluate"]
    done = subprocess.run(
        ["sh", "-c", command, "sh", *words], capture_output=True, text=True, check=False
    )
    full = streams == ">/dev/full"
    assert done.returncode == (PAID if full else 0), done.stderr
    assert ("The model is saved as 'm.voile'" in done.stderr) == full
    assert load("m.voile")


@posix
def test_a_request_to_end_after_the_training_waits_for_the_model(go, monkeypatch):
    from voile import EBMClassifier

    describe = EBMClassifier._describe

    def be_asked_to_end(self, *given):
        os.kill(os.getpid(), signal.SIGTERM)
        describe(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(EBMClassifier, "_describe", be_asked_to_end)
        done = go(*TRAIN, "--ledger", "l.db", "--budget", "2", code=130)
    assert done.err.startswith("voile: Interrupted. What was paid stays paid")
    assert "The model is saved as 'm.voile'" in done.err
    assert load("m.voile").receipt_.entry in {one.id for one in Ledger("l.db").history()}


# -- other verbs ----------------------------------------------------------------------------------


def test_a_page_that_is_paid_for_is_saved_beside_and_told(go, monkeypatch):
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    table = pd.read_csv("patients.csv")
    joblib.dump(LogisticRegression().fit(table[["age", "dose"]], table["ill"]), "box.joblib")
    (go.folder / "asked.csv").write_text("age,dose\n70,1\n")
    ask = ["explain", "--blackbox", "box.joblib", "--run-code-of-the-blackbox", "asked.csv"]
    ask += ["--data", "patients.csv", "--schema", "patients.yaml", "-o", "why.html", "--json"]
    fail_to_replace(monkeypatch, "why.html")
    done = go(*ask, code=PAID)
    assert json.loads(done.out)["values"]
    assert "no --ledger keeps it" in done.err
    assert "The page is saved as" in done.err
    assert "<html" in (go.folder / "why.saved.html").read_text()


@pytest.mark.parametrize("verb", ["explain", "report", "edit", "predict", "plan", "schema"])
def test_what_costs_nothing_leaves_the_old_file_and_says_so(go, monkeypatch, verb):
    train_earlier(go)
    given = {
        "explain": ["m.voile", "-o", "x.html"],
        "report": ["m.voile", "-o", "x.html"],
        "edit": ["m.voile", "--drop", "dose", "--why", "w", "-o", "x.voile"],
        "predict": ["m.voile", "new.csv", "-o", "x.voile"],
        "plan": ["--schema", "patients.yaml", "--rows", "1000", "-o", "x.html"],
        "schema": ["patients.csv", "--no-ask", "-o", "x.yaml"],
    }[verb]
    place = go.folder / given[-1]
    place.write_text("old")
    fail_to_replace(monkeypatch, given[-1])
    done = go(verb, *given, code=7)
    assert "No space left" in done.err
    assert place.read_text() == "old"
    assert not list(go.folder.glob(".voile-*"))


def test_an_edit_keeps_another_model_that_was_in_its_place(go):
    train_earlier(go)
    other = (go.folder / "m.voile").read_bytes()
    go(*TRAIN[:-1], "x.voile", "--no-evaluate")
    place, kept = go.folder / "x.voile", go.folder / "x.voile.bak"
    before = place.read_bytes()
    done = go("edit", "m.voile", "--drop", "dose", "--why", "w", "-o", "x.voile")
    assert "kept as" in done.out
    assert kept.read_bytes() == before
    assert (go.folder / "m.voile").read_bytes() == other
    go("edit", "x.voile", "--undo", "-o", str(place))  # itself: the history is inside
    assert not (go.folder / "x.voile.bak2").exists()


class Refuted:
    """A report of an audit that refuted a claim."""

    broken = True

    def __init__(self, error):
        self._error = error

    def show(self):
        pass

    def to_json(self):
        return "{}"

    def to_html(self, _path):
        raise self._error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), BrokenPipeError(32, "enough")])
def test_a_refuted_claim_is_told_whatever_can_be_written(go, monkeypatch, error):
    monkeypatch.setattr("voile.audit.trials.catalogue.self_audit", lambda *_, **__: Refuted(error))
    done = go("audit", "core", "-o", "page.html", code=exit_codes.REFUTED)
    assert ("full" in done.err) == (error.errno == errno.ENOSPC)


# -- codes ----------------------------------------------------------------------------------------


def test_an_unforeseen_error_is_no_refuted_claim_where_it_is_shown(monkeypatch, capsys):
    def fail():
        raise RuntimeError("row of Jane Doe")

    monkeypatch.setenv("VOILE_DEBUG", "1")
    assert exit_codes.run(fail) == exit_codes.FAULT
    assert "Jane" in capsys.readouterr().err


def test_the_same_error_has_another_code_after_a_payment(capsys):
    from voile import Budget
    from voile.errors import DataError
    from voile.privacy.events import Gaussian, Plan

    ledger = Ledger(Budget(8, 1e-6))

    def fail(spends):
        current().pay_from(ledger, "postgresql://me:secret@host/db")
        if spends:
            ledger.spend(Plan.of(a=Gaussian(noise_multiplier=100)), "job")
        raise DataError("The table is wrong.")

    assert exit_codes.run(lambda: fail(False)) == exit_codes.USAGE
    assert "paid" not in capsys.readouterr().err
    assert exit_codes.run(lambda: fail(True)) == PAID
    told = capsys.readouterr().err
    assert "What was paid stays paid: see voile ledger history URL." in told
    assert "secret" not in told


@pytest.fixture
def heard():
    """Ctrl-C is heard, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupts_wait_only_while_something_must_be_saved(heard):
    done = []

    def command():
        with exit_codes.saving_first(lambda: bool(done)):
            done.append(1)
            signal.raise_signal(signal.SIGINT)
            done.append(2)  # it waits until here
        done.append(3)

    assert exit_codes.run(command) == exit_codes.INTERRUPTED
    assert done == [1, 2]
    before = signal.getsignal(signal.SIGINT)
    assert exit_codes.run(lambda: signal.raise_signal(signal.SIGINT)) == exit_codes.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before


def test_a_command_in_a_thread_leaves_signals_alone():
    codes = []
    thread = threading.Thread(target=lambda: codes.append(exit_codes.run(lambda: 0)))
    thread.start()
    thread.join()
    assert codes == [0]
