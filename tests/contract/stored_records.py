"""Jobs whose records are no models: summaries, evaluations, forecasts, explainers, audits."""

from functools import partial

import numpy as np
from sklearn.naive_bayes import GaussianNB
from stored_fits import flat, flat_shown, known
from stored_insides import leakage, torch
from stored_results import NEARLY, Job, describe_page, describe_record
from stored_tables import (
    A_NUMBER,
    FEATURES,
    PIXELS,
    SIDE,
    THREE_CLASSES,
    TWO_CLASSES,
    asked,
    patients,
    people,
    three_classes,
    two_classes,
)
from stored_text import as_json, read_page

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    PrivateExplainer,
    Schema,
    audit,
    forecast,
    hold_out,
    summarize,
)

PLAIN = Schema(FEATURES)
NUMBERS = Schema({"age": Number(0, 100), "dose": Number(0, 10), "height": Number(0, 2)}, rows=500)
STRATEGIES = ("summary", "release", "interactive", "adaptive", "enhanced")


def summary(schema, epsilon, folder):
    found = summarize(patients()[0], epsilon=epsilon, schema=schema, bins=8)
    return describe_record(found, "summary", folder) | {"receipt.txt": str(found.receipt)}


def looked_ahead(model, schema, folder):
    return describe_record(
        forecast(schema, rows=5000, epsilons=[0.1, 1], model=model), "forecast", folder
    )


def evaluation(estimator, schema, table, folder):
    model = known(estimator, schema, table, rounds=3)
    found = model.score_private(*table(seed=1), epsilon=4.0, groups=["ward"])
    return describe_record(found, "evaluation", folder) | {"receipt.txt": str(found.receipt)}


def held_out(folder):
    numbers = np.arange(60)
    parts = hold_out(numbers.reshape(-1, 1), numbers, share=0.3)
    X, y = people(60)
    by_person = hold_out(X, y, share=0.3, unit="who")
    return {"rows.json": as_json([parts[2], parts[3], by_person[1]["who"], by_person[3]])}


# -- black boxes -----------------------------------------------------------------------------------


def numbers(rows=500, seed=0):
    return np.random.default_rng(seed).integers(0, 65, (rows, 3)) / 64 * [100, 10, 2]


def box(X):
    """A black box: scores from -1 to 1."""
    table = np.asarray(X, dtype=float)
    return (table[:, 0] / 50 - 1) * 0.5 + (table[:, 1] / 5 - 1) * (table[:, 2] > 1) * 0.5


def ask(strategy, folder):
    shared = strategy in ("adaptive", "enhanced")
    explainer = PrivateExplainer(
        box,
        numbers(),
        schema=NUMBERS,
        epsilon=20.0,
        strategy=strategy,
        shared_questions=shared,
        queries=4,
        steps=20,
        ledger=Ledger(folder / "book.db", Budget(30.0, 1e-6)),
    )
    found = explainer.explain_slopes(numbers(2, 5))
    return {
        **describe_record(found, "local", folder if strategy == "summary" else None),
        "receipt.txt": str(explainer.receipt_),
        "receipt.json": explainer.receipt_.to_json(),
    }


def ask_again(folder):
    """Questions that were answered are answered again, and others from them, without rows."""
    ledger = Ledger(folder / "book.db", Budget(30.0, 1e-6))
    settings = {"schema": NUMBERS, "epsilon": 20.0, "ledger": ledger, "shared_questions": True}
    settings |= {"queries": 4, "steps": 20}
    first = PrivateExplainer(box, numbers(), strategy="adaptive", **settings)
    first.explain_slopes(numbers(3, 5))
    later = PrivateExplainer(box, numbers(), strategy="offline", **settings)
    return describe_record(later.explain_slopes(numbers(4, 5)), "local", None)


