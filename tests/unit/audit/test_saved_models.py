"""The audit of a saved model attacks the training that it had, and says what it did not attack."""

import json
from dataclasses import replace

import numpy as np
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    Schema,
    Unit,
    load,
)
from voile.audit import lower_bound, saved_models
from voile.audit.insider import Insider
from voile.audit.saved_models import audit_model
from voile.errors import ModelError, SettingError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation

CHANCE = np.random.default_rng(0)
X = {"a": CHANCE.uniform(0, 10, 400), "b": CHANCE.uniform(0, 10, 400)}
Y = np.where(X["a"] > 5, "yes", "no")
SCHEMA = Schema({"a": Number(0, 10), "b": Number(0, 10)}, target=Category(["no", "yes"]))
SMALL = {"epsilon": 4.0, "schema": SCHEMA, "rounds": 3, "bins": 4}
FEW = {"runs": 20, "processes": 1, "random_state": 0}


def replacing(epsilon=4.0):
    return Ledger(Budget(epsilon, 1e-6), relation="replace_one")


@pytest.fixture
def attacked(monkeypatch):
    """Estimators and canaries that were given to the attack, which is made all the same."""
    seen = []

    def watch(fit, dataset, canary, **more):
        seen.append((fit, more))
        return lower_bound(fit, dataset, canary, **more)

    monkeypatch.setattr(saved_models, "lower_bound", watch)
    return seen


def saved(model, path, without=None):
    """What comes back of a model's file, without one of its fields."""
    data = json.loads(model.save(path).read_text())
    path.write_text(json.dumps({name: one for name, one in data.items() if name != without}))
    return load(path)


def test_the_settings_of_the_training_are_attacked(attacked, tmp_path):
    model = saved(EBMClassifier(**SMALL, method="cyclic").fit(X, Y), tmp_path / "m.voile")
    (found,) = audit_model(model, **FEW).findings
    ((again, _),) = attacked
    assert (again.method, again.rounds, again.bins) == ("cyclic", 3, 4)
    labels = {line.label: line.event.count for line in again.fit(X, Y).receipt_.lines}
    assert labels["cyclic steps"] == 6
    assert "rounds" not in labels
    assert found.claimed == pytest.approx(4.0, abs=1e-6)
    assert "not recorded" not in found.note
    assert "not attacked" not in found.note


def test_later_parameters_are_not_those_of_the_training(attacked):
    model = EBMClassifier(**SMALL, method="cyclic").fit(X, Y).set_params(method="rounds", rounds=7)
    audit_model(model, **FEW)
    assert (attacked[0][0].method, attacked[0][0].rounds) == ("cyclic", 3)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (GLVQClassifier(schema=SCHEMA, typical=0.9, epsilon=2.0), {"typical": 0.9}),
        (
            LocallyLinearClassifier(schema=SCHEMA, steps=2, sampling_rate=1.0, maps=2),
            {"steps": 2, "sampling_rate": 1.0, "maps": 2},
        ),
    ],
    ids=["prototypes", "maps"],
)
def test_the_settings_of_every_kind_are_attacked(model, expected, attacked, tmp_path):
    audit_model(saved(model.fit(X, Y), tmp_path / "m.voile"), **FEW)
    given = attacked[0][0].get_params()
    assert {name: given[name] for name in expected} == expected


def test_of_an_earlier_file_the_note_says_that_default_settings_were_attacked(attacked, tmp_path):
    model = saved(
        EBMClassifier(**SMALL, method="cyclic").fit(X, Y), tmp_path / "m.voile", "settings"
    )
    (found,) = audit_model(model, **FEW).findings
    assert attacked[0][0].method == "rounds"
    assert "not recorded in the file: default ones were attacked" in found.note
    assert "were not attacked: cyclic steps." in found.note


def test_the_note_names_settings_that_are_not_recorded(tmp_path):
    model = EBMClassifier(**SMALL, random_state=np.random.default_rng(0)).fit(X, Y)
    (found,) = audit_model(saved(model, tmp_path / "m.voile"), **FEW).findings
    assert "random_state" in found.note


def test_the_note_says_that_private_discovery_was_not_attacked(tmp_path):
    rows = {**X, "c": np.tile(["A", "B"], 200)}
    model = EBMClassifier(epsilon=4.0, rounds=3, bins=4).fit(rows, Y)
    (found,) = audit_model(saved(model, tmp_path / "m.voile"), **FEW).findings
    unseen = found.note.split("were not attacked: ")[1]
    assert unseen == (
        "classes of the target, bounds of unlisted numbers, levels of unlisted categories."
    )


def test_the_note_says_what_an_insider_does_not_see():
    model = GLVQClassifier(epsilon=8.0, schema=SCHEMA, mechanism="sample_aggregate", groups=5)
    (found,) = audit_model(model.fit(X, Y), **FEW).findings
    assert "were not attacked: prototypes of groups." in found.note


