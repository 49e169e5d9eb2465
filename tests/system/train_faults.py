"""Trainings by the command whose ledger, disk or process fails at a chosen instant.

Instants are calls that are counted, never seconds: the same fault hits the same place on any
machine. Each training runs in a process forked from this script, with a folder of its own.

    python train_faults.py FOLDER FAULT...       what is wrong after each, and how it ended
    python train_faults.py FOLDER                how many calls a training makes
"""

import errno
import io
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from command_line import write_patients

LEDGER = "../ledger/l.db"
TRAIN = ["voile", "train", "patients.csv", "--target", "ill", "--schema", "patients.yaml"]
TRAIN += ["-o", "m.voile", "--ledger", LEDGER, "--epsilon", "0.5", "--json"]
CODES = {0, 9, 130}
"""How a training may end whose use was right and whose ledger was there at first: or with 3 to 7,
if nothing was paid."""

REAL = {
    name: getattr(os, name)
    for name in ("fsync", "replace", "rename", "link", "mkdir", "chmod", "unlink", "rmdir")
}
REAL_OPEN = io.open


@dataclass(frozen=True)
class Fault:
    """What fails, at the how-manieth call, and how.

    Attributes
    ----------
    kind : str
        - "disk": calls of the system about files fail, from that one on ("lasts") or once ("once"),
          in the folder of the model ("here") or in every folder ("everywhere"); "full" opens files
          that take no byte;
        - "gone": the folder of the model is gone before that call;
        - "ledger": a transaction fails "before" or "after" it is made, or the file is "gone";
        - "kill": the process dies at that call of the system about files;
        - "death": it dies at that call of any function; "SIGINT", "SIGTERM": it is asked to end.
    at : int
    how : str
    """

    kind: str
    at: int
    how: str = ""

    @classmethod
    def read(cls, text):
        kind, at, *how = text.split(":")
        return cls(kind, int(at), *how)

    def __str__(self):
        return f"{self.kind}:{self.at}:{self.how}"


def main_verb(arguments):
    """Run the command as a shell would; its exit code."""
    from voile.cli import app

    sys.argv = arguments
    try:
        app.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    raise AssertionError("the command did not end")


# -- faults ---------------------------------------------------------------------------------------


def count_disk_calls(strike):
    """Have ``strike(number, path)`` called before each call of the system that changes a file."""
    numbers = itertools.count(1)

    def watched(name):
        def call(path, *others, **named):
            strike(next(numbers), path)
            return REAL[name](path, *others, **named)

        return call

    def open_watched(file, mode="r", *others, **named):
        if set(mode) & set("wax+"):
            instead = strike(next(numbers), file)
            file = file if instead is None else instead
        return REAL_OPEN(file, mode, *others, **named)

    for name in REAL:
        setattr(os, name, watched(name))
    io.open = open_watched


def strike_disk(fault):
    here = str(Path.cwd())

    def strike(number, path):
        if number < fault.at or (number > fault.at and "once" in fault.how):
            return None
        if str(path).startswith("/dev/fd/"):
            return None  # a pipe is on no disk
        # A number is the handle of a file that was opened there.
        inside = isinstance(path, int) or str(Path(path).absolute()).startswith(here)
        if "everywhere" not in fault.how and not inside:
            return None
        if "full" in fault.how and "open" in sys._getframe(1).f_code.co_name:
            return "/dev/full"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    count_disk_calls(strike)


def strike_folder(fault):
    here = str(Path.cwd())

    def strike(number, _path):
        if number == fault.at:
            REAL["rename"](here, f"{here}-gone")

    count_disk_calls(strike)


def strike_ledger(fault):
    from voile.privacy.ledger.sql import SqlBook

    numbers, real = itertools.count(1), SqlBook._transaction

    def transaction(self, work):
        number = next(numbers)
        if number < fault.at or (number > fault.at and "once" in fault.how):
            return real(self, work)
        if "gone" in fault.how:
            if number == fault.at:
                REAL["rename"](LEDGER, f"{LEDGER}-gone")
            return real(self, work)
        if "after" in fault.how:
            real(self, work)
        raise self._unavailable(OSError(errno.EIO, "disk I/O error"))

    SqlBook._transaction = transaction


