"""Prototypes learned apart on disjoint groups of rows: the published "SA" and "COA".

Each group learns by itself, whatever it likes; noise is added to what the groups agree on. Mean
with Gaussian noise ("sample_aggregate"), or the point with most others near it, with noise by
smooth sensitivity ("center_of_attention"). There to be compared with: `gaussian` is more accurate.
Several prototypes of a class are matched by assignment to common seeds. Brinkrolf et al. 2019;
bounds: docs/proofs/aggregate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from voile.errors import SettingError
from voile.models.lvq.evidence import weigh_classes
from voile.models.lvq.means import in_ball, release_means, spread_out
from voile.models.lvq.pulls import Rule, short_pulls
from voile.models.lvq.settings import CLIP, MEANS_ACCESS, STRIDE, Settings, Start, labels_of
from voile.models.lvq.space import CLASSES, ONE, POINTS, Space
from voile.models.lvq.train import Trained, slope_for
from voile.privacy.budget import Budget
from voile.privacy.calibrate import approximate_step, gaussian_step
from voile.privacy.events import Approximate, Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import aggregate_mean, center_of_attention
from voile.privacy.mechanisms.attention import attention_groups, least_share, smooth_noise
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

GROUPS_ACCESS = "prototypes of groups"

_MEANS = 0.1
"""Share of the class means, which the report compares prototypes with."""

_GROUPS, _FEWEST_GROUPS = 50, 15
_MOST_GROUPS = 200
"""Groups that "auto" takes at most: each must have rows enough to learn from."""

_WIDEST_NOISE = 0.5
"""Least possible noise of a centre of attention that is still worth an access; coordinates are
within [-1, 1], and rows that scatter get far more."""

_DELTA = 0.8
"""Part of delta for a centre of attention; the other accesses need some too."""

_LENGTH = 0.7
"""Root mean square norm to which the prototypes of a group are clipped together."""

_STEPS = 60


def shape(settings: Settings, left: float, budget: Budget) -> tuple[Step, ...]:
    """Looks and their shares of mu^2."""
    if settings.mechanism == "sample_aggregate":
        means = gaussian_step(MEANS_ACCESS, left * _MEANS)
        return means, gaussian_step(GROUPS_ACCESS, left * (1.0 - _MEANS))
    # No class means: beside an approximate access, a Gaussian one costs out of all proportion.
    return (approximate_step(GROUPS_ACCESS, left, delta=_DELTA * budget.delta),)


def check_groups(settings: Settings, plan: Plan, size: int) -> int:
    """Number of groups; refuses, before anything is spent, what would be noise alone."""
    event = plan[GROUPS_ACCESS]
    if not isinstance(event, Approximate):
        return settings.groups or _GROUPS
    least = _useful_groups(size, event)
    if settings.groups is None and least <= _MOST_GROUPS:
        return max(least, _FEWEST_GROUPS)
    if settings.groups is None or settings.groups < least:
        raise SettingError(
            f"mechanism='center_of_attention' would add noise as wide as the domain: {size} "
            f"numbers (features x prototypes) at epsilon {event.epsilon:.3g} need at least {least} "
            f"groups of rows. Use mechanism='gaussian', fewer features, a larger epsilon, or "
            f"groups={least} if there are rows enough for so many. Nothing was spent."
        )
    return settings.groups


def _useful_groups(size: int, event: Approximate) -> int:
    """Least number of groups whose noise can be narrower than the domain, by public facts alone."""
    noise = smooth_noise(event.epsilon, event.delta, size)
    groups = attention_groups(size, event.epsilon, event.delta)
    while least_share(noise, groups) * 2.0 * math.sqrt(size) > _WIDEST_NOISE:
        groups += 1
    return groups


@dataclass(frozen=True, eq=False)
class GroupLearner:
    """Plain LVQ on the rows of one group; a function of them and of released values alone."""

    space: Space
    seeds: Floats
    labels: NDArray[np.int64]
    rule: Rule

    def __call__(self, arrays: dict[str, NDArray[Any]]) -> Floats:
        """Prototypes of shape (prototypes x size,), matched to the seeds."""
        points = arrays[POINTS].astype(np.float64) / ONE
        classes = arrays[CLASSES].astype(np.int64)
        now = self._start(points, classes)
        rows = np.arange(len(points))
        squares = np.einsum("ij,ij->i", points, points)
        several = len(self.labels) / self.space.class_count
        slope = slope_for(self.space.size, several)
        rate = STRIDE * math.sqrt(several) / max(len(points), 1) * 200 / _STEPS
        for _ in range(_STEPS):
            far = squares[:, None] - 2.0 * points @ now.T + (now**2).sum(axis=1)
            far = np.maximum(far, 0.0)
            plus, minus, a, b = short_pulls(far, self.labels, classes, self.rule, slope, CLIP)
            pulls = np.zeros_like(far)
            pulls[rows, minus] = b
            pulls[rows, plus] = a
            now = in_ball(now - rate * (pulls.sum(axis=0)[:, None] * now - pulls.T @ points))
        return self._matched(now).ravel()

    def _start(self, points: Floats, classes: NDArray[np.int64]) -> Floats:
        """Lone prototypes start at the group's class mean, several at the seeds."""
        now = self.seeds.copy()
        for place, label in enumerate(self.labels):
            own = classes == label
            if own.any() and (self.labels == label).sum() == 1:
                now[place] = points[own].mean(axis=0)
        return now

    def _matched(self, found: Floats) -> Floats:
        """Prototypes of each class in the order of the seeds they are nearest to, all together."""
        result = found.copy()
        for label in np.unique(self.labels):
            own = np.flatnonzero(self.labels == label)
            gaps = ((self.seeds[own][:, None] - found[own][None]) ** 2).sum(axis=2)
            to, of = linear_sum_assignment(gaps)
            result[own[to]] = found[own[of]]
        return result


