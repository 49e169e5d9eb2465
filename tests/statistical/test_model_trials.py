"""Canaries for models bite: they reach the claim, never exceed it, and show too little noise.

An insider's canary reaches mu if the squares of its shares, over those of the noise, sum to mu^2:
this is worked out look by access. Whole audits are made of the fastest trials alone. Noise and
coins are fixed, so that a correct library passes for good.
"""

import dataclasses
import math
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone

from voile.audit.insider import Insider, is_watchable
from voile.audit.trials import blackbox, ebm, locally_linear, lvq
from voile.privacy import noise
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.sources.insider import InsiderSource

EPSILON, DELTA = 8.0, 1e-5
FAMILIES = (ebm, lvq, locally_linear, blackbox)
ALL = {one.title: one for module in FAMILIES for one in module.trials(EPSILON, DELTA)}
WATCHED = [
    title
    for title, one in ALL.items()
    if is_watchable(one.fit) and getattr(one.fit, "sampling_rate", 1.0) in (1.0, "auto")
]
INSIDERS = [title for title in WATCHED if getattr(ALL[title].fit, "mechanism", "") != "sgd"]

LEAST = 0.9
"""Share of the claim that every insider's canary reaches."""

CONFIDENCE = 0.999
AUDITED = [
    "EBM: a listed level of its own",
    "prototypes: class means",
    "explainer: transcript, release",
]


def halved():
    """Noise of half the scale that was asked for."""
    gaussian, laplace = noise.gaussian, noise.laplace
    return mock.patch.multiple(
        noise,
        gaussian=lambda size, scale: gaussian(size, scale / 2),
        laplace=lambda size, scale: laplace(size, scale / 2),
    )


def test_trials_have_names_of_their_own():
    count = sum(len(module.trials(EPSILON, DELTA)) for module in FAMILIES)
    assert len(ALL) == count >= 30
    assert len(INSIDERS) == 24


@pytest.fixture
def seen(monkeypatch):
    """Squared length of the canary's share over that of the noise, look by access."""
    result = []
    original = InsiderSource.noised_total

    def noised_total(self, query, grid, scale, *, rate=1.0):
        noised = original(self, query, grid, scale, rate=rate)
        result.append(np.sum((self._shares[0] * (grid / scale)) ** 2))
        return noised

    monkeypatch.setattr(InsiderSource, "noised_total", noised_total)
    return result


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("title", INSIDERS)
def test_a_canary_reaches_what_is_claimed_and_no_more(title, there, seen):
    trial = ALL[title]
    insider = Insider(trial.fit, trial.dataset, [trial.canary])
    claimed = mu_of(EPSILON, DELTA)
    for seed in range(3):
        seen.clear()
        with noise.fixed_noise(seed):
            insider(there)
        reached = math.sqrt(sum(seen)) / claimed
        assert LEAST < reached < 1.0 + 1e-6


def test_the_trial_of_a_chosen_pair_chooses_one():
    trial = ALL["EBM: alone in a cell of a chosen pair"]
    X, y = trial.dataset
    for seed in range(3):
        with noise.fixed_noise(seed):
            model = clone(trial.fit).fit(X, y).model_
        assert [pair.columns for pair in model.pairs] == [("x", "z")]
        assert model.pairs[0].evidence.candidates == 1


def test_all_that_is_released_of_a_pair_is_looked_at():
    trial = ALL["EBM: alone in a cell of a named pair"]
    with noise.fixed_noise(1):
        model = clone(trial.fit).fit(*trial.dataset).model_
    (pair,) = model.pairs
    before = ebm.released(model)
    for name in ("scores", "standard_errors", "whole_errors", "counts", "count_errors"):
        values = getattr(pair, name).copy()
        values.flat[-1] += 1.0
        changed = model.with_pair(dataclasses.replace(pair, **{name: values}))
        assert (ebm.released(changed) != before).sum() == 1
    cuts = dataclasses.replace(pair.first, cuts=pair.first.cuts + 1.0)
    changed = ebm.released(model.with_pair(dataclasses.replace(pair, first=cuts)))
    assert (changed != before).sum() == len(cuts.cuts) > 0


@pytest.mark.slow
@pytest.mark.parametrize("title", AUDITED)
def test_half_the_noise_is_noticed(title):
    settings = {"confidence": CONFIDENCE, "processes": 1, "random_state": 1, "noise_seed": 2}
    with halved():
        assert ALL[title].audit(**settings).broken


@pytest.mark.slow
def test_all_of_the_noise_is_enough():
    settings = {"confidence": CONFIDENCE, "processes": 1, "random_state": 1, "noise_seed": 2}
    clean = ALL["prototypes: class means"].audit(400, **settings)
    assert not clean.broken
    assert clean.claimed == pytest.approx(EPSILON)
    assert clean.mu > 0.3 * clean.claimed_mu


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["adaptive", "enhanced"])
def test_the_published_rule_for_steps_is_noticed(strategy):
    title = f"explainer: steps of {strategy!r}, straddling a threshold"
    settings = {"confidence": CONFIDENCE, "processes": 1, "random_state": 1, "noise_seed": 2}
    trial = ALL[title]
    assert not trial.audit(60, **settings).broken
    fit = blackbox.count_steps(strategy, epsilon=EPSILON, delta=DELTA, faithful=True)
    published = type(trial)(**{**vars(trial), "fit": fit})
    assert published.audit(**settings).broken


def test_claims_are_those_that_were_asked_for():
    for module in FAMILIES:
        for trial in module.trials(1.0, 1e-6):
            asked = (trial.epsilon, trial.delta)
            if is_watchable(trial.fit):
                assert trial.epsilon is None
                asked = (trial.fit.epsilon, trial.fit.delta)
            # Sampled rows are audited at a large delta.
            assert asked == (1.0, 1e-6) or (asked[0] == 1.0 / 8.0 and asked[1] > 1e-3)
