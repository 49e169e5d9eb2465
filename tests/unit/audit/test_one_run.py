"""One training with many canaries: claims that are kept, claims that are not, and bad input."""

import math

import numpy as np
import pytest

from voile import Category, EBMClassifier, Ledger, Schema
from voile.audit import one_run
from voile.errors import DataError, SettingError
from voile.privacy import noise
from voile.privacy.budget import Budget

NAMES = [f"canary {i}" for i in range(100)]


class Responses:
    """Randomized response about every canary; the rows themselves are not used otherwise."""

    def __init__(self, epsilon, seed, delta=0.0):
        self.truth = 1.0 / (1.0 + math.exp(-epsilon))
        self.generator, self.delta = np.random.default_rng(seed), delta

    def __call__(self, rows):
        present = np.isin(NAMES, rows)
        lies = self.generator.random(len(NAMES)) > self.truth
        told = self.generator.random(len(NAMES)) < self.delta
        answers = np.where(present ^ (lies & ~told), 1.0, -1.0) * np.where(told, 9.0, 1.0)
        return dict(zip(NAMES, answers, strict=True))


def attacked(fit, seed=0, canaries=NAMES, **settings):
    settings = {"score": lambda released, canary: released[canary], "epsilon": 1.0, **settings}
    return one_run(fit, ["other"], canaries, random_state=seed, **settings)


# -- guarantees ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.0, 0.0), (1.0, 0.01)])
def test_randomized_response_keeps_its_claim(epsilon, delta):
    """200 repetitions at 95 %; more than 10 are expected in none, more than 18 never (0.5 %)."""
    found = [
        attacked(Responses(epsilon, 1000 + seed, delta), seed, epsilon=epsilon, delta=delta)
        for seed in range(200)
    ]
    assert sum(one.broken for one in found) <= 18
    if epsilon and not delta:
        assert np.mean([one.epsilon for one in found]) > 0.2


def test_a_claim_that_is_far_too_small_is_found():
    found = [attacked(Responses(5.0, seed), seed) for seed in range(20)]
    assert all(one.broken for one in found)
    assert max(one.epsilon for one in found) < 5.0


def test_a_fit_without_noise_is_found():
    found = attacked(lambda rows: {name: float(name in rows) for name in NAMES}, delta=1e-6)
    assert found.verdict == "BROKEN"
    assert found.right == found.guesses
    assert found.epsilon > 2.3
    assert (found.runs, found.method) == (100, "one run")
    assert found.advantage.value == pytest.approx(1.0)


@pytest.mark.parametrize("count", [20, 21, 23, 99])
def test_any_number_of_canaries(count):
    found = attacked(
        lambda rows: {name: float(name in rows) for name in NAMES}, canaries=NAMES[:count]
    )
    assert found.runs == count
    assert 0 < found.right <= found.guesses <= count
    # No more than all guesses right can show, at a quarter of the risk.
    share = 0.0125 ** (1 / count)
    assert 0.5 < found.epsilon <= math.log(share / (1 - share)) + 1e-6


def test_scores_that_are_all_the_same_say_nothing():
    """Ties are broken by the order of the canaries, which knows nothing of the coins."""
    found = [attacked(lambda rows: dict.fromkeys(NAMES, 0.0), seed) for seed in range(100)]
    assert sum(one.epsilon > 0.0 for one in found) <= 11  # 5 expected at most; 0.4 % for more


def test_seeds_decide_the_coins():
    def fit(rows):
        seen.append(tuple(rows))
        return dict.fromkeys(NAMES, 0.0)

    seen = []
    for seed in (0, 0, 1):
        attacked(fit, seed)
    assert seen[0] == seen[1] != seen[2]
    assert 30 < len(seen[0]) - 1 < 70


def test_noise_may_be_fixed():
    def fit(rows):
        return {name: noise.gaussian(1, 1e6)[0] + 1e6 * (name in rows) for name in NAMES}

    assert attacked(fit, noise_seed=1) == attacked(fit, noise_seed=1)
    assert attacked(fit, noise_seed=1) != attacked(fit, noise_seed=2)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"canaries": NAMES[:19]},
        {"canaries": []},
        {"confidence": 1.0},
        {"confidence": math.nan},
        {"delta": 1.0},
        {"delta": math.nan},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"score": None},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(SettingError):
        attacked(Responses(1.0, 0), **settings)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, None, "text", [1.0, 2.0], 10**400]
)
def test_scores_that_are_no_numbers_are_refused(value):
    def score(released, canary):
        return value if canary == NAMES[7] else 0.0

    with pytest.raises(DataError, match="score is no"):
        attacked(Responses(1.0, 0), score=score)


def test_a_way_to_join_of_ones_own():
    rows = {"all": frozenset()}
    found = one_run(
        lambda table: table["all"],
        rows,
        NAMES,
        score=lambda released, canary: float(canary in released),
        join=lambda table, canary: {"all": table["all"] | {canary}},
        random_state=0,
    )
    assert found.verdict == "no claim"
    assert found.epsilon > 2.0
    assert rows == {"all": frozenset()}


# -- the insider -----------------------------------------------------------------------------------

LEVELS = [f"level {i}" for i in range(102)]
SCHEMA = Schema({"a": Category(LEVELS)}, target=Category(["no", "yes"]), rows=150)
TABLE = ({"a": LEVELS[100:] * 50}, ["no", "yes"] * 50)
CANARIES = [({"a": level}, "yes") for level in LEVELS[:100]]


def test_a_hundred_lone_levels_of_a_machine():
    model = EBMClassifier(epsilon=2.0, delta=1e-5, schema=SCHEMA)
    found = one_run(model, TABLE, CANARIES, random_state=0, noise_seed=0)
    assert (found.name, found.delta) == ("EBMClassifier", 1e-5)
    assert found.claimed == pytest.approx(2.0)
    assert found.verdict == "not exceeded"
    # At a hundred times the claim, nearly every canary is told.
    loose = EBMClassifier(epsilon=400.0, delta=1e-5, schema=SCHEMA)
    found = one_run(loose, TABLE, CANARIES, epsilon=1.0, delta=1e-5, random_state=0, noise_seed=0)
    assert found.broken
    assert found.advantage.value > 0.8


def test_an_estimator_with_a_ledger_is_refused():
    ledger = Ledger(Budget(1.0, 1e-5))
    with pytest.raises(SettingError, match="ledger"):
        one_run(EBMClassifier(schema=SCHEMA, ledger=ledger), TABLE, CANARIES)