def test_the_note_tells_of_weights_and_edits():
    model = EBMClassifier(**SMALL, largest_weight=2.0).fit(X, Y, sample_weight=np.ones(400))
    edited = model.with_model(model.edit("me").drop("b"))
    (found,) = audit_model(edited, **FEW).findings
    assert "weights" in found.note
    assert "Edits" in found.note


# -- guarantees about replaced rows ---------------------------------------------------------------


def test_a_guarantee_about_replaced_rows_is_tested_in_worlds_of_as_many_rows(attacked, tmp_path):
    model = saved(EBMClassifier(**SMALL, ledger=replacing()).fit(X, Y), tmp_path / "m.voile")
    assert model.receipt_.relation is NeighbouringRelation.REPLACE_ONE
    (found,) = audit_model(model, **FEW).findings
    ((again, more),) = attacked
    assert again.ledger is None
    assert more["instead_of"] == ({"a": 0.0, "b": 0.0}, "no")
    assert found.claimed == pytest.approx(4.0, abs=1e-6)
    assert "in another's place" in found.name


def test_a_guarantee_about_added_rows_is_tested_by_an_added_row(attacked):
    audit_model(EBMRegressor(epsilon=4.0, rounds=2, bins=4).fit(X, X["a"]), **FEW)
    assert attacked[0][1]["instead_of"] is None


def pair():
    """All but one row, and the two rows of which one is there."""
    crowd = {name: np.full(60, 2.0) for name in SCHEMA}, np.full(60, "no")
    return crowd, ({"a": 10.0, "b": 10.0}, "yes"), ({"a": 0.0, "b": 0.0}, "no")


def test_an_insider_of_replaced_rows_pays_for_them_in_every_run():
    crowd, canary, other = pair()
    insider = Insider(EBMClassifier(**SMALL), crowd, [canary], other)
    assert insider.receipt().relation is NeighbouringRelation.REPLACE_ONE
    assert insider.receipt().epsilon == pytest.approx(4.0, abs=1e-6)
    assert Insider(EBMClassifier(**SMALL), crowd, [canary]).receipt().relation is (
        NeighbouringRelation.ADD_REMOVE
    )
    assert insider.watched() == {"the target", "bins of numbers", "rounds"}


def test_the_two_worlds_are_the_same_if_the_row_is_replaced_by_itself():
    crowd, _, other = pair()
    insider = Insider(EBMClassifier(**SMALL), crowd, [other], other)
    assert not insider(True).any()
    assert not insider(False).any()


@pytest.mark.slow
def test_too_little_noise_is_found_where_rows_are_replaced(monkeypatch):
    model = EBMClassifier(**SMALL, ledger=replacing()).fit(X, Y)
    settings = {"runs": 200, "processes": 1, "random_state": 0}
    assert not audit_model(model, **settings).broken
    drawn = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: drawn(size, scale / 20.0))
    assert audit_model(model, **settings).broken


def test_functions_say_themselves_how_a_row_is_replaced():
    with pytest.raises(SettingError, match="join="):
        lower_bound(sum, [0.0], 1.0, instead_of=0.0, runs=20)


def test_other_worlds_are_another_audit(tmp_path):
    crowd, canary, other = pair()
    model, file = EBMClassifier(**SMALL), tmp_path / "runs.jsonl"
    same = {"runs": 20, "processes": 1, "random_state": 0, "resume": file}
    lower_bound(model, crowd, canary, **same)
    with pytest.raises(SettingError):
        lower_bound(model, crowd, canary, instead_of=other, **same)


# -- what is refused ----------------------------------------------------------------------------


def test_the_receipt_of_a_teacher_is_not_this_trainings():
    student = LocallyLinearClassifier(steps=3).learn_from(EBMClassifier(**SMALL).fit(X, Y))
    with pytest.raises(ModelError, match="EBMClassifier"):
        audit_model(student, **FEW)


def test_guarantees_about_others_than_rows_are_refused():
    rows = {**X, "who": np.arange(400) // 2}
    schema = Schema(dict(SCHEMA), target=SCHEMA.target, unit=Unit("who", rows=2))
    model = EBMClassifier(**{**SMALL, "schema": schema}).fit(rows, Y)
    with pytest.raises(SettingError, match="about rows"):
        audit_model(model, **FEW)
    model = EBMClassifier(**SMALL).fit(X, Y)
    model.model_ = replace(model.model_, receipt=replace(model.receipt_, unit="client"))
    with pytest.raises(SettingError, match="client"):
        audit_model(model, **FEW)


def test_without_a_guarantee_there_is_no_claim():
    model = EBMClassifier(**{**SMALL, "epsilon": np.inf}).fit(X, Y)
    with pytest.raises(ModelError, match="no claim"):
        audit_model(model, **FEW)
