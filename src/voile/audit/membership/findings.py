"""What membership inference attacks found: curves, rates at low false alarms, and the guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from voile.audit.two_worlds import Estimate
from voile.codec import Order, Writable
from voile.record import Record
from voile.stored import Stored

NAME, WIDTH = 16, 24
"""Characters of the table's first column and of the others."""


@dataclass(frozen=True)
class Roc:
    """Corners of the curve of true against false positives, from (0, 0) to (1, 1).

    Attributes
    ----------
    false_positive_rates, true_positive_rates : tuple of float
        Both rising. At most 200 corners; those at low false-positive rates are all kept.
    """

    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]


@dataclass(frozen=True)
class RocPoint:
    """How many members are found with few false alarms.

    Attributes
    ----------
    fpr : float
        The false-positive rate that was asked for: the limit is the best with at most this.
    false_alarms, non_members : int
        What that limit gave, out of how many. With fewer than 1 / fpr non-members it allows none.
    right_alarms, members : int
    false_rate, tpr : Estimate
        Rates at that limit, with 95 % Clopper-Pearson intervals. These count only as many scores as
        are worth independent ones, since scores of one training and of one row depend on each
        other. The limit was chosen on the same scores, so both intervals are approximate.
    allowed : float or None
        The largest true-positive rate at ``fpr`` that the guarantee allows any attacker.
    exceeds : bool or None
        Whether the lower end of ``tpr`` is above what the guarantee allows at the upper end of
        ``false_rate``: a reason to look for the mistake, and no proof.
    """

    fpr: float
    false_alarms: int
    non_members: int
    right_alarms: int
    members: int
    false_rate: Estimate
    tpr: Estimate
    allowed: float | None
    exceeds: bool | None


@dataclass(frozen=True)
class MembershipAttack(Writable):
    """How far one attack got, over all trainings and rows.

    Attributes
    ----------
    name : str
    trainings, rows : int
    auc : Estimate
        Chance that a member's score is above a non-member's; 1/2 is blind guessing. The 95 %
        interval is over trainings and rows.
    allowed_auc : float or None
        The largest that the guarantee allows.
    points : tuple of RocPoint
        At false-positive rates of 1 % and 0.1 %.
    roc : Roc
    """

    file_order: ClassVar[Order] = (..., "exceeds")

    name: str
    trainings: int
    rows: int
    auc: Estimate
    allowed_auc: float | None
    points: tuple[RocPoint, ...]
    roc: Roc

    @property
    def exceeds(self) -> bool | None:
        """Whether the attack seems to get further than the guarantee allows; None without one."""
        if self.allowed_auc is None:
            return None
        return self.auc.lower > self.allowed_auc or any(one.exceeds for one in self.points)

    def __str__(self) -> str:
        return "\n".join([_heading(self.points), _line(self)])


@dataclass(frozen=True)
class MembershipReport(Record):
    """Several attacks on one way of training.

    The rates are averages over the rows of the pool. A row that stands out may be found far more
    often than they say, and a better attack may find more. They bound no epsilon from below or
    above: canaries and `voile.audit.bounds` are for that.

    Attributes
    ----------
    kind : {"classification", "regression"}
    trainings, rows : int
        Trainings, each on about half of so many rows.
    epsilon, delta : float or None
        The guarantee of one training; infinite for "no guarantee", None if none was given.
    attacks : tuple of MembershipAttack
    """

    indent: ClassVar[int | None] = 1
    file_order: ClassVar[Order] = (
        *("kind", "trainings", "rows", "epsilon", "delta", "guarantee", "attacks"),
    )

    kind: Literal["classification", "regression"]
    trainings: int
    rows: int
    epsilon: Annotated[float | None, Stored(null=math.inf)]
    delta: float | None
    attacks: tuple[MembershipAttack, ...]

    @property
    def exceeds(self) -> tuple[MembershipAttack, ...]:
        """Attacks that seem to get further than the guarantee allows."""
        return tuple(one for one in self.attacks if one.exceeds)

    @property
    def strongest(self) -> MembershipAttack:
        """The attack with the largest AUC."""
        return max(self.attacks, key=lambda one: one.auc.value)

    @property
    def guarantee(self) -> bool:
        """Whether a finite epsilon was guaranteed."""
        return self.epsilon is not None and math.isfinite(self.epsilon)

    def __str__(self) -> str:
        guarantee = "no guarantee given"
        if self.epsilon is not None and math.isinf(self.epsilon):
            guarantee = "no guarantee (epsilon is infinite)"
        elif self.epsilon is not None:
            guarantee = f"guaranteed: epsilon {self.epsilon:g}, delta {self.delta:g}"
        first = self.attacks[0]
        lines = [
            f"Membership inference ({self.kind}): {self.trainings} trainings on halves of "
            f"{self.rows:,} rows; {guarantee}",
            _heading(first.points),
            _blind(first.points),
            *(_line(one) for one in self.attacks),
        ]
        if first.allowed_auc is not None:
            lines.append(_allowed(first))
        if self.exceeds:
            names = ", ".join(one.name for one in self.exceeds)
            lines.append(f"More than the guarantee allows: {names}. Search for the mistake.")
        return "\n".join([*lines, "Averages over rows, with 95 % intervals; no bound on epsilon."])


def _heading(points: tuple[RocPoint, ...]) -> str:
    found = "".join(f"{f'found at {_share(p.fpr)} false':>{WIDTH}}" for p in points)
    return f"{'attack':<{NAME}}{'AUC':>{WIDTH}}{found}"


def _blind(points: tuple[RocPoint, ...]) -> str:
    found = "".join(f"{_share(p.fpr):>{WIDTH}}" for p in points)
    return f"{'blind guessing':<{NAME}}{0.5:>{WIDTH}.3f}{found}"


def _allowed(attack: MembershipAttack) -> str:
    found = "".join(f"{_share(p.allowed):>{WIDTH}}" for p in attack.points)
    return f"{'allowed at most':<{NAME}}{attack.allowed_auc:>{WIDTH}.3f}{found}"


def _line(attack: MembershipAttack) -> str:
    auc = attack.auc
    area = f"{auc.value:.3f} ({auc.lower:.3f}-{auc.upper:.3f})"
    found = "".join(
        f"{f'{_share(p.tpr.value)} ({_share(p.tpr.lower)}-{_share(p.tpr.upper)})':>{WIDTH}}"
        for p in attack.points
    )
    return f"{attack.name:<{NAME}}{area:>{WIDTH}}{found}"


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 0.0995 else 1 if value >= 0.00995 else 2
    return f"{100.0 * value:.{digits}f}%"
