"""Typical misuse of the public names, and of the command: what is said is stored."""

import contextlib
import io
import json
import math
import runpy
import sys
from pathlib import Path
from unittest import mock

import numpy as np
from stored_results import Job
from stored_tables import (
    A_NUMBER,
    FEATURES,
    PIXELS,
    THREE_CLASSES,
    TWO_CLASSES,
    two_classes,
)
from stored_text import read_page

import voile
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
    PrivateExplainer,
    Receipt,
    Schema,
    Unit,
    forecast,
    hold_out,
    protect,
    summarize,
)

X, Y = two_classes(60)
ROWS = np.linspace(0.0, 1.0, 60).reshape(-1, 2)
NUMBERS = Schema({"a": Number(0, 1), "b": Number(0, 1)})
_fitted = []


def fit(estimator=EBMClassifier, schema=TWO_CLASSES, table=None, **settings):
    return estimator(schema=schema, **settings).fit(*(table or (X, Y)))


def trained():
    """A small model, trained once."""
    if not _fitted:
        _fitted.append(fit(rounds=2, epsilon=4.0, random_state=0))
    return _fitted[0]


def explain(**given):
    settings = {"schema": NUMBERS, "epsilon": 1.0, **given}
    return PrivateExplainer(lambda rows: rows[:, 0] * 2 - 1, ROWS, **settings)


def federate(**terms):
    parts = [(X, Y), (X, Y)]
    return Federation.local(parts, terms.pop("schema", TWO_CLASSES), **terms)


def without(name):
    return {key: column for key, column in X.items() if key != name}


