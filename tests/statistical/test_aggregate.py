"""Groups are dealt evenly, and what they agree on is released with the noise that was guaranteed.

Fixed noise: a correct mechanism passes for good, and planted mistakes are shown to be noticed. With
fresh noise each check would fail by chance about once in a million runs.
"""

import math

import numpy as np
import pytest
from scipy import stats

from voile import Budget, Ledger, Number, Schema, protect
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Approximate, Gaussian, Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import aggregate_mean, center_of_attention
from voile.privacy.mechanisms.attention import UnitBox, attend, noise_scale, smooth_noise
from voile.privacy.vault import keep

SURPRISE = 1e-6
SIZE = 20_000
TRIALS = 1_000


def grant_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    """A grant nobody priced: thousands of accesses to one table are a test, not a job."""
    plan = Plan.of(look=event)
    kind, none = EntryKind.SPEND, Amount()
    entry = new_entry(None, what="test", kind=kind, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def private_table(values):
    table = protect({"a": np.asarray(values)}, schema=Schema({"a": Number(0, 1)}))
    keep(table, ("a",), lambda block: block.kept.update(a=block["a"].copy()))
    return table


# -- dealing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 3, 10, 97])
def test_rows_are_dealt_evenly_and_independently(groups):
    with noise.fixed_noise(groups):
        dealt = noise.deal(200_000, groups)
    counts = np.bincount(dealt, minlength=groups)
    assert counts.shape == (groups,)
    if groups == 1:
        return
    assert stats.chisquare(counts).pvalue > SURPRISE
    pairs = np.bincount(dealt[:-1:2] * groups + dealt[1::2], minlength=groups**2)
    assert stats.chisquare(pairs).pvalue > SURPRISE


def test_dealing_again_is_another_deal():
    assert (noise.deal(1000, 10) != noise.deal(1000, 10)).mean() > 0.5


# -- the mean --------------------------------------------------------------------------------------


def check_mean(relation=NeighbouringRelation.ADD_REMOVE, multiplier=4.7):
    table = private_table([0.5] * 40)
    grant = grant_for(table, Gaussian(1, multiplier), relation)
    # The groups agree, and no group is empty but with a chance of 1e-7.
    with noise.fixed_noise(1):
        release = aggregate_mean(
            table,
            ("a",),
            lambda arrays: np.full(SIZE, 3.0),
            groups=2,
            size=SIZE,
            bound=math.sqrt(SIZE),
            centre=2.5,
            ticket=grant.take("look"),
        )
    expected = multiplier * 2 * math.sqrt(SIZE) / 2
    assert release.standard_error == pytest.approx(expected)
    errors = (release.values - 3.0) / expected
    assert stats.kstest(errors, "norm").pvalue > SURPRISE
    assert abs(errors.std() - 1) < 0.03
    # Values are the centre plus multiples of the grid.
    units = (release.values - 2.5) / release.grid
    assert np.abs(units - np.round(units)).max() < 1e-3


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("multiplier", [0.3, 4.7, 1e4])
def test_the_mean_has_the_guaranteed_noise(relation, multiplier):
    check_mean(relation, multiplier)


def test_half_the_noise_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: original(size, scale) // 2)
    with pytest.raises(AssertionError):
        check_mean()


# -- the centre of attention -----------------------------------------------------------------------

GROUPS = 90
BOX = UnitBox.of(np.zeros(1), np.ones(1))


def centres(learn, values, seed):
    table = private_table(values)
    grant = grant_for(table, Approximate(TRIALS, 8.0, 1e-6))
    released = []
    with noise.fixed_noise(seed):
        for _ in range(TRIALS):
            release = center_of_attention(
                table,
                ("a",),
                learn,
                groups=GROUPS,
                size=1,
                lower=0.0,
                upper=1.0,
                ticket=grant.take("look"),
            )
            released.append(release.values[0])
    return np.array(released)


def check_centres(learn, values, points):
    """``points``: what the groups must have learned, whatever the dealing."""
    attention = attend(points)
    scale = noise_scale(attention, BOX, smooth_noise(8.0, 1e-6, 1)) * BOX.grid
    assert scale < 0.05  # clipping to the box is too far away to matter
    errors = (centres(learn, values, 4) - attention.centre[0] * BOX.grid) / scale
    assert stats.kstest(errors, "norm").pvalue > SURPRISE
    # 1,000 draws: the standard deviation is known to 2.3 percent.
    assert abs(errors.std() - 1) < 0.12


def agree(arrays):
    return [0.5]


@pytest.mark.slow
def test_groups_that_agree_have_the_least_noise():
    points = np.tile(BOX.middle, (GROUPS, 1))  # groups without rows count as the middle, too
    check_centres(agree, [0.5] * 40, points)


@pytest.mark.slow
def test_noise_grows_with_the_scatter_of_the_groups(monkeypatch):
    """Group i learns 0.475 + i / 1800, dealt in turn, so the points are known."""
    monkeypatch.setattr(noise, "deal", lambda size, groups: np.arange(size) % groups)
    values = np.arange(GROUPS) / 1800 + 0.475
    points = np.floor(values / BOX.grid).astype(np.int64)[:, None]
    check_centres(lambda arrays: arrays["a"][:1], values, points)
    together = noise_scale(
        attend(np.tile(BOX.middle, (GROUPS, 1))), BOX, smooth_noise(8.0, 1e-6, 1)
    )
    assert noise_scale(attend(points), BOX, smooth_noise(8.0, 1e-6, 1)) > 5 * together


@pytest.mark.slow
def test_half_the_noise_of_a_centre_would_be_noticed(monkeypatch):
    original = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: original(size, scale) // 2)
    with pytest.raises(AssertionError):
        test_groups_that_agree_have_the_least_noise()
