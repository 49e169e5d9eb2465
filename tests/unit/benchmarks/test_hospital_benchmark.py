"""The hospital benchmark: public groups, power sets, splits by patient, and sound tables."""

import importlib.util
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.hospital import data as hospital_data
from benchmarks.hospital import models as hospital_models
from benchmarks.hospital import quality as hospital
from benchmarks.hospital import report as hospital_report
from voile import Category, Unit

ABLE = all(importlib.util.find_spec(name) for name in ("torch", "opacus"))
needs_torch = pytest.mark.skipif(not ABLE, reason="torch or opacus is missing")


def made_up(rows=600):
    """A table with the columns of the real one; ischaemic patients are old."""
    rng = np.random.default_rng(0)
    heart = rng.random(rows) < 0.5
    table = {
        hospital_data.PATIENT: rng.integers(0, rows // 2, rows),
        "age": np.where(heart, "[80-90)", "[20-30)"),
        "medical_specialty": rng.choice(["?", "Cardiology", "Surgery-Vascular", "Dentistry"], rows),
        "readmitted": np.where(heart, "<30", rng.choice(["NO", ">30"], rows)),
        "diag_1": np.where(heart, "410", "250.6"),
        "diag_2": rng.choice(["401", "V45", "?"], rows),
        "diag_3": np.full(rows, "530"),
    }
    for name in hospital_data.BOUNDS:
        table.setdefault(name, rng.integers(1, 9, rows))
    for name, levels in hospital_data.LEVELS.items():
        table[name] = rng.choice(["?" if one == "not known" else one for one in levels], rows)
    for name in hospital_data.CODES:
        table[name] = rng.integers(1, 9, rows)
    return pd.DataFrame(table)


@pytest.fixture(scope="module")
def tasks():
    return hospital_data.tasks(made_up())


def test_diagnoses_are_grouped_as_published():
    codes = pd.Series(["250.83", "428", "785", "486", "V57", "E909", "?", "999", "140", "139"])
    assert hospital_data.chapter(codes).tolist() == [
        "diabetes",
        "circulatory",
        "circulatory",
        "respiratory",
        "other",
        "other",
        "not known",
        "injury",
        "neoplasm",
        "other",
    ]


def test_sets_of_labels_are_classes():
    labels = {"a": np.array([True, False, True]), "b": np.array([True, False, False])}
    assert hospital_data.power_set(labels, "none").tolist() == ["a + b", "none", "a"]


def test_conditions_are_found_among_all_three_diagnoses(tasks):
    names = set(tasks[1].target)
    heart = "ischaemic heart disease"
    assert names == {"none of them", "hypertension", heart, f"hypertension + {heart}"}
    assert not set(hospital_data.DIAGNOSES) & set(tasks[1].frame)
    known = tasks[1].target[tasks[1].known()]
    assert set(known) == {"none of them", "hypertension", heart}


def test_features_are_within_what_the_schema_says(tasks):
    for task in tasks:
        assert set(task.frame) == {*task.schema, hospital_data.PATIENT}
        for name, column in task.schema.items():
            if isinstance(column, Category):
                assert set(task.frame[name]) <= set(column.levels)
            else:
                assert task.frame[name].between(column.lower, column.upper).all()
        encoded = hospital_data.one_hot(task, task.frame)
        assert np.abs(encoded).max() <= 1
        assert len(encoded) == len(task.frame)


def test_no_patient_is_trained_on_and_tested_on(tasks):
    train, test = hospital_data.split(tasks[0], 0)
    patients = tasks[0].frame[hospital_data.PATIENT]
    assert not set(patients.iloc[train]) & set(patients.iloc[test])
    assert len(train) + len(test) == len(patients)


def test_schemas_for_patients_and_for_open_classes(tasks):
    assert tasks[0].per_patient(2).unit == Unit("patient_nbr", rows=2)
    assert tasks[1].open().target == Category()


def test_answers_are_judged():
    classes = np.array(["a", "b"], dtype=object)
    answer = hospital_models.Answer(classes, lambda frame: np.array([[0.9, 0.1]] * len(frame)))
    task = hospital_data.Task(
        "made up", pd.DataFrame({"x": [1, 2, 3, 4]}), np.array(["a", "a", "a", "b"]), None, ""
    )
    outcome = hospital_models.judge(answer, task, np.arange(4), 1.0)
    assert (outcome.accuracy, outcome.balanced, outcome.auc) == (0.75, 0.5, 0.5)


def test_what_torch_is_needed_for_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr(hospital_models.importlib.util, "find_spec", lambda name: None)
    names = [entrant.name for entrant, _ in hospital.turns("readmitted", ("deep", "glvq"), (1.5,))]
    assert names == ["glvq", "glvq"]
    assert hospital.absent(("deep_private", "glvq")) == [
        "DNN, DP-SGD: pip install 'voile[federated]' and pip install opacus"
    ]


@pytest.mark.slow
def test_a_whole_comparison_in_small(tasks, tmp_path):
    models = ("maps_2", "glvq", "logistic", "majority", "maps_open", "maps_auto_patient_1")
    wanted = hospital.turns("conditions", models, (2.0,))
    found = hospital_report.Findings({}, [hospital.compare(tasks[1], wanted, 1)])
    hospital_report.write(found, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "hospital.json",
        "hospital.md",
    }
    text = (tmp_path / "hospital.md").read_text()
    assert "| locally linear maps, 2 per class | eps 2 | encounter |" in text
    assert "patient, 1 encounter used" in text
    assert "classes left open (1 of 1 splits): " in text
    assert "Cosine of the filters with and without privacy, eps 2" in text
    assert not found.failed


def test_a_failure_is_shown_and_is_a_failure():
    cell = hospital_report.Cell("ebm", math.inf, error="RuntimeError: broken")
    result = hospital_report.TaskResult("readmitted", "a note", 8, 2, 3, 1, [cell], [])
    found = hospital_report.Findings({}, [result])
    assert found.failed
    assert "RuntimeError: broken" in hospital_report.markdown(found)


@needs_torch
def test_networks_learn_plainly_and_privately(tasks):
    task = tasks[0]
    train, test = hospital_data.split(task, 0)
    for name, epsilon in (("deep", math.inf), ("deep_patient_1", 4.0)):
        entrant = hospital_models.BY_NAME[name]
        outcome, answer = hospital_models.run(entrant, task, train, test, epsilon, 0)
        chances = answer.chances(task.frame.iloc[test])
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(test)), abs=1e-5)
        assert outcome.accuracy > 0.25