SCHEMAS = {
    "bounds the wrong way": lambda: Number(5, 1),
    "one bound": lambda: Number(0),
    "a bound that is text": lambda: Number("0", 1),
    "an infinite bound": lambda: Number(0, math.inf),
    "a level twice": lambda: Category(["a", "a"]),
    "levels that are text": lambda: Category("abc"),
    "a column that is no column": lambda: Schema({"a": 3}),
    "a target that is no column": lambda: Schema(FEATURES, target="ill"),
    "negative rows": lambda: Schema(FEATURES, rows=-1),
    "a unit that is a feature": lambda: Schema(FEATURES, unit=Unit("age")),
    "a unit of no rows": lambda: Unit("who", rows=0),
    "a schema from wrong data": lambda: Schema.from_dict({"columns": []}),
    "a schema that is not there": lambda: Schema.load("none.yaml"),
}
BUDGETS = {
    "negative epsilon": lambda: Budget(-1, 1e-6),
    "epsilon that is text": lambda: Budget("1", 1e-6),
    "epsilon that is no number": lambda: Budget(math.nan, 1e-6),
    "delta of one": lambda: Budget(1, 1.0),
    "a ledger without a budget": lambda: Ledger(),
    "a ledger that is not there": lambda: Ledger("none.db"),
    "a ledger of a strange kind": lambda: Ledger("mysql://x/y", Budget(1, 1e-6)),
    "a ledger with another budget": lambda: [
        Ledger("book.db", Budget(1, 1e-6)),
        Ledger("book.db", Budget(2, 1e-6)),
    ],
    "a job above the budget": lambda: summarize(
        X, epsilon=2, schema=Schema(FEATURES), ledger=Ledger(Budget(1, 1e-6))
    ),
    "a fit above the budget": lambda: fit(epsilon=3, ledger=Ledger(Budget(1, 1e-6))),
    "no noise from a limited ledger": lambda: fit(epsilon=math.inf, ledger=Ledger(Budget(1, 1e-6))),
    "a receipt from wrong data": lambda: Receipt.from_dict({"format": 1}),
    "a receipt that is no JSON": lambda: Receipt.from_json("{"),
}
FITS = {
    "negative epsilon": lambda: fit(epsilon=-1),
    "no target": lambda: EBMClassifier().fit(X),
    "a target that is a number": lambda: fit(schema=A_NUMBER),
    "a target that is a category": lambda: fit(EBMRegressor),
    "a column that is not there": lambda: fit(table=(without("dose"), Y)),
    "targets of another length": lambda: fit(table=(X, Y[:-1])),
    "one dimension": lambda: EBMClassifier().fit(np.arange(5.0), np.arange(5) % 2),
    "an unknown method": lambda: fit(method="trees"),
    "no rounds": lambda: fit(rounds=0),
    "one bin": lambda: fit(bins=1),
    "an order of an unknown column": lambda: fit(monotone={"agee": "increasing"}),
    "an unknown order": lambda: fit(monotone={"age": "up and down"}),
    "people without their column": lambda: fit(
        schema=Schema(dict(TWO_CLASSES), target=TWO_CLASSES.target, unit=Unit("who"))
    ),
    "prototypes of an unknown mechanism": lambda: fit(GLVQClassifier, mechanism="laplace"),
    "no prototypes": lambda: fit(GLVQClassifier, prototypes_per_class=0),
    "a metric of averages": lambda: fit(GMLVQClassifier, mechanism="sample_aggregate"),
    "a gradient without a cost": lambda: fit(LVQ1Classifier, mechanism="sgd"),
    "more groups than rows bear": lambda: fit(GLVQClassifier, mechanism="center_of_attention"),
    "an unknown preset": lambda: fit(LocallyLinearClassifier, preset="pretty"),
    "no maps": lambda: fit(LocallyLinearClassifier, maps=0),
    "pictures of another size": lambda: fit(
        LocallyLinearClassifier, PIXELS, (np.zeros((60, 64)), ["lying"] * 60), image_shape=(3, 3)
    ),
    "a teacher without a receipt": lambda: LocallyLinearClassifier().learn_from(object()),
    "no bins of a summary": lambda: summarize(X, schema=Schema(FEATURES), bins=0),
    "a summary of nothing": lambda: summarize({}),
    "all rows held out": lambda: hold_out(ROWS, share=1.0),
    "people held out without a column": lambda: hold_out(X, Y, unit="who"),
    "protected twice": lambda: summarize(protect(X, schema=Schema(FEATURES)), schema=NUMBERS),
}
MODELS = {
    "not fitted": lambda: EBMClassifier().predict(X),
    "rows without a column": lambda: trained().predict(without("age")),
    "classes that cannot be found": lambda: EBMClassifier(schema=None).fit(ROWS, np.arange(30) % 2),
    "an edit of an unknown column": lambda: trained().edit("me").monotone("agee"),
    "an edit out of its range": lambda: trained().edit("me").set("age", 1.0, between=(200, 300)),
    "an edit of an unknown level": lambda: trained().edit("me").set("ward", 1.0, levels=["Q"]),
    "nothing to undo": lambda: trained().edit("me").undo(),
    "a group that is no category": lambda: trained().score_private(X, Y, groups=["age"]),
    "a confidence of one": lambda: trained().score_private(X, Y, confidence=1.0),
    "a file into nowhere": lambda: trained().save("nowhere/model.voile"),
    "a file that is not there": lambda: voile.load("none.voile"),
    "a file that is garbage": lambda: voile.load(_garbage()),
    "a file of a later version": lambda: voile.load(_changed("format", 99)),
    "a file of another kind": lambda: voile.load(_changed("kind", "voile tree")),
    "a file without its receipt": lambda: voile.load(_changed("receipt", None)),
    "a forecast without rows": lambda: forecast(TWO_CLASSES),
    "a forecast of an unknown model": lambda: forecast(TWO_CLASSES, rows=100, model="tree"),
    "a forecast without a target": lambda: forecast(Schema(FEATURES), rows=100),
    "a forecast at no epsilon": lambda: forecast(TWO_CLASSES, rows=100, epsilons=[]),
}
OTHERS = {
    "a black box that is none": lambda: PrivateExplainer(3, ROWS, schema=NUMBERS),
    "an unknown strategy": lambda: explain(strategy="guess"),
    "questions that are not shared": lambda: explain(strategy="adaptive"),
    "an unknown weight": lambda: explain(weight="triangle"),
    "a name that is empty": lambda: explain(name=""),
    "a row of another width": lambda: explain().explain_slopes([[1.0]]),
    "no summary": lambda: explain(strategy="release", queries=3).summary_,
    "another model for another price": lambda: explain().with_model(None, epsilon=3),
    "an unknown trust": lambda: federate(trust="everybody"),
    "a federation without a target": lambda: federate(schema=Schema(FEATURES)),
    "a federation without a schema": lambda: federate(schema=None),
    "all clients may be missing": lambda: federate(trust="shares", dropouts=2),
    "another schema than agreed": lambda: EBMClassifier(schema=THREE_CLASSES).fit_federated(
        federate()
    ),
    "numbers of a federation of classes": lambda: EBMRegressor().fit_federated(federate()),
    "too few canaries": lambda: voile.audit.one_run(sorted, [0.5], [1.0, 2.0]),
    "an unknown family of trials": lambda: voile.audit.self_audit(["cores"]),
    "a name that does not exist": lambda: voile.EBM,
}


def _garbage():
    path = Path("garbage.voile")
    path.write_text("[1, 2", encoding="utf-8")
    return path


def _changed(field, value):
    path = trained().save("changed.voile")
    data = json.loads(path.read_text(encoding="utf-8"))
    data[field] = value
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def misuse(cases, folder):
    """What every wrong call says."""
    told = []
    for name, call in cases.items():
        try:
            call()
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        else:
            said = "nothing is wrong"
        told.append(f"## {name}\n{said}\n")
    return {"errors.txt": "\n".join(told)}


# -- the command -----------------------------------------------------------------------------------

SCHEMA = """voile_schema: 1
columns:
  age: {kind: number, lower: 0, upper: 120}
  ward: {kind: category, levels: [A, B, C]}
  dose: {kind: number, lower: 0, upper: 10}
target: {kind: category, levels: ['no', 'yes']}
unit: row
"""
TRAIN = "train patients.csv --target ill --schema patients.yaml"