def strike_process(fault):
    if fault.kind == "kill":

        def strike(number, _path):
            if number == fault.at:
                os.kill(os.getpid(), signal.SIGKILL)

        count_disk_calls(strike)
        return
    number = signal.SIGKILL if fault.kind == "death" else getattr(signal, fault.kind)
    left = itertools.count(fault.at, -1)

    def watch(_frame, event, _function):
        if event.endswith("call") and next(left) == 0:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    sys.setprofile(watch)


STRIKES = {"disk": strike_disk, "gone": strike_folder, "ledger": strike_ledger}


# -- one training ---------------------------------------------------------------------------------


def prepare(folder):
    """A folder with a table, an earlier model, its quality, and a ledger that paid for them."""
    from voile import Budget, Ledger

    (folder / "work").mkdir(parents=True)
    (folder / "ledger").mkdir()
    os.chdir(folder / "work")
    write_patients(folder / "work", rows=200)
    Ledger(LEDGER, Budget(3, 1e-6), dataset="patients")
    shorten_training()
    with Path(os.devnull).open("w") as nowhere:
        out, sys.stdout = sys.stdout, nowhere
        code = main_verb(TRAIN)
        sys.stdout = out
    assert code == 0


def shorten_training():
    """Two rounds instead of twenty: the places where a fault may strike are the same."""
    from voile.cli import train

    build = train.build_estimator
    train.build_estimator = lambda *given, **more: build(*given, **more).set_params(rounds=2)