def ask_a_classifier(folder):
    """A scikit-learn model, then a model of this library, of the same summary."""
    X = numbers()
    labels = np.array(["low", "middle", "high"])[(X[:, 0] > 30).astype(int) + (X[:, 0] > 70)]
    model = GaussianNB().fit(X, labels)
    explainer = PrivateExplainer(model, X, schema=NUMBERS, epsilon=4.0)
    other = explainer.with_model(box, radius=2.0)
    return {
        **describe_record(explainer.explain_slopes(numbers(2, 5)), "classes", folder),
        **describe_record(other.explain_slopes(numbers(2, 5)), "other", None),
        **describe_record(explainer.explain(numbers(6, 5)), "contributions", folder),
        **describe_record(explainer.quality(numbers(200, 3), asked=20), "quality", folder),
        **describe_record(explainer.quality_by("age", numbers(200, 3), asked=20), "groups", folder),
    }


def ask_of_levels(folder):
    """A model of this library with categories and missing values."""
    model = known(EBMClassifier, TWO_CLASSES, two_classes, rounds=3)
    explainer = PrivateExplainer(model, two_classes(seed=2)[0], schema=PLAIN, epsilon=4.0)
    return {
        **describe_record(explainer.explain_slopes(asked()), "local", folder),
        **describe_record(explainer.explain(asked()), "contributions", folder),
    }


# -- reports and ledgers ---------------------------------------------------------------------------


def report(estimator, schema, table, rows, settings, folder):
    ledger = Ledger(folder / "book.db", Budget(20.0, 1e-6), dataset="patients")
    model = known(estimator, schema, table, ledger=ledger, **settings)
    quality = model.score_private(*table(), epsilon=2.0)
    path = model.report(
        folder / "report.html", title="How ill", evaluation=quality, ledger=ledger, rows=rows()
    )
    return describe_page(path, "report")


def short_report(folder):
    model = known(EBMRegressor, A_NUMBER, patients, rounds=3)
    return describe_page(model.report(folder / "report.html"), "report")


def kept_book(folder):
    """A ledger after two jobs and a refusal, and what is verified of it."""
    ledger = Ledger(folder / "book.db", Budget(3.0, 1e-6), dataset="patients")
    told = [repr(ledger), "\n".join(read_page(ledger._repr_html_()))]
    summarize(patients()[0], epsilon=1.0, schema=PLAIN, ledger=ledger)
    EBMClassifier(epsilon=1.0, schema=TWO_CLASSES, rounds=2, ledger=ledger).fit(*two_classes())
    try:
        summarize(patients()[0], epsilon=2.9, schema=PLAIN, ledger=ledger)
    except Exception as refused:
        told.append(f"{type(refused).__name__}: {refused}")
    told += [repr(ledger), "\n".join(read_page(ledger._repr_html_()))]
    told += [f"{one.what}: {one.plan}" for one in ledger.history()]
    return {"ledger.txt": "\n".join(told)}


def verified(folder):
    model = known(EBMClassifier, TWO_CLASSES, two_classes, rounds=3)
    found = audit.verify(model.save(folder / "model.voile"))
    return {"verification.json": found.to_json(), "verification.txt": str(found)}


def written(folder):
    """What else can be written: score tables, schemas."""
    model = known(EBMClassifier, TWO_CLASSES, two_classes, rounds=3)
    kinds = Schema({"age": Number(), "ward": Category()}, target=Category(), rows=900)
    path = folder / "schema.yaml"
    THREE_CLASSES.save(path)
    return {
        "scores.csv": model.to_csv(folder / "scores.csv").read_text(),
        "three.json": THREE_CLASSES.to_json(),
        "three.yaml": path.read_text(),
        "pixels.json": PIXELS.to_json(),
        "print.txt": "\n".join(
            [repr(TWO_CLASSES), repr(kinds), repr(Budget(1, 1e-6)), repr(model)]
        ),
    }


# -- audits ----------------------------------------------------------------------------------------


def noisy_sum(rows):
    return summarize({"x": np.asarray(rows)}, epsilon=1.0, schema=Schema({"x": Number(0, 1)})).rows