def tables(folder):
    """A table and what goes with it, in the current folder."""
    lines = ["patient_id,age,ward,dose,ill"]
    for i in range(300):
        age = 18 + (i * 37) % 78
        ill = "yes" if (i * 7919) % 120 < age else "no"
        lines.append(f"{i},{age},{'ABC'[i % 3]},{(i * 13 % 1000) / 100},{ill}")
    given = {
        "patients.csv": "\n".join(lines) + "\n",
        "new.csv": "age,ward,dose\n71,B,3.5\n20,A,\n50,Z,9\n",
        "patients.yaml": SCHEMA,
        "misspelt.yaml": SCHEMA.replace("lower", "lowest"),
        "edits.yaml": "- {do: monotone, term: age, directoin: up}\n",
        "twice.csv": "age,age,ill\n1,2,yes\n",
        "empty.csv": "",
        "list.voile": "[1, 2]",
    }
    for name, text in given.items():
        (folder / name).write_text(text, encoding="utf-8")


def command(line):
    """What a command prints, says beside it, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["voile", *line.split()]),
        # Usage names the command by how this process was started, which is not asked here.
        mock.patch.object(sys.modules["__main__"], "__package__", None, create=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_module("voile", run_name="__main__")
        except SystemExit as ended:
            code = ended.code or 0
    said = f"-- beside it\n{err.getvalue()}" if err.getvalue().strip() else ""
    return f"$ voile {line}\n{out.getvalue()}{said}-- exit code {code}\n"


def commands(lines, folder):
    tables(folder)
    found = {"terminal.txt": "\n".join(command(line) for line in lines)}
    for page in sorted(folder.glob("*.html")):
        found[f"{page.stem}.page.txt"] = read_page(page.read_text(encoding="utf-8"))[0]
    return found


TOUR = [
    "schema patients.csv --target ill --no-ask",
    "schema patients.csv --target ill --no-ask --json",
    "plan --schema patients.yaml --rows 2000 --epsilons 0.5,2 -o plan.html",
    "plan --schema patients.yaml --rows 2000 --epsilons 1 --json",
    "ledger create book.db --epsilon 6 --dataset patients",
    f"{TRAIN} --epsilon 4 --ledger book.db --group ward -o model.voile",
    f"{TRAIN} --epsilon 1 --ledger book.db --no-evaluate --model glvq -o glvq.voile --json",
    f"{TRAIN} --epsilon 5 --ledger book.db",
    "explain model.voile",
    "explain model.voile new.csv -o why.html",
    "explain glvq.voile new.csv --json",
    "edit model.voile --monotone age --why rises --who Weber -o edited.voile",
    "edit edited.voile",
    "predict edited.voile new.csv --probabilities",
    "predict glvq.voile new.csv --json",
    "report edited.voile -o report.html --ledger book.db --rows new.csv",
    "verify model.voile --ledger book.db",
    "verify edited.voile --json",
    "ledger show book.db",
    "ledger history book.db",
    "ledger refusals book.db",
    "ledger verify book.db",
    "ledger head book.db",
    "ledger export book.db",
    "key create hospital.key",
    "sign glvq.voile --key hospital.key",
    "verify glvq.voile --key hospital.key.pub",
    "datasets list",
]
WRONG = [
    "tarin",
    "train patient.csv --target ill",
    "train empty.csv --target ill",
    "train twice.csv --target ill",
    "train patients.csv --target il",
    "train patients.csv",
    "train patients.csv --target dose",
    "train patients.csv --target ill --schema misspelt.yaml",
    f"{TRAIN} --epsilon -1",
    f"{TRAIN} --epsilon much",
    f"{TRAIN} --delta 2",
    f"{TRAIN} --holdout 1",
    f"{TRAIN} --model forest",
    f"{TRAIN} --group sex",
    f"{TRAIN} --unit person",
    f"{TRAIN} --epsylon 1",
    f"{TRAIN} --budget 3",
    f"{TRAIN} --ledger new.db",
    f"{TRAIN} -o nowhere/m.voile",
    "ledger show none.db",
    "explain none.voile",
    "report list.voile",
    "edit list.voile --script edits.yaml",
    "explain --blackbox box.joblib --data patients.csv new.csv",
    "plan --schema patients.yaml",
    "datasets fetch adlut",
    "audit cores",
    "bench nothing",
    "demo --epsilon -1",
]

JOBS = [
    *(
        Job(f"errors-{name}", run=lambda folder, cases=cases: misuse(cases, folder))
        for name, cases in {
            "schemas": SCHEMAS,
            "budgets": BUDGETS,
            "fits": FITS,
            "models": MODELS,
            "others": OTHERS,
        }.items()
    ),
    Job("command", run=lambda folder: commands(TOUR, folder)),
    Job("command-errors", run=lambda folder: commands(WRONG, folder)),
]