def train(
    table: PrivateTable, grant: Grant, start: Start, settings: Settings, groups: int
) -> Trained:
    """Class means, then what the groups agree on."""
    space, m = start.space, start.space.class_count
    keep(table, space.columns, space.prepare)
    means, counts = np.zeros((m, space.size)), np.full(m, np.nan)
    labels = labels_of(settings, space.schema, 1)
    evidence = None
    if settings.mechanism == "sample_aggregate":
        seen = release_means(table, grant, start)
        means, counts = in_ball(seen.means), seen.counts
        weight = table.weight_per_unit
        pictures = settings.image_shape is not None
        evidence = weigh_classes(
            seen, start, labels, weight, moved=1.0, corrected=False, pictures=pictures
        )
    seeds = spread_out(means[labels], labels, settings.random_state)
    learner = GroupLearner(space, seeds, labels, settings.rule)
    names, size = (POINTS, CLASSES), labels.size * space.size
    ticket = grant.take(GROUPS_ACCESS)
    if settings.mechanism == "sample_aggregate":
        bound = _LENGTH * math.sqrt(labels.size)
        found = aggregate_mean(
            table, names, learner, groups=groups, size=size, bound=bound, ticket=ticket
        )
        variance = np.full(labels.size, found.standard_error**2)
    else:
        found = center_of_attention(
            table, names, learner, groups=groups, size=size, lower=-1.0, upper=1.0, ticket=ticket
        )
        # Its scale is private. The domain's own spread is an upper estimate of what is told.
        variance = np.full(labels.size, 1.0)
    prototypes = in_ball(found.values.reshape(labels.size, space.size))
    if settings.mechanism == "center_of_attention":
        means = np.stack([prototypes[labels == k].mean(axis=0) for k in range(m)])
    # Prototypes of groups do not rest on the counts, nor on their noise.
    return Trained(space, prototypes, variance, labels, means, counts, 0.0, evidence)