def audits(folder):
    rows = np.linspace(0.0, 1.0, 20)
    settings = {"processes": 1, "random_state": 0, "noise_seed": 1}
    findings = (
        audit.lower_bound(noisy_sum, rows, 1.0, epsilon=1.0, delta=1e-6, runs=60, **settings),
        audit.lower_bound(sum, [0.0, 1.0], 1.0, epsilon=1.0, runs=200, name="no noise", **settings),
        audit.one_run(
            sorted,
            [0.5],
            np.arange(1.0, 41.0).tolist(),
            score=lambda released, canary: float(canary in released),
            epsilon=0.5,
            random_state=0,
            name="many canaries",
            note="Rows are given away.",
        ),
    )
    found = describe_record(findings[1], "finding", folder)
    return found | describe_record(audit.AuditReport("Audit", findings), "report", folder)


def membership(folder):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 3)).round(2)
    labels = np.where(X[:, 0] + draw.normal(size=60).round(2) > 0, "yes", "no")
    found = audit.membership_report(
        GaussianNB(), X, labels, trainings=6, epsilon=1.0, delta=1e-5, random_state=0
    )
    return describe_record(found, "membership", folder)


def replayed(folder):
    X = patients(40)[0]

    def run(rows, ledger):
        return summarize(rows, epsilon=1.0, schema=PLAIN, ledger=ledger)

    fewer = {name: column[1:] for name, column in X.items()}
    found = audit.replay(run, X, fewer, name="a summary")
    return {"replay.json": found.to_json(), "replay.txt": str(found)}


def leaked(folder):
    torch.set_num_threads(1)
    attacks = leakage()
    images = np.random.default_rng(5).uniform(0, 1, (4, 1, SIDE, SIDE))
    found = attacks.leakage_report(
        attacks.leaky_net("mlp", (1, SIDE, SIDE), 3),
        images,
        np.array([0, 2, 1, 0]),
        {"raw": attacks.un_noised(), "noised": attacks.gaussian(1.0, 1.0)},
        targets=2,
        methods=("analytic",),
        steps=5,
        restarts=1,
        most=2,
    )
    return describe_record(found, "leakage", folder)


REPORTS = {
    "ebm": (EBMClassifier, TWO_CLASSES, two_classes, asked, {"rounds": 3}),
    "linear": (
        LocallyLinearClassifier,
        PIXELS,
        flat,
        flat_shown,
        {"image_shape": (SIDE, SIDE), "maps": 2, "sampling_rate": 0.25, "steps": 12},
    ),
    "gmlvq": (GMLVQClassifier, THREE_CLASSES, three_classes, asked, {}),
}
FORECASTS = {
    "ebm": ("ebm", TWO_CLASSES),
    "ebm-found": ("ebm", Schema({"age": Number(), "ward": Category()}, target=Category())),
    "glvq": ("glvq", THREE_CLASSES),
    "gmlvq": ("gmlvq", TWO_CLASSES),
    "lvq1": ("lvq1", TWO_CLASSES),
    "linear": ("locally_linear", TWO_CLASSES),
}
EVALUATIONS = {
    "two-classes": (EBMClassifier, TWO_CLASSES, two_classes),
    "three-classes": (EBMClassifier, THREE_CLASSES, three_classes),
    "number": (EBMRegressor, A_NUMBER, patients),
}
UNKNOWN = Schema({"age": Number(), "ward": Category(), "dose": Number(whole=True)})

JOBS = [
    Job("summary", run=partial(summary, PLAIN, 2.0)),
    Job("summary-found", run=partial(summary, UNKNOWN, 20.0)),
    *(Job(f"forecast-{n}", run=partial(looked_ahead, *one)) for n, one in FORECASTS.items()),
    *(Job(f"evaluation-{n}", run=partial(evaluation, *one)) for n, one in EVALUATIONS.items()),
    Job("hold-out", run=held_out),
    *(Job(f"explainer-{name}", run=partial(ask, name)) for name in STRATEGIES),
    Job("explainer-offline", run=ask_again),
    Job("explainer-classes", run=ask_a_classifier),
    Job("explainer-levels", run=ask_of_levels),
    *(Job(f"report-{name}", run=partial(report, *one)) for name, one in REPORTS.items()),
    Job("report-short", run=short_report),
    Job("ledger", run=kept_book),
    Job("verified", run=verified),
    Job("written", run=written),
    Job("audit", run=audits),
    Job("membership", run=membership),
    Job("replay", run=replayed),
    Job("leakage", run=leaked, tolerance=NEARLY, needs_torch=True),
]
