"""Audits of networks and federated training: right noise passes, half of it is found."""

import math
import sys
from unittest import mock

import numpy as np
import pytest
import torch

from voile import Category, Number, Schema
from voile.audit import one_run
from voile.audit.trials import networks
from voile.audit.trials.federated import clients
from voile.errors import MissingExtra
from voile.privacy import noise
from voile.privacy.gaussian_dp import mu_of

NETWORKS, CLIENTS = networks.trials(), clients.trials()
REAL = noise.gaussian


def half(size, scale):
    return REAL(size, scale / 2)


def trial(words):
    (found,) = [one for one in (*NETWORKS, *CLIENTS) if words in one.name]
    return found


def audit(one, runs, **settings):
    return one.audit(runs, processes=1, random_state=1, noise_seed=1, **settings)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "runs"),
    [
        # Fewer than a trial's own runs: enough with these seeds, and quicker.
        ("all rows in every step", 200),
        ("a whole client, all", 160),
    ],
)
def test_right_noise_passes_and_half_of_it_is_found(words, runs):
    one = trial(words)
    clean = audit(one, runs)
    assert clean.verdict == "not exceeded"
    assert clean.claimed == pytest.approx(8.0)
    # What is seen comes near to what is guaranteed, or the audit would notice nothing.
    assert clean.advantage.value > 0.3
    with mock.patch.object(noise, "gaussian", half):
        assert audit(one, runs).verdict == "BROKEN"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "placed: selective",
        "placed: shuffled",
        "placed: sparse",
        "(EBM), seen in the sums that an aggregator",
        "(EBM), seen by a server that adds up",
        "(EBM), seen by a server that nobody",
    ],
)
def test_the_insider_sees_what_the_noise_lets_through(words):
    """Scores are log-likelihood ratios: apart by mu^2, with a spread of mu, in units of noise."""
    one = trial(words)
    with noise.fixed_noise(3):
        if callable(one.fit):
            scores = [one.fit((one.dataset[0], i % 2 == 1)) for i in range(30)]
        else:
            insider = networks_insider(one)
            scores = [insider(i % 2 == 1) for i in range(30)]
    without, there = np.array(scores[::2]), np.array(scores[1::2])
    spread = math.sqrt((without.var(ddof=1) + there.var(ddof=1)) / 2)
    mu = mu_of(8.0, 1e-5)
    assert 0.65 * mu < spread < 1.35 * mu
    assert 0.6 * mu < (there.mean() - without.mean()) / spread < 1.6 * mu


def networks_insider(one):
    from voile.audit.insider import Insider

    return Insider(one.fit, one.dataset, [one.canary])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dp_faithful", "random_faithful", "gradcam_faithful"])
def test_published_noise_hides_little_and_guarantees_nothing(mode):
    found = audit(trial(mode), 40)
    assert found.verdict == "no guarantee"
    assert found.epsilon > 1.0
    assert "Its authors call this epsilon 8" in found.note


def audit_one_training():
    """One training with many canaries, each of one lit pixel and one class of its own."""
    # Of c classes, gradients at one pixel have products of -1/c: nearly none.
    classes, side, canaries = [f"class {i}" for i in range(16)], 3, 96
    schema = Schema(
        {f"pixel {i}": Number(0, 255) for i in range(side * side)}, target=Category(classes)
    )
    lit = np.eye(side * side) * 255.0
    chosen = [(lit[i // 16], classes[i % 16]) for i in range(canaries)]
    dark = np.zeros((20, side * side)), np.array([classes[i % 16] for i in range(20)])
    network = networks.PixelNetwork(epsilon=8.0, delta=1e-5, schema=schema, side=side)
    return one_run(network, dark, chosen, random_state=2, noise_seed=2)


def test_one_training_with_many_canaries():
    clean = audit_one_training()
    assert 0.0 < clean.epsilon < clean.claimed
    # So few canaries could not have shown more than was claimed, had every guess been right.
    assert clean.verdict == "too few runs"
    assert clean.epsilon < clean.could_show < clean.claimed
    with mock.patch.object(noise, "gaussian", lambda size, scale: REAL(size, scale / 8)):
        assert audit_one_training().epsilon > clean.epsilon


def test_masks_hide_an_answer_and_vanish_in_the_sum():
    one = trial("masked answer alone")
    answers = np.array([one.fit(one.dataset) for _ in range(6)])
    # Uniform over 64 bits: far beyond any sum, and never twice the same.
    assert np.median(np.abs(answers)) > 0.1
    assert len(np.unique(answers)) == answers.size


def test_a_planted_client_moves_the_network_its_way():
    one = trial("a whole client, all")
    with noise.fixed_noise(0):
        without = one.fit(one.dataset)
    with noise.fixed_noise(0):
        there = one.fit(one.join(one.dataset, one.canary))
    # Clipped to 1e-3 in each of two rounds, one of two clients, along (-1, 1).
    assert there - without == pytest.approx(2 * 1e-3 * math.sqrt(2) / 2, rel=1e-3)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "voile.models.networks.architectures", None)
    with pytest.raises(MissingExtra, match="torch"):
        networks.make_known(convolution=False)


def test_trials_say_what_they_are():
    every = (*NETWORKS, *CLIENTS)
    assert len({one.title for one in every}) == len(every)
    assert {one.family for one in every} == {"networks", "federated"}


def test_half_the_noise_shows_in_the_scores():
    """As above, so that the bounds there are known to notice something."""
    one = trial("placed: sparse")
    with noise.fixed_noise(3), mock.patch.object(noise, "gaussian", half):
        insider = networks_insider(one)
        spread = np.std([insider(False) for _ in range(30)], ddof=1)
    assert spread < 0.65 * mu_of(8.0, 1e-5)