def train_and_fail(fault, case):
    """In a forked process: one training with one fault; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            os.chdir(case / "work")
            for name in ("home", "tmp"):
                (case / name).mkdir()
            os.environ["HOME"], tempfile.tempdir = str(case / "home"), str(case / "tmp")
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(case / name, os.O_WRONLY | os.O_CREAT), number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            mark_the_end_of_training(os.open(case / "trained", os.O_WRONLY | os.O_CREAT))
            STRIKES.get(fault.kind, strike_process)(fault)
            code = main_verb(TRAIN)
            sys.setprofile(None)
            os._exit(code)
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def mark_the_end_of_training(handle):
    """Write a byte as soon as the estimator has its model, and another when that is saved."""
    from voile import EBMClassifier
    from voile.cli import results

    describe, save = EBMClassifier._describe, results.Results._save_model

    def describe_and_mark(self, *given):
        os.write(handle, b"t")
        return describe(self, *given)

    def save_and_mark(self, estimator):
        save(self, estimator)
        os.write(handle, b"s")

    EBMClassifier._describe = describe_and_mark
    results.Results._save_model = save_and_mark


# -- what must be true then -----------------------------------------------------------------------


def find_wrongs(fault, case, code, before):
    """Everything that is not as documented after a training."""
    from voile import Ledger, load

    out, err = (case / "out").read_text(), (case / "err").read_text()
    marks = (case / "trained").read_text()
    place = case / "ledger" / "l.db"
    entries = Ledger(place if place.exists() else f"{place}-gone").history()
    # Jobs: a training is set aside and charged in parts.
    paid = sum(entry.parent is None for entry in entries) - before["jobs"]
    work = case / "work" if (case / "work").exists() else case / "work-gone"
    ids = {entry.id for entry in entries}
    killed = code < 0
    wrong = []

    def demand(truth, what):
        if not truth:
            wrong.append(what)

    def read(path):
        return load(path).receipt_.entry

    # Under its name is the whole old file or the whole new one.
    new = (work / "m.voile").read_bytes() != before["model"]
    demand(read(work / "m.voile") in ids, "the model is of no entry")
    if new:
        demand((work / "m.voile.bak").read_bytes() == before["model"], "the earlier model is lost")
        demand((work / "m.quality.json.bak").read_bytes() == before["quality"], "quality lost")
    if (work / "m.quality.json").exists():
        json.loads((work / "m.quality.json").read_text())

    if killed:
        demand(fault.kind in ("kill", "death"), "it was killed")
        demand(new == ("s" in marks) or fault.kind in ("kill", "death"), "killed before the saving")
        demand(new or "s" not in marks, "the saved model is not there")
        return wrong, paid, new
    demand(code in CODES or (3 <= code <= 7 and not paid), f"code {code}, {paid} entries")
    demand((code == 0) == (err == ""), "a failure is told, and nothing else")
    if code:
        demand(err.startswith("voile: ") and err.count("\n") == 1, "it is not told in one line")
    demand(paid or code, "done, and not paid")
    if paid and code:
        demand("paid stays paid" in err, "it does not say that something was paid")
    if code == 0:
        demand(new and paid == 2, "done, and something is missing")
        quality = json.loads((work / "m.quality.json").read_text())
        demand(quality["entry"] == read(work / "m.voile"), "the quality is of another model")
    if paid and "t" in marks:
        demand(find_model(out, err, case, work, read) in ids - before["ids"], "no model is named")
    if code == 130:
        demand(fault.kind.startswith("SIG"), "nobody interrupted it")
    return wrong, paid, new


def find_model(out, err, case, work, read):
    """The entry of the model that the messages name."""
    if "The model is printed" in err:
        text, _ = json.JSONDecoder().raw_decode(out)
        (case / "printed.voile").write_text(json.dumps(text))
        return read(case / "printed.voile")
    named = re.search(r"The model is saved as '([^']+)'", err)
    place = Path(named[1] if named else json.loads(out)["model"])
    return read(place if place.is_absolute() and place.exists() else work / place.name)


def count_calls(base):
    """How many calls of each kind a training without a fault makes."""
    from voile.privacy.ledger.sql import SqlBook

    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(base / "work")
            seen, real = Counter(), SqlBook._transaction
            count_disk_calls(lambda _number, _path: seen.update(["disk"]))
            sys.stdout = io.StringIO()

            def transaction(*given):
                seen["ledger"] += 1
                # The first that come only open and access: the last of them is before the payment.
                seen[f"transaction {seen['ledger']}"] = seen["any"]
                return real(*given)

            SqlBook._transaction = transaction

            def watch(_frame, event, _function):
                if event.endswith("call"):
                    seen["any"] += 1

            sys.setprofile(watch)
            main_verb(TRAIN)
            sys.setprofile(None)
            os.write(into, json.dumps(seen).encode())
        finally:
            os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    return json.loads(os.read(out, 2**16))


def run_faults(folder, texts):
    """Train once with each fault; everything that is wrong, and how they ended."""
    from voile import Ledger

    base = Path(folder) / "base"
    prepare(base)
    entries = Ledger(base / "ledger" / "l.db").history()
    before = {
        "jobs": sum(entry.parent is None for entry in entries),
        "ids": {entry.id for entry in entries},
        "model": (base / "work" / "m.voile").read_bytes(),
        "quality": (base / "work" / "m.quality.json").read_bytes(),
    }
    wrong, ends = {}, Counter()
    for number, text in enumerate(texts):
        case = Path(folder) / f"case-{number}"
        shutil.copytree(base, case)
        code = train_and_fail(Fault.read(text), case)
        try:
            found, paid, new = find_wrongs(Fault.read(text), case, code, before)
        except Exception as error:
            found, paid, new = [f"{type(error).__name__}: {error}"], 0, False
        if found:
            wrong[text] = [*found, code, (case / "err").read_text()]
        ends[f"{code} paid {paid} {'new' if new else 'old'}"] += 1
        os.chdir(base)
        shutil.rmtree(case)
    return {"wrong": wrong, "ends": ends, "calls": count_calls(base)}


if __name__ == "__main__":
    place, *wanted = sys.argv[1:]
    if wanted:
        print(json.dumps(run_faults(place, wanted)))
    else:
        prepare(Path(place) / "base")
        print(json.dumps(count_calls(Path(place) / "base")))
