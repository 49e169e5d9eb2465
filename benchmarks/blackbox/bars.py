"""What the explainer benchmark has to reach, beside what it reached.

Not a script: see `quality.py`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.blackbox.budget import Curve, NoiseRow, Offline
from benchmarks.blackbox.loss import Constants, CrossCell, Crossing, LossCell
from benchmarks.blackbox.speed import COLUMNS, ROWS, Speed
from benchmarks.blackbox.useful import DensityCell, GroupCell, ModelCell, PeerCell


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    sets: dict[str, str] = field(default_factory=dict)
    losses: list[LossCell] = field(default_factory=list)
    crosses: list[CrossCell] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    constants: list[Constants] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    offline: list[Offline] = field(default_factory=list)
    noises: list[NoiseRow] = field(default_factory=list)
    useful: list[LossCell] = field(default_factory=list)
    peers: list[PeerCell] = field(default_factory=list)
    models: list[ModelCell] = field(default_factory=list)
    density: list[DensityCell] = field(default_factory=list)
    groups: list[GroupCell] = field(default_factory=list)
    speeds: list[Speed] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bar:
    """One demand: `value` at most, or at least, `limit`."""

    what: str
    value: float
    limit: float
    at_most: bool = True

    @property
    def holds(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "falls short"


LOSS_LIMITS = {1.0: 1e-4, 0.1: 1e-3}
LEAST_GAIN = 100.0


def find_loss(cells: Sequence[LossCell], **facts: Any) -> LossCell | None:
    for one in cells:
        if all(getattr(one, name) == value for name, value in facts.items()):
            return one
    return None


def gain(cells: Sequence[LossCell], cell: LossCell, strategy: str = "interactive") -> float:
    """How many times as large a strategy's loss is as the summary's, at the same total epsilon."""
    facts = {"set": cell.set, "setting": cell.setting, "epsilon": cell.epsilon}
    ours = find_loss(cells, strategy="summary", queries=cell.queries, **facts)
    other = find_loss(cells, strategy=strategy, queries=cell.queries, **facts)
    if ours is None or other is None or ours.loss.value <= 0:
        return math.nan
    return other.loss.value / ours.loss.value


def loss_bars(cells: Sequence[LossCell]) -> Iterator[Bar]:
    for one in cells:
        if one.strategy != "summary" or one.set == "fer":
            continue
        where = f"{one.set}, {one.setting} setting, eps {one.epsilon:g}, {one.queries:,} queries"
        times = gain(cells, one)
        if one.set == "adult":
            if one.epsilon in LOSS_LIMITS:
                yield Bar(f"loss of the summary; {where}", one.loss.value, LOSS_LIMITS[one.epsilon])
            if math.isfinite(times) and one.epsilon == 1.0:
                yield Bar(f"interactive / summary; {where}", times, LEAST_GAIN, False)
        elif math.isfinite(times):
            yield Bar(f"interactive / summary (ordering); {where}", times, 1.0, False)


def useful_bars(cells: Sequence[LossCell]) -> Iterator[Bar]:
    for one in cells:
        where = f"{one.set}, {one.setting} setting, eps {one.epsilon:g}"
        yield Bar(
            f"agreement (majority {one.majority:.3f}, exact {one.best_agreement:.3f}); {where}",
            one.agreement.value,
            0.92,
            False,
        )
        yield Bar(f"top 5 shared with the exact one; {where}", one.shared.value, 4.2, False)


def budget_bars(curves: Sequence[Curve], noises: Sequence[NoiseRow]) -> Iterator[Bar]:
    for one in curves:
        plain = next((c for c in curves if (c.set, c.strategy) == (one.set, "interactive")), None)
        limit = {"adaptive": 0.85, "enhanced": 0.45}.get(one.strategy)
        if limit and plain:
            asked = f"{one.counts[-1]:,} questions, sqrt(n) s = {one.noise_length:.3f}"
            what = f"epsilon of {one.strategy} / interactive; {one.set}, {asked}"
            yield Bar(what, one.spent / plain.spent, limit)
    for row in noises:
        what = f"published noise / ours; T = {row.steps}, eps {row.epsilon:g}"
        yield Bar(what, row.ratio, 10.0, False)


def speed_bars(speeds: Sequence[Speed]) -> Iterator[Bar]:
    found = {one.strategy: one for one in speeds}
    if not found or speeds[0].rows < ROWS:
        return
    where = f"{ROWS:,} x {COLUMNS}"
    loop = found["direct loop"].each
    yield Bar(f"seconds to build the summary; {where}", found["summary"].opening, 30.0)
    yield Bar(f"seconds of an explanation from it; {where}", found["summary"].each, 0.05)
    yield Bar(f"seconds of a release; {where}", found["release"].each, 0.25)
    for strategy in ("summary", "release", "interactive"):
        what = f"direct loop / {strategy}; {where}"
        yield Bar(what, loop / found[strategy].each, 10.0, False)
    for strategy in ("summary", "release"):
        what = f"peak megabytes ({strategy}); {where}"
        yield Bar(what, found[strategy].peak_megabytes, 1_536.0)


def bars(found: Findings) -> list[Bar]:
    """Every demand that this run can tell about."""
    return [
        *loss_bars(found.losses),
        *useful_bars(found.useful),
        *budget_bars(found.curves, found.noises),
        *speed_bars(found.speeds),
    ]
