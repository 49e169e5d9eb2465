"""The benchmark of other libraries: tables are neighbours, breaks are shown, ours hold.

Ours have fixed noise. The noise of interpret-core, if it is installed, and the coins of the audits
that the command starts are fresh: a test fails by them in less than one of 10,000 runs.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.audit import incumbents as audit_incumbents
from benchmarks.audit import incumbents_diffprivlib as diffprivlib_attacks
from benchmarks.audit import incumbents_interpret as interpret_attacks
from benchmarks.audit import incumbents_tables as tables
from benchmarks.audit import incumbents_voile as voile_attacks
from benchmarks.audit.incumbents_attacks import (
    ADDED,
    REPLACED,
    Attack,
    Neighbours,
    carry_out,
    falls_short,
    spoken_warnings,
)
from voile.privacy import noise

CHANCE = np.random.default_rng(0)
PAIRS = {name: value for name, value in vars(tables).items() if isinstance(value, Neighbours)}


def records(table):
    return list(zip(table["x"], table["y"], strict=True))


def tell(table):
    """Released as it is."""
    return float(sum(table["x"]))


def say_nothing(table):
    return float(CHANCE.normal())


def tell_with_a_warning(table):
    import warnings

    warnings.warn("Possible privacy violation", UserWarning, stacklevel=1)
    warnings.warn("slow", RuntimeWarning, stacklevel=1)
    return tell(table)


NUMBERS = Neighbours("a one", {"x": [0.0] * 5, "y": [0.0] * 5}, {"x": 1.0, "y": 0.0})


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_tables_differ_in_one_record(pair):
    without, with_record = (records(one) for one in pair.worlds)
    if pair.relation == ADDED:
        assert with_record[:-1] == without
        assert len(with_record) == len(without) + 1
    else:
        assert pair.relation == REPLACED
        assert len(with_record) == len(without)
        assert [a == b for a, b in zip(without, with_record, strict=True)].count(False) == 1


def test_one_row_more_turns_the_majority_of_every_tree():
    def majorities(table):
        rows = np.array(table["y"], dtype=int)
        trees = (np.arange(len(rows)) // (len(rows) / 10)).astype(int)
        return [round(rows[trees == tree].mean()) for tree in range(10)]

    before, after = (majorities(one) for one in tables.SHIFT.worlds)
    assert before == [0, 1] * 5
    # The first tree only grows: ten rows of it stay, and a row of the other class comes in.
    assert sum(a != b for a, b in zip(before, after, strict=True)) >= 9


def test_a_break_is_shown_and_a_silent_model_is_not():
    broken = Attack("other", "as it is", NUMBERS, tell, 1e-6, breaks=3.0)
    found = carry_out(broken, 400, 1, seed=0)
    assert found.epsilon > 3.0
    assert found.broken
    assert found.name == "other: a one (as it is)"
    assert found.note == "one record replaced; no warning"
    assert falls_short(broken, found) is None
    ours = replace(broken, library="Voile", breaks=None, ours=True)
    assert ours.name == "Voile: same attack, a one (as it is)"
    assert "more than was guaranteed" in falls_short(ours, found)
    quiet = carry_out(replace(ours, fit=say_nothing), 100, 1, seed=0)
    assert falls_short(ours, quiet) is None
    assert "not more than 3" in falls_short(broken, quiet)
    assert "not more than 1" in falls_short(replace(broken, breaks=0.0), quiet)
    assert falls_short(replace(broken, breaks=None), quiet) is None


def test_warnings_about_privacy_are_told_apart():
    attack = Attack("other", "", NUMBERS, tell_with_a_warning, 0.0)
    assert spoken_warnings(attack) == ["UserWarning"]
    assert spoken_warnings(replace(attack, fit=tell)) == []


def test_rows_follow_from_scores():
    rows, noisy, rate, rounds = np.array([499.0, 501.0]), np.array([450.0, 540.0]), 0.01, 300
    scores = np.zeros(2)
    for _ in range(rounds):
        scores += rate * rows * (1000.0 - scores) / noisy
    found = interpret_attacks.rows_by_scores(scores, noisy, 1000.0, rate, rounds)
    assert np.allclose(found, rows, atol=1e-6)


def test_the_incumbent_tells_by_its_bins_and_its_count():
    pytest.importorskip("interpret")
    for attack in interpret_attacks.attacks():
        without, with_record = (attack.fit(one) for one in attack.neighbours.worlds)
        if attack.neighbours is tables.TARGET:
            assert without == [500, 500]
            assert with_record == [499, 501]
        else:
            assert with_record - without == 1.0
        assert spoken_warnings(attack) == []


@pytest.mark.parametrize("attack", voile_attacks.attacks(), ids=lambda one: one.name)
def test_ours_release_numbers_in_either_world(attack):
    if attack.neighbours in (tables.LEVER, tables.FOLDS):
        pytest.skip("slow; the benchmark does it")
    for seed, table in enumerate(attack.neighbours.worlds):
        with noise.fixed_noise(seed):
            released = attack.fit(table)
        assert len(released) > 10
        assert np.isfinite(released).all()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["CATEGORY", "TARGET", "OTHER_LABEL"])
def test_too_little_noise_of_ours_would_be_noticed(what, monkeypatch):
    monkeypatch.setattr(voile_attacks, "EPSILON", 20_000.0)
    pair = getattr(tables, what)
    attack = next(one for one in voile_attacks.attacks() if one.neighbours is pair)
    found = carry_out(attack, 100, 1, seed=1)
    assert found.claimed == 1.0
    assert found.broken
    assert falls_short(attack, found) is not None


def test_cross_validation_trains_one_model_of_ours():
    with noise.fixed_noise(0):
        first, *rest = voile_attacks.fit_folds(tables.FOLDS.table)
    assert first == 1.0
    assert rest


def test_numbers_are_found_wherever_they_are():
    stored = {"a": [1, {"b": "2.5"}], "c": None, "d": "text", "e": True}
    assert voile_attacks.numbers_in(stored) == [1.0, 2.5, 1.0]


@pytest.mark.parametrize("python", [None, "/no/such/python", sys.executable])
def test_a_python_without_the_library_is_said_and_not_fatal(python, monkeypatch, capfd):
    monkeypatch.setattr(interpret_attacks, "is_there", lambda: False)
    # Ours is tested beside scikit-learn 1.9, where the library does not import.
    worker = Path(diffprivlib_attacks.__file__).with_name("no_such_worker.py")
    monkeypatch.setattr(diffprivlib_attacks, "WORKER", worker)
    attacks, missing = audit_incumbents.all_attacks(python)
    assert all(one.ours for one in attacks)
    assert len(missing) == 2
    assert "--diffprivlib-python" in missing[1]
    capfd.readouterr()


def test_the_worker_answers_in_its_own_python(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, sys\n"
        "print(json.dumps({'version': '9.9'}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if asked['fit'] == 'stop': sys.exit(3)\n"
        "    said = {'released': [sum(asked['table']['x'])], 'warnings': ['PrivacyLeakWarning']}\n"
        "    print(json.dumps(said), flush=True)\n"
    )
    monkeypatch.setattr(diffprivlib_attacks, "WORKER", worker)
    monkeypatch.setattr(diffprivlib_attacks, "_workers", {})
    attacks = diffprivlib_attacks.attacks(sys.executable)
    assert {one.library for one in attacks} == {"diffprivlib 9.9"}
    fit = attacks[0].fit
    assert fit({"x": [1, 2], "y": []}) == [3.0]
    assert fit.warnings_about({"x": [1], "y": []}) == ["PrivacyLeakWarning"]
    with pytest.raises(RuntimeError, match="stopped in 'stop'"):
        diffprivlib_attacks.ForeignFit(sys.executable, "stop")({"x": [], "y": []})


def test_the_exit_code_tells(monkeypatch, tmp_path, capsys):
    attack = Attack("Voile", "", NUMBERS, say_nothing, 1e-6, ours=True)
    monkeypatch.setattr(audit_incumbents, "all_attacks", lambda python: ([attack], ["none"]))
    file = tmp_path / "found.json"
    assert audit_incumbents.main(["--runs", "60", "--processes", "1", "--json", str(file)]) == 0
    (found,) = json.loads(file.read_text())["findings"]
    assert found["verdict"] == "not exceeded"
    leaky = replace(attack, fit=tell)
    monkeypatch.setattr(audit_incumbents, "all_attacks", lambda python: ([leaky], []))
    assert audit_incumbents.main(["--quick", "--processes", "1"]) == 1
    assert "NOT AS EXPECTED: Voile" in capsys.readouterr().out
