"""The voile command, as a person runs it: from a CSV file to a report, and every verb's JSON."""

import json
import subprocess
import sys

import joblib
import numpy as np
import pytest
from command_line import run_voile, write_patients

from voile import Ledger, Schema, load
from voile.privacy.files.table_files import KINDS_GUESSED
from voile.privacy.vault import KINDS_FROM_TYPES


def voile(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "voile", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with made-up patients: its output, or why it was refused."""
    write_patients(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        done = run_voile(arguments, monkeypatch, capsys)
        assert done.code == code, done.err
        if code:
            return done.err
        return json.loads(done.out) if "--json" in arguments else done.out

    run.folder = tmp_path
    return run


WHY = ("--why", "not to be used")
KEPT_ENDS = ("voile", "quality.json")
TRAIN = ("train", "patients.csv", "--target", "ill", "--schema", "patients.yaml")


def test_the_first_hour(go):
    """Schema, ledger, training, report, explanations, edits, predictions, history."""
    proposed = go("schema", "patients.csv", "--target", "ill", "--no-ask", "-o", "p.yaml", "--json")
    assert "patient_id" not in proposed["columns"]
    assert Schema.load("p.yaml") == Schema.from_dict(proposed)
    go("ledger", "create", "hospital.db", "--epsilon", "3", "--dataset", "patients")
    trained = go(*TRAIN, "--ledger", "hospital.db", "--group", "ward", "-o", "m.voile", "--json")
    assert trained["receipt"]["epsilon"] < 1
    assert trained["quality"]["measures"][0]["name"] == "AUROC"
    assert 0.9 < trained["ledger"]["spent"] <= 1
    assert "importance" in go("explain", "m.voile")
    local = go("explain", "m.voile", "new.csv", "-o", "why.html", "--json")
    assert len(local["scores"]) == 3
    edited = go("edit", "m.voile", "--monotone", "age", "--why", "w", "-o", "e.voile", "--json")
    assert [one["what"] for one in edited["edits"]] == ["monotone"]
    page = go("report", "e.voile", "--ledger", "hospital.db", "--rows", "new.csv", "--json")
    assert 40_000 < page["bytes"] < 700_000
    answers = go("predict", "e.voile", "new.csv", "--probabilities", "--json")
    names = {"prediction", "probability of no", "probability of yes", "notes"}
    assert names == set(answers[0])
    history = go("ledger", "history", "hospital.db", "--json")
    jobs = [one["what"] for one in history if one["parent"] is None]
    assert jobs == ["EBMClassifier.fit", "quality of EBMClassifier"]
    assert "13%" in go("ledger", "show", "hospital.db")
    go("ledger", "export", "hospital.db", "-o", "book.json")
    assert len(json.loads((go.folder / "book.json").read_text())["entries"]) == 5


@pytest.mark.parametrize("kind", ["ebm", "locally-linear", "glvq", "gmlvq", "lvq1"])
def test_every_kind_of_model_is_trained_and_told(go, kind):
    told = go(*TRAIN, "--model", kind, "--json")
    assert told["receipt"]["epsilon"] <= 1
    assert told["ledger"]["spent"] <= 1
    assert told["quality"] is not None
    model = load("patients.voile")
    assert len(go("predict", "patients.voile", "new.csv").splitlines()) == 4
    assert type(model).__name__ == told["kind"]
    assert go("explain", "patients.voile", "new.csv")


def test_a_regression_and_what_no_schema_says(go):
    train = ("train", "patients.csv", "--target", "dose", "--task", "regression", "--unit", "row")
    told = go(*train, "--json")
    assert [one["name"] for one in told["quality"]["measures"]] == ["RMSE", "MAE", "R2", "bias"]
    accesses = [one["label"] for one in told["receipt"]["accesses"]]
    assert "bounds of unlisted numbers" in accesses
    assert "levels of unlisted categories" in accesses
    assert "patient_id" in told["notes"][0]
    assert told["receipt"]["notes"] == told["quality"]["receipt"]["notes"] == [KINDS_GUESSED]
    assert load("patients.voile").receipt_.notes == (KINDS_GUESSED,)
    assert "guessed" in go(*train)


CONTRACTS = """voile_schema: 1
columns:
  age: {kind: number, lower: 18, upper: 90}
  years: {kind: number, lower: 0.1, upper: 1}
target: {kind: number, lower: 0, upper: 20}
"""


YEARS = ("--exposure", "years")


def test_counts_with_an_exposure_are_learned(go):
    lines = [f"{20 + i % 60},{0.1 + i % 9 / 10:.1f},{i % 3}" for i in range(600)]
    text = "\n".join(["age,years,claims", *lines]) + "\n"
    (go.folder / "contracts.csv").write_text(text)
    (go.folder / "contracts.yaml").write_text(CONTRACTS)
    train = ("train", "contracts.csv", "--target", "claims", "--schema", "contracts.yaml")
    aim = ("--objective", "poisson", "--exposure", "years")
    told = go(*train, *aim, "--epsilon", "4", "--json")
    assert [one["name"] for one in told["quality"]["measures"]] == ["RMSE", "MAE", "R2", "bias"]
    model = load("contracts.voile")
    assert (model.objective, model.exposure) == ("poisson", "years")
    assert "log of the prediction per unit of years" in go("explain", "contracts.voile")
    assert "prediction" in go("predict", "contracts.voile", "contracts.csv")
    check_totals(go)
    assert "exposure" in go(*train, "--exposure", "years", code=2)
    assert "--quantile" in go(*train, "--quantile", "0.9", code=2)


@pytest.mark.parametrize("wrong", [("--exposure", "year"), (*YEARS, "--pair", "age:years")])
def test_no_payment_is_announced_for_what_cannot_be_trained(go, monkeypatch, capsys, wrong):
    (go.folder / "contracts.csv").write_text("age,years,claims\n30,0.5,1\n")
    (go.folder / "contracts.yaml").write_text(CONTRACTS)
    train = ("train", "contracts.csv", "--target", "claims", "--schema", "contracts.yaml")
    done = run_voile((*train, "--objective", "poisson", *wrong), monkeypatch, capsys)
    assert (done.code, done.out) == (2, "")
    assert "exposure" in done.err


def check_totals(go):
    """Predictions per unit are told from totals."""
    (go.folder / "two.csv").write_text("age,years\n30,0.5\n50,\n")
    (go.folder / "one.csv").write_text("age,years\n30,0.5\n40,7\n")
    (go.folder / "bare.csv").write_text("age\n30\n")
    ask = ("predict", "contracts.voile")
    rate = go(*ask, "one.csv", "--json")[0]["prediction"]
    whole, clamped = go(*ask, "one.csv", "--exposure", "years", "--json")
    assert whole["prediction"] == pytest.approx(rate / 2)
    assert "years" in clamped["notes"]
    assert go(*ask, "bare.csv", "--exposure", "0.5", "--json")[0] == whole
    assert "row 2 is missing" in go(*ask, "two.csv", "--exposure", "years", code=2)
    assert "years" in go(*ask, "bare.csv", "--exposure", "years", code=2)
    for wrong in ("year", "0", "nan", "7"):
        assert "from 0.1 to 1" in go(*ask, "one.csv", "--exposure", wrong, code=2)


def test_a_receipt_is_silent_about_kinds_that_a_schema_told(go):
    told = go(*TRAIN, "--json")
    assert "notes" not in told["receipt"]
    assert "notes" not in told["quality"]["receipt"]


def test_parquet_and_arrow_are_the_same_table(go):
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = pyarrow.csv.read_csv("patients.csv")
    pyarrow.parquet.write_table(table, "patients.parquet")
    pyarrow.feather.write_feather(table, "patients.feather")
    for name in ("patients.parquet", "patients.feather"):
        told = go("train", name, *TRAIN[2:], "--no-evaluate", "--json")
        assert told["quality"] is None
        assert told["receipt"]["epsilon"] == pytest.approx(1, abs=1e-6)
        told = go("train", name, "--target", "ill", "--unit", "row", "--no-evaluate", "--json")
        assert told["receipt"]["notes"] == [KINDS_FROM_TYPES]


def test_people_with_several_rows_are_protected(go):
    told = go(*TRAIN, "--unit", "patient_id", "--unit-rows", "2", "--json")
    assert "patient_id (at most 2 rows each)" in told["receipt"]["guarantee"]
    told = go(*TRAIN, "--unit-rows", "3", "--no-evaluate", "--json")
    assert "one person with at most 3 rows" in told["receipt"]["guarantee"]


OPEN = ("train", "patients.csv", "--target", "ill", "--no-evaluate")


def test_a_name_that_suggests_people_is_asked_about_before_anything_is_paid(go, monkeypatch):
    refused = go(*OPEN, "--ledger", "l.db", "--budget", "2", code=2)
    assert refused.count("\n") == 1
    assert "give --unit patient_id --unit-rows 4" in refused
    assert not (go.folder / "l.db").exists()
    # A person at the terminal is asked instead; what makes no sense is asked again.
    monkeypatch.setattr("voile.cli.train.is_watched", lambda: True)
    asked, answers = [], iter(["perhaps", "0", "2"])

    def answer(question, **_):
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("typer.prompt", answer)
    told = go(*OPEN)
    assert "for one patient with all rows (at most 2 rows of each used)" in told
    assert len(asked) == 3
    assert asked[0].startswith("Can one patient have several rows (column 'patient_id')?")
    monkeypatch.setattr("typer.prompt", lambda *_, **__: "no")
    assert "Paying for epsilon 1, delta 1e-06 (by default), for one row." in go(*OPEN)
    # A schema that says so, and JSON for a program: nobody is asked.
    monkeypatch.setattr("typer.prompt", lambda *_, **__: pytest.fail("asked"))
    go(*TRAIN, "--no-evaluate")
    go(*OPEN, "--json", code=2)


def test_a_proposed_schema_leaves_the_question_to_a_person(go):
    text = go("schema", "patients.csv", "--target", "ill", "--no-ask")
    assert "unit:" not in [line.split(" ")[0] for line in text.splitlines()]
    assert "# say in the schema who is protected, 'unit: {column: patient_id, rows: 4}'" in text
    (go.folder / "p.yaml").write_text(text)
    go(*OPEN, "--schema", "p.yaml", code=2)
    go("schema", "patients.csv", "--target", "ill", "--unit", "row", "--no-ask", "-o", "p.yaml")
    go(*OPEN, "--schema", "p.yaml")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--unit", "row", "--unit-rows", "3"), "leave --unit-rows out"),
        (("--unit", "nobody"), "has no column 'nobody'"),
        (("--unit", "ill"), "cannot be the target"),
        (("--unit", "patient_id", "--unit-rows", "0"), "whole number"),
    ],
)
def test_units_that_cannot_be_are_refused(go, more, why):
    assert why in go(*OPEN, *more, code=2)


def test_the_delta_of_a_schema_that_tells_its_rows_is_told_before_training(go):
    schema = (go.folder / "patients.yaml").read_text()
    (go.folder / "many.yaml").write_text(schema + "rows: 2000000\n")
    told = go(*OPEN, "--schema", "many.yaml")
    assert told.startswith("Paying for epsilon 1, delta 5e-09 (by default, for 2,000,000 rows)")


def test_earlier_models_are_kept_with_their_quality(go):
    texts = []
    for _ in range(3):
        go(*TRAIN)
        texts.append([(go.folder / f"patients.{end}").read_text() for end in KEPT_ENDS])
    for kept, end in zip(texts, (".bak", ".bak2", ""), strict=True):
        assert [(go.folder / f"patients.{one}{end}").read_text() for one in KEPT_ENDS] == kept


def test_edits_by_script_and_by_option(go):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    (go.folder / "edits.yaml").write_text(
        "- {do: monotone, term: age, direction: increasing, why: known}\n"
        "- {do: set, term: ward, value: 0, levels: [C]}\n"
        "- {do: set, term: age, value: 0.5, between: [90, 120]}\n"
        "- {do: smooth, term: dose, strength: 5}\n"
    )
    made = go("edit", "m.voile", "--script", "edits.yaml", "--who", "Dr. W", "--json")
    assert [one["what"] for one in made["edits"]] == ["monotone", "set", "set", "smooth"]
    assert {one["who"] for one in made["edits"]} == {"Dr. W"}
    go("edit", "m.voile", "--set", "ward", "--level", "A", "--value", "0.25", *WHY)
    go("edit", "m.voile", "--set", "age", "--missing", "--value", "0", *WHY)
    go("edit", "m.voile", "--smooth", "dose", "--strength", "3", "--between", "1", "5", *WHY)
    go("edit", "m.voile", "--drop", "dose", *WHY)
    assert len(load("m.voile").model_.edits) == 8
    go("edit", "m.voile", "--undo")
    assert len(load("m.voile").model_.edits) == 7
    assert "as it was trained" in go("edit", "m.voile", "--revert")
    model = load("m.voile").model_
    assert model.edits == ()
    assert [edit.what for edit in model.history[-3:]] == ["drop", "undo", "revert"]
    told = go("edit", "m.voile")
    assert "dose: drop (taken back)" in told
    assert "undo; what: drop" in told
    assert "taken back" in told.splitlines()[0]
    page = go.folder / "report.html"
    go("report", "m.voile", "-o", page)
    for words in ("edits were taken back 2 times", "drop (taken back)", "revert"):
        assert words in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("odd", ["caf\udce9", "a\0b", "\ud800"])
def test_arguments_that_are_no_text_are_refused_before_anything_is_paid(go, odd):
    go("ledger", "create", "h.db", "--epsilon", "3", "--dataset", "patients")
    train = (*TRAIN, "--ledger", "h.db", "--no-evaluate")
    for more in (("-o", f"{odd}.voile"), ("--dataset", odd), ("--unit", odd)):
        go(*train, *more, code=2)
    go("edit", f"{odd}.voile", "--drop", "dose", "--why", odd, code=2)
    assert not Ledger("h.db").history()


def test_rows_need_not_have_a_column_that_was_dropped(go):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    rows = (go.folder / "new.csv").read_text().splitlines()
    names = rows[0].split(",")
    place = names.index("dose")
    short = [",".join(v for i, v in enumerate(row.split(",")) if i != place) for row in rows]
    (go.folder / "short.csv").write_text("\n".join(short) + "\n")
    go("predict", "m.voile", "short.csv", code=2)
    assert "Not used: dose." in go("edit", "m.voile", "--drop", "dose", *WHY, "-o", "e.voile")
    assert go("predict", "e.voile", "short.csv") == go("predict", "e.voile", "new.csv")
    assert len(go("explain", "e.voile", "short.csv", "--json")["scores"]) == len(rows) - 1
    assert go("report", "e.voile", "--rows", "short.csv", "--json")["bytes"] > 40_000
    go("edit", "e.voile", "--undo")
    go("predict", "e.voile", "short.csv", code=2)


def test_a_black_box_is_explained_and_paid_once(go):
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    table = pd.read_csv("patients.csv")
    box = LogisticRegression().fit(table[["age", "dose"]], table["ill"])
    joblib.dump(box, "box.joblib")
    (go.folder / "asked.csv").write_text("age,dose\n70,1\n")
    (go.folder / "hospital.db").unlink(missing_ok=True)
    ask = ("explain", "--blackbox", "box.joblib", "--run-code-of-the-blackbox", "asked.csv")
    ask = (*ask, "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "1")
    first = go(*ask, "--ledger", "hospital.db", "--budget", "2", "--json")
    spent = Ledger("hospital.db").spent().epsilon
    again = go(*ask, "--ledger", "hospital.db", "--json")
    assert first["values"] == again["values"]
    assert Ledger("hospital.db").spent().epsilon == spent > 0
    assert KINDS_GUESSED not in first["receipt"]["notes"]
    ask = tuple(one for one in ask if one not in ("--schema", "patients.yaml"))
    assert "Column 'patient_id' suggests" in go(*ask, code=2)
    assert go(*ask, "--unit", "row", "--json")["receipt"]["notes"][0] == KINDS_GUESSED
    of_patients = go(*ask, "--unit", "patient_id", "--unit-rows", "2", "--json")
    assert "patient_id (at most 2 rows each)" in of_patients["receipt"]["guarantee"]


def test_synthetic_rows_are_paid_once_and_never_replace_the_private_ones(go):
    import pandas as pd

    (go.folder / "sampled.db").unlink(missing_ok=True)
    ask = ("sample", "patients.csv", "--schema", "patients.yaml", "--epsilon", "1", "-n", "50")
    told = go(*ask, "-o", "made.csv", "--ledger", "sampled.db", "--budget", "2", "--json")
    assert "Not good for" in told["note"]
    spent = Ledger("sampled.db").spent().epsilon
    first = pd.read_csv("made.csv")
    assert len(first) == 50
    assert set(first.columns) <= set(pd.read_csv("patients.csv").columns)
    go(*ask, "-o", "more.csv", "--ledger", "sampled.db", "--seed", "3")
    assert not first.equals(pd.read_csv("more.csv"))
    assert Ledger("sampled.db").spent().epsilon == spent > 0
    private = (go.folder / "patients.csv").read_bytes()
    go(*ask, "-o", "patients.csv", code=2)
    go(*ask, "-o", "made.csv", "-n", "0", code=2)
    go(*ask, "-o", "made.csv", "--seed", "-1", code=2)
    assert (go.folder / "patients.csv").read_bytes() == private


def test_what_would_have_to_change_is_said_for_own_rows(go):
    go(*TRAIN, "--no-evaluate", "--epsilon", "4")
    told = go("what-if", "patients.voile", "new.csv", "-o", "change.html", "--json")
    assert told["kind"] == "counterfactuals"
    assert told["rows"]
    assert (go.folder / "change.html").exists()
    ask = ("what-if", "patients.voile", "new.csv", "--keep", "age", "--most", "1", "--sure")
    text = go(*ask)
    assert "What would have to change" in text
    go("what-if", "patients.voile", "new.csv", "--want", "nobody", code=2)
    go("what-if", "patients.voile", "new.csv", "--keep", "nothing", code=2)


def test_the_training_of_a_saved_model_is_attacked(go):
    go(*TRAIN, "--no-evaluate", "--epsilon", "4")
    told = go("audit", "patients.voile", "--runs", "60", "-o", "audit.html", "--json")
    (finding,) = told["findings"]
    assert finding["claimed"] == pytest.approx(4, abs=1e-3)
    assert not finding["broken"]
    assert (go.folder / "audit.html").exists()


def test_the_library_attacks_itself(go):
    found = go("audit", "core", "--runs", "40", "-o", "audit.html", "--json")["findings"]
    assert len(found) >= 10
    assert not any(one["broken"] for one in found)
    assert "Gaussian sum" in (go.folder / "audit.html").read_text(encoding="utf-8")


def test_a_plan_spends_nothing(go):
    told = go("plan", "--schema", "patients.yaml", "--rows", "20000", "-o", "plan.html", "--json")
    assert json.dumps(told)
    plan = ("plan", "patients.csv", "--target", "ill", "--rows", "20000", "--unit", "row")
    assert "epsilon" in go(*plan)
    assert (go.folder / "plan.html").exists()


def test_pairs_are_planned_trained_told_and_kept(go):
    plan = ("plan", "--schema", "patients.yaml", "--rows", "20000", "--epsilons", "1", "--json")
    assert go(*plan)["outlooks"][0]["pairs"]["way"] == "chosen"
    assert go(*plan, "--interactions", "0")["outlooks"][0]["pairs"]["way"] == "none"
    named = ("--pair", "dose:age", "--pair", "age & ward")
    assert go(*plan, *named)["outlooks"][0]["pairs"]["pairs"] == 2
    told = go(*TRAIN, *named, "--no-evaluate")
    lines = [line for line in told.splitlines() if line.startswith("Pairs of columns:")]
    assert len(lines) == 1
    assert "age & dose (" in lines[0]
    assert "age & ward (" in lines[0]
    assert "choice of pairs" not in told
    model = load("patients.voile")
    assert model.training_settings_["interactions"] == [["dose", "age"], ["age", "ward"]]
    found = go(*TRAIN, *named, "--no-evaluate", "--json")["pairs"]
    assert [one["columns"] for one in found] == [["age", "dose"], ["age", "ward"]]
    none = go(*TRAIN, "--interactions", "0", "--no-evaluate")
    assert "airs of columns" not in none
    assert "of pairs" not in none
    assert "choice of pairs" in go(*TRAIN, "--interactions", "3", "--no-evaluate")
    assert go(*TRAIN, "--model", "glvq", "--no-evaluate", "--json")["pairs"] is None


def test_pairs_that_cannot_be_are_refused_before_anything_is_paid(go):
    ledger = ("--ledger", "own.db", "--budget", "3")
    for more, why in (
        (("--pair", "age:nowhere"), "no such column"),
        (("--pair", "age:age"), "twice"),
        (("--pair", "age"), "colon"),
        (("--interactions", "many"), "whole number"),
        (("--interactions", "2", "--pair", "age:dose"), "leave --interactions out"),
        (("--model", "glvq", "--pair", "age:dose"), "--model ebm"),
    ):
        assert why in go(*TRAIN, *ledger, *more, code=2)
        assert why in go("plan", "--schema", "patients.yaml", "--rows", "900", *more, code=2)
    assert not (go.folder / "own.db").exists()


def test_a_plan_guesses_and_asks_like_a_training(go):
    import pandas as pd

    table = pd.read_csv("patients.csv")
    table.assign(ill=(table["ill"] == "yes").astype(int)).to_csv("coded.csv", index=False)
    coded, people = ("coded.csv", "--target", "ill"), ("patients.csv", "--target", "ill")
    rows = ("--rows", "20000")
    for asked, remedy in ((coded, "--task classification"), (people, "--unit patient_id")):
        told = go("plan", *asked, *rows, code=2)
        assert remedy in told
        assert told == go("train", *asked, code=2)
    told = go("plan", *people, "--unit", "patient_id", *rows)
    assert "protecting one patient_id" in " ".join(told.split())
    assert "read no row" not in told
    told = go("plan", *coded, "--task", "regression", "--unit", "row", *rows)
    assert "log-odds" not in told
    told = go("plan", *coded, "--task", "classification", "--unit", "row", *rows)
    assert "log-odds" in told


def test_a_plan_says_what_was_read(go, monkeypatch, capsys):
    done = run_voile(
        ("plan", "patients.csv", "--target", "ill", "--rows", "20000", "--unit", "row"),
        *(monkeypatch, capsys),
    )
    assert done.code == 0
    assert "its first rows were read" in done.err


def test_the_positive_class_is_chosen_and_named(go):
    told = go(*TRAIN, "--positive", "NO")
    assert "for 'no', at threshold 0.5: sensitivity" in told
    assert "average precision of 'no'" in told
    assert "log-odds of 'no'" in go("explain", "patients.voile")
    rows = " ".join(go("explain", "patients.voile", "new.csv").split())
    assert "What raises it (+) speaks for 'no', what lowers it (-) for 'yes'." in rows
    assert "for 'yes' for 'no'" in rows


def test_a_class_that_is_not_there_is_no_positive_one(go):
    go("ledger", "create", "h.db", "--epsilon", "3", "--dataset", "patients")
    told = go(*TRAIN, "--ledger", "h.db", "--positive", "maybe", code=2)
    assert "'maybe'" in told
    assert "'no', 'yes'" in told
    regression = ("--task", "regression", "--unit", "row", "--positive", "yes")
    assert "is a number" in go("train", "patients.csv", "--target", "dose", *regression, code=2)
    assert not Ledger("h.db").history()


def test_numbers_that_are_classes_have_a_positive_one(go):
    import pandas as pd

    table = pd.read_csv("patients.csv")[["age", "ill"]]
    table.assign(ill=(table["ill"] == "yes").astype(int)).to_csv("coded.csv", index=False)
    table.assign(ill=(table["ill"] == "yes").astype(int)).to_parquet("coded.parquet")
    for name in ("coded.csv", "coded.parquet"):
        go(
            *("train", name, "--target", "ill", "--task", "classification", "--epsilon", "20"),
            *("--positive", "0", "--no-evaluate", "-o", "c.voile"),
        )
        assert [float(one) for one in load("c.voile").model_.schema.target.levels] == [1, 0]


def test_of_ja_and_nein_that_nobody_put_in_order_a_model_speaks_of_ja(go):
    import pandas as pd

    table = pd.read_csv("patients.csv")[["age", "ill"]]
    table["ill"] = table["ill"].map({"yes": "Ja", "no": "Nein"})
    table.to_csv("de.csv", index=False)
    told = go("train", "de.csv", "--target", "ill", "--epsilon", "10")
    assert "for 'Ja', at threshold" in told
    assert "log-odds of 'Ja'" in go("explain", "de.voile")


def test_pages_have_names_of_pages(go):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    asked = (
        ("explain", "m.voile", "-o", "e.png"),
        ("report", "m.voile", "-o", "r.pdf"),
        ("what-if", "m.voile", "new.csv", "-o", "w.svg"),
        ("plan", "--schema", "patients.yaml", "--rows", "1000", "-o", "p.docx"),
        ("audit", "core", "-o", "a.pdf"),
    )
    for one in asked:
        told = go(*one, code=2)
        assert "end it in .html" in told
        assert "PDF" in told or "save_figure" in told or "browser" in told
        assert not (go.folder / one[-1]).exists()
    go("explain", "m.voile", "-o", "page.htm")
    go("explain", "m.voile", "-o", "page")


def test_answers_for_people_have_six_digits(go):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    exact = go("predict", "m.voile", "new.csv", "--probabilities", "--json")
    lines = go("predict", "m.voile", "new.csv", "--probabilities").splitlines()
    shown = [dict(zip(lines[0].split(","), line.split(","), strict=False)) for line in lines[1:]]
    for one, full in zip(shown, exact, strict=True):
        told, number = one["probability of yes"], full["probability of yes"]
        assert len(told.lstrip("0.")) <= 6 < len(repr(number).lstrip("0."))
        assert float(told) == pytest.approx(number, rel=1e-5)


def test_a_ledger_is_not_made_for_a_job_that_it_cannot_pay(go):
    told = go(*TRAIN, "--ledger", "new.db", "--budget", "4", "--epsilon", "100", code=3)
    assert "No ledger was made" in told
    assert not (go.folder / "new.db").exists()


def test_a_delta_that_is_too_large_is_the_reason(go):
    told = go(*TRAIN, "--delta", "0.5", "--epsilon", "0.1", code=3)
    assert "That delta is too large" in told
    assert "Ask for epsilon" not in told


def test_an_edit_has_a_reason(go):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    before = (go.folder / "m.voile").read_bytes()
    assert "--why" in go("edit", "m.voile", "--drop", "dose", code=2)
    assert (go.folder / "m.voile").read_bytes() == before
    (go.folder / "edits.yaml").write_text("- {do: drop, term: dose}\n")
    made = go("edit", "m.voile", "--script", "edits.yaml", "--why", "old", "--json")
    assert made["edits"][0]["why"] == "old"


def test_a_whole_number_is_changed_to_a_whole_one(go):
    text = (go.folder / "patients.yaml").read_text()
    (go.folder / "patients.yaml").write_text(
        text.replace("upper: 120}", "upper: 120, whole: true}")
    )
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    found = go("what-if", "m.voile", "new.csv", "--change", "age", "--json")
    values = [
        change["value"]
        for row in found["rows"]
        for one in row["suggestions"]
        for change in one["changes"]
    ]
    assert values
    assert all(float(value).is_integer() for value in values)


def test_guesses_are_told_once_and_counts_in_their_form(go, monkeypatch, capsys):
    (go.folder / "de.csv").write_bytes(
        (
            "größe;krank\n"
            + "".join(f"{1 + i % 9},5;{'Ja' if i % 2 else 'Nein'}\n" for i in range(900))
        ).encode("cp1252")
    )
    train = ("train", "de.csv", "--target", "krank", "--epsilon", "10", "--no-evaluate")
    done = run_voile(train, monkeypatch, capsys)
    assert done.code == 0, done.err
    assert (done.out + done.err).count("Guessed from the first rows of de.csv") == 1
    assert any("Guessed" in one for one in go(*train, "--json")["notes"])
    done = run_voile(("schema", "de.csv", "--target", "krank", "--no-ask"), monkeypatch, capsys)
    assert "1 column; 2 facts left" in done.err


def test_one_class_is_named_and_what_was_paid_is_told_once(go):
    (go.folder / "one.csv").write_text("age,ill\n" + "".join(f"{i % 90},yes\n" for i in range(900)))
    told = go("train", "one.csv", "--target", "ill", "--epsilon", "5", code=8)
    assert "one class of the target, 'yes'" in told
    assert told.count("stays paid") == 1
    assert "No --ledger keeps it" in told


def test_data_sets_and_benchmarks_are_listed(go):
    assert "adult" in {one["name"] for one in go("datasets", "list", "--json")}
    assert "adult" in go("datasets", "list")
    assert "ebm" in go("bench")


def test_questions_are_asked_and_answered(go, monkeypatch):
    answers, asked = iter(["3", "0 100", "A, B, C", "5", "0 10", "no, yes"]), []
    monkeypatch.setattr("typer.prompt", lambda text, **_: asked.append(text) or next(answers))
    told = go("schema", "patients.csv", "--target", "ill", "--ask", "--json")
    assert asked[0].startswith("Can one patient have several rows")
    assert "patient_id" not in told["columns"]
    age = {"kind": "number", "lower": 0, "upper": 100, "whole": True}
    assert told["columns"]["age"] == age
    assert told["columns"]["ward"]["levels"] == ["A", "B", "C"]
    assert told["columns"]["dose"]["upper"] == 10  # after a wrong answer
    assert told["target"]["levels"] == ["no", "yes"]
    assert told["unit"] == {"column": "patient_id", "rows": 3}


@pytest.mark.parametrize("stdin", [None, subprocess.DEVNULL])
def test_questions_that_nobody_answers_are_wrong_use(tmp_path, stdin):
    write_patients(tmp_path)
    words = [sys.executable, "-m", "voile", "schema", "patients.csv", "--ask"]
    if stdin is None:
        words = ["sh", "-c", 'exec "$@" <&-', "sh", *words]
    done = subprocess.run(
        words, cwd=tmp_path, stdin=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "use --no-ask" in done.stderr


def test_the_demo_does_the_main_job(tmp_path):
    result = voile("demo", "--output", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "differential privacy for one person with at most 5 rows added" in result.stdout
    assert "Any one person with at most 5 rows is protected: epsilon 1.9" in result.stdout
    assert "AUROC" in result.stdout
    assert "the model says" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert 'src="http' not in page  # opens without a network
    assert "chronic diseases" in page
    book = Ledger(tmp_path / "out" / "voile-demo-ledger.db")
    assert book.spent().epsilon <= 2
    assert book.fraction_spent() > 0.9


def test_version_and_help(tmp_path):
    assert voile("--version", cwd=tmp_path).stdout.startswith("voile 0.")
    told = voile("--help", cwd=tmp_path).stdout
    for verb in ("schema", "plan", "train", "explain", "edit", "predict", "report", "ledger"):
        assert verb in told


def test_help_is_shown_where_nothing_was_asked(tmp_path):
    result = voile(cwd=tmp_path)
    assert result.returncode == 2
    assert "train" in result.stdout
    assert result.stderr == ""


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path):
    """The pipe is closed before the first line is written."""
    program = (
        "import os, sys\n"
        "read, write = os.pipe()\n"
        "os.close(read)\n"
        "os.dup2(write, 1)\n"
        "sys.argv = ['voile', 'datasets', 'list', '--json']\n"
        "from voile.cli.app import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_verb_has_help_with_an_example(go):
    for verb in ("schema", "plan", "train", "explain", "edit", "predict", "report", "audit"):
        assert f"voile {verb}" in go(verb, "--help").replace("\n", " ")


def test_help_loads_none_of_the_large_libraries(tmp_path):
    """Imports are lazy: help is quick by them (benchmarks/command/seconds.py takes the time)."""
    code = (
        "import runpy, sys\n"
        "sys.argv = ['voile', '--help']\n"
        "try:\n"
        "    runpy.run_module('voile', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "print(*sorted({one.split('.')[0] for one in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "pyarrow", "numba", "sklearn", "matplotlib"}
    assert not loaded & {"torch", "flwr", "dp_accounting", "sqlalchemy", "interpret", "polars"}


def test_the_same_table_gives_the_same_public_facts(go):
    """Which rows are held out is chance; what the model is about is not."""
    go(*TRAIN, "-o", "a.voile")
    go(*TRAIN, "-o", "b.voile")
    one, other = load("a.voile"), load("b.voile")
    assert one.model_.schema == other.model_.schema
    assert not np.array_equal(one.model_.intercept, other.model_.intercept)


def test_doubts_are_told(go):
    """A delta that is large for the people, and bounds that were found far from zero."""
    told = go(*TRAIN, "--delta", "0.01", "--json")
    assert any("The delta 0.01 is large" in note for note in told["notes"])
    told = go(*TRAIN, "--json")
    assert not any("delta" in note for note in told["notes"])
    lines = (go.folder / "patients.csv").read_text().splitlines()
    years = [f"{line},{'year' if not i else 1990 + i % 20}" for i, line in enumerate(lines)]
    (go.folder / "years.csv").write_text("\n".join(years) + "\n")
    told = go(
        *("train", "years.csv", "--target", "ill", "--model", "glvq", "--epsilon", "20"),
        *("--unit", "row", "--json"),
    )
    assert any("bounds of year were found only" in note for note in told["notes"])


def test_a_report_says_that_its_figures_are_older_than_the_latest_edit(go):
    go(*TRAIN, "-o", "m.voile")
    go("report", "m.voile", "-o", "before.html")
    go("edit", "m.voile", "--drop", "dose", *WHY, "-o", "e.voile")
    go("report", "e.voile", "-o", "after.html")
    go("edit", "m.voile", "--drop", "dose", *WHY)
    go("report", "m.voile", "-o", "same.html")
    warning = "measured before the latest edits"
    assert warning not in (go.folder / "before.html").read_text()
    assert warning in (go.folder / "after.html").read_text()
    assert warning in (go.folder / "same.html").read_text()


def test_figures_of_another_training_are_not_shown(go, monkeypatch, capsys):
    go(*TRAIN, "-o", "a.voile")
    go(*TRAIN, "-o", "b.voile")
    (go.folder / "a.quality.json").replace(go.folder / "b.quality.json")
    go("report", "b.voile", "-o", "b.html")
    assert "Intervals hold the true figure" not in (go.folder / "b.html").read_text()
    done = run_voile(["report", "b.voile", "--quality", "b.quality.json"], monkeypatch, capsys)
    assert done.code == 5
    assert "another model" in done.err


def test_of_yes_and_no_that_a_person_types_yes_is_the_positive_one(go, monkeypatch):
    answers = iter(["3", "", "", "", "Ja, Nein"])
    monkeypatch.setattr("typer.prompt", lambda text, **_: next(answers))
    told = go("schema", "patients.csv", "--target", "ill", "--ask", "--json")
    assert told["target"]["levels"] == ["Nein", "Ja"]


def test_a_person_at_a_terminal_is_asked_for_the_reason_of_an_edit(go, monkeypatch):
    go(*TRAIN, "--no-evaluate", "-o", "m.voile")
    monkeypatch.setattr("voile.cli.edit.is_watched", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda text, **_: "asked for")
    go("edit", "m.voile", "--drop", "dose")
    assert load("m.voile").model_.edits[0].why == "asked for"
