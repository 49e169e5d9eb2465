"""A replay catches every violation that is planted, and nothing where none is."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from replay_bugs import BUGS
from replay_paths import COUNTS, Path, make_paths, small_blocks
from replay_tables import make_rows, schema_of

from voile import Budget, Number, Schema, protect, summarize
from voile.audit import Replay, replay, replay_mechanism
from voile.errors import SettingError
from voile.privacy.events import Gaussian, Plan
from voile.privacy.mechanisms import gaussian_sum


def too_many(rows, ledger):
    """Takes twice as many tickets as it paid for."""
    table = protect(rows.X, rows.y, schema=schema_of())
    grant = ledger.pay(Plan.of(sums=Gaussian(2, 9.0)), table, "sums")
    return [gaussian_sum(table, COUNTS, grant.take("sums")) for _ in range(4)]


PATHS = {path.name: path for path in (*make_paths(), Path("too many", too_many, ()))}


def replay_path(path, relation, neighbours=5):
    rows, near = path.tables(relation)
    telling = ("corner", "without the first", "unlisted", "missing")
    order = sorted(near, key=lambda name: [word not in name for word in telling])
    chosen = [near[name] for name in order[:neighbours]]
    with small_blocks():
        return replay(
            path.run,
            rows,
            *chosen,
            budget=path.budget,
            relation=relation,
            filter=path.filter,
            name=path.name,
        )


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_violation_is_caught(bug):
    with bug.plant():
        found = replay_path(PATHS[bug.path], bug.relation)
    assert found.kinds & bug.kinds, str(found)


def test_thirteen_kinds_of_violations_are_planted():
    assert len(BUGS) >= 13
    assert {kind for bug in BUGS for kind in bug.kinds} >= {
        "sensitivity",
        "noise",
        "shape",
        "output",
        "order",
        "payment",
        "receipt",
        "relation",
        "composition",
        "sampling",
    }


@pytest.mark.parametrize("path", sorted({(bug.path, bug.relation) for bug in BUGS}))
def test_nothing_is_found_where_nothing_is_planted(path):
    name, relation = path
    found = replay_path(PATHS[name], relation, neighbours=1)
    assert found.kinds <= ({"payment"} if name == "too many" else set())


# -- runs that are wrong by themselves -----------------------------------------------------------


def sums_of(rows, ledger, times=1):
    table = protect(rows.X, rows.y, schema=schema_of())
    grant = ledger.pay(Plan.of(sums=Gaussian(times, 9.0)), table, "sums")
    return table, grant


def stops_by_the_rows(rows, ledger):
    table, grant = sums_of(rows, ledger, 3)
    return [gaussian_sum(table, COUNTS, grant.take("sums")) for _ in range(1 + (len(rows.y) > 23))]


def asks_by_the_rows(rows, ledger):
    table, grant = sums_of(rows, ledger)
    ticket = grant.take("sums")
    return gaussian_sum(table, COUNTS.parts[int(len(rows.y) > 23)], ticket)


def fails_by_the_rows(rows, ledger):
    if len(rows.y) < 24:
        raise ValueError("too few rows")
    return sums_of(rows, ledger)[1].plan


def keeps_the_rows(rows, ledger):
    table, grant = sums_of(rows, ledger)
    return (lambda: rows), gaussian_sum(table, COUNTS, grant.take("sums"))


def varies(rows, ledger):
    return len(rows.y) + np.random.default_rng().normal()


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (stops_by_the_rows, "order"),
        (asks_by_the_rows, "shape"),
        (fails_by_the_rows, "output"),
        (keeps_the_rows, "output"),
        (varies, "repeatable"),
    ],
)
def test_a_run_that_leaks_by_itself_is_caught(run, kind):
    rows = make_rows()
    assert kind in replay(run, rows, rows.without(0)).kinds


def test_a_replay_tells_what_it_found():
    rows = make_rows()
    found = replay(PATHS["Gaussian sums"].run, rows, rows.without(3), name="counts")
    assert isinstance(found, Replay)
    assert found.verdict == "nothing found"
    assert "counts: replayed on 1 neighbour (add_remove), nothing found" in str(found)
    data = json.loads(found.to_json())
    assert data["broken"] is False
    assert [one["label"] for one in data["accesses"]] == ["sums", "sums"]
    bad = replay(varies, rows, rows.without(3))
    assert bad.broken
    assert "VIOLATION" in str(bad)
    assert json.loads(bad.to_json())["violations"]


def test_a_replay_needs_a_neighbour():
    with pytest.raises(SettingError, match="neighbour"):
        replay(too_many, make_rows())


def test_an_unprotected_run_is_no_guarantee_and_no_receipt_guarantees_one():
    rows = make_rows()

    def exact(rows, ledger):
        return summarize(rows.X, epsilon=math.inf, schema=Schema({"n": Number(-3, 3)}))

    assert "payment" in replay(exact, rows, rows.without(0)).kinds


# -- mechanisms of others ------------------------------------------------------------------------

AGES = np.array([31.0, 47.0, 62.0, 80.0, 19.0])
CLAIM = Budget(1.0, 1e-6)


def clipped_mean(ages, releases):
    total = releases.laplace(np.clip(ages, 0, 100).sum(), sensitivity=100, scale=250)
    count = releases.laplace(len(ages), sensitivity=1, scale=2.5)
    return float(total[0] / count[0])


def gaussian_vector(ages, releases):
    shares = np.column_stack([ages / 200, 1 - ages / 200])
    return releases.gaussian(shares.sum(axis=0), sensitivity=1.0, scale=6.0)


def sampled_sum(ages, releases):
    chosen = releases.sample(ages, 0.3)
    return releases.gaussian(np.clip(ages[chosen], 0, 50).sum(), sensitivity=50, scale=150)


def best_decade(ages, releases):
    counts = np.bincount((ages // 10).astype(int), minlength=12)
    return releases.choose(counts, sensitivity=1, epsilon=0.5)


def names_found(ages, releases):
    found = Counter(f"{age // 40:.0f}" for age in ages)
    return releases.counts(found, sensitivity=1, scale=5.0, threshold=1 + 5 * 5.2, delta=1e-7)


@pytest.mark.parametrize(
    "mechanism", [clipped_mean, gaussian_vector, sampled_sum, best_decade, names_found]
)
def test_sound_mechanisms_of_others_pass(mechanism):
    near = [AGES[1:], AGES[:-1], np.append(AGES, 100.0), np.append(AGES, 0.0)]
    found = replay_mechanism(mechanism, AGES, *near, claim=CLAIM)
    assert not found.broken, str(found)


def unclipped_mean(ages, releases):
    return releases.laplace(ages.sum(), sensitivity=50, scale=250)


def actual_count(ages, releases):
    return releases.laplace(ages.sum(), sensitivity=100, scale=250) / len(ages)


def scale_by_data(ages, releases):
    return releases.gaussian(ages.sum(), sensitivity=100, scale=10 * ages.max() + 1000)


def one_per_row(ages, releases):
    return releases.gaussian(ages, sensitivity=100, scale=600)


def too_dear(ages, releases):
    return [releases.laplace(len(ages), sensitivity=1, scale=2) for _ in range(3)]


def low_threshold(ages, releases):
    found = Counter(f"{age:.0f}" for age in ages)
    return releases.counts(found, sensitivity=1, scale=5.0, threshold=2.0, delta=1e-7)


def half_sensitivity_choice(ages, releases):
    old = ages > 45
    return releases.choose([old.sum(), (~old).sum()], sensitivity=0.4, epsilon=0.5)


def not_finite(ages, releases):
    return releases.gaussian(np.inf if 31.0 in ages else 0.0, sensitivity=100, scale=600)


def sampled_too_wide(ages, releases):
    chosen = releases.sample(ages, 0.3)
    return releases.gaussian(ages[chosen].sum(), sensitivity=50, scale=100)


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (unclipped_mean, "sensitivity"),
        (actual_count, "output"),
        (scale_by_data, "noise"),
        (one_per_row, "shape"),
        (too_dear, "composition"),
        (low_threshold, "output"),
        (half_sensitivity_choice, "sensitivity"),
        (sampled_too_wide, "sensitivity"),
        (not_finite, "sensitivity"),
    ],
)
def test_wrong_mechanisms_of_others_are_caught(mechanism, kind):
    other = np.append(AGES[:-1], 99.0)
    replaced = mechanism is half_sensitivity_choice
    relation = "replace_one" if replaced else "add_remove"
    near = [other] if replaced else [np.append(AGES, 99.0), AGES[1:]]
    found = replay_mechanism(mechanism, AGES, *near, claim=CLAIM, relation=relation)
    assert kind in found.kinds, str(found)


@pytest.mark.parametrize("figure", [0.0, -1.0, math.nan, math.inf])
def test_figures_of_others_must_be_positive(figure):
    def wrong(rows, releases):
        return releases.gaussian(rows.sum(), sensitivity=figure, scale=1.0)

    found = replay_mechanism(wrong, AGES, AGES[1:], claim=CLAIM)
    assert "SettingError" in found.outcome
