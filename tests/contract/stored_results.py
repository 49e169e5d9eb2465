"""What a job is, and the results that are kept of models and of records: files of text by name."""

import contextlib
import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from stored_insides import NoLedgerWarning, fixed_noise
from stored_text import as_json, read_page, settle

MODEL = "model.voile"
BITS, NEARLY = 1e-9, 1e-3
"""Relative tolerances: of sums of doubles in another order; of float32 on another machine."""


@dataclass(frozen=True)
class Job:
    """Something that is done under fixed noise, and told in text.

    ``run(folder)`` gives texts by the names of their files. With ``train`` it makes a model, which
    is asked about ``asked``; its file must load for ever. ``pages`` are told of some.
    """

    name: str
    run: Callable | None = None
    train: Callable | None = None
    asked: Callable | None = None
    pages: bool = False
    tolerance: float = BITS
    needs_torch: bool = False

    def results(self, folder):
        """Texts by the names of their files."""
        with calm(folder) as warned, fixed_noise(sum(self.name.encode())):
            if self.train is None:
                made = self.run(folder)
            else:
                made = describe_fit(self, self.train(), folder)
        told = [str(one.message) for one in warned if issubclass(one.category, UserWarning)]
        if told:
            made["warnings.txt"] = "\n".join(dict.fromkeys(told))
        return {
            name: text if name == MODEL else settle(text, folder.resolve(), folder)
            for name, text in made.items()
        }


@contextlib.contextmanager
def calm(folder):
    """A terminal of one width without colours, an empty folder, and warnings that are kept."""
    settings = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "LOGNAME": "somebody"}
    settings["XDG_CACHE_HOME"] = str(folder)
    before = Path.cwd()
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch("platform.node", return_value="somewhere"),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        # Whether it is told depends on what was done with the same rows before.
        warnings.simplefilter("ignore", NoLedgerWarning)
        for name in ("VOILE_KEY", "VOILE_DATA", "VOILE_DEBUG"):
            os.environ.pop(name, None)
        os.chdir(folder)
        try:
            yield warned
        finally:
            os.chdir(before)


def describe_fit(job, model, folder):
    """A fitted model: its file, its receipt, what it answers and how it explains itself."""
    place = model.save(folder / MODEL)
    return {
        MODEL: place.read_text(encoding="utf-8"),
        "receipt.json": model.receipt_.to_json(),
        "receipt.txt": str(model.receipt_),
        **({"card.txt": "\n".join(read_page(model._repr_html_()))} if job.pages else {}),
        **describe_answers(job, model, folder),
    }


def describe_answers(job, model, folder):
    """What a model says of rows and of itself; one from a file must say the same."""
    asked = job.asked()
    answers = {"classes": list(getattr(model, "classes_", []))}
    for name in ("predict", "predict_proba", "decision_function", "confidence"):
        if hasattr(model, name):
            answers[name] = np.asarray(getattr(model, name)(asked)).tolist()
    found = {"answers.json": as_json(answers)}
    if hasattr(model, "to_torch"):
        return found
    for name, record in {
        "global": model.explain_global(),
        "local": model.explain_local(asked),
    }.items():
        found |= describe_record(record, name, folder if job.pages else None)
    return found


def describe_record(record, name, folder):
    """A record as JSON, in print, in a terminal, and its page (unless there is no folder)."""
    found = {}
    if hasattr(record, "to_json"):
        found[f"{name}.json"] = record.to_json()
    elif hasattr(record, "to_dict"):
        found[f"{name}.json"] = as_json(record.to_dict())
    if hasattr(type(record), "from_json"):
        again = type(record).from_json(found[f"{name}.json"])
        assert again.to_json() == found[f"{name}.json"], "a record is read back as it was"
    found[f"{name}.txt"] = str(record)
    if folder is None:
        return found
    if hasattr(record, "show"):
        found[f"{name}.terminal.txt"] = printed(record.show)
    if hasattr(record, "to_html"):
        found |= describe_page(record.to_html(folder / f"{name}.html"), name)
    return found


def describe_page(path, name):
    """The words of a page, and the numbers behind its figures."""
    text, figures = read_page(path.read_text(encoding="utf-8"))
    return {f"{name}.page.txt": text, f"{name}.figures.txt": figures}


def printed(act):
    """What something writes to the terminal."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        act()
    return out.getvalue()
