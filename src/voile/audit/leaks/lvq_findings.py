"""What the attacks on prototypes found: frozen records, with text and plain data.

`voile.audit.leaks.lvq` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from voile.audit.two_worlds import Estimate
from voile.codec import Order, Writable


@dataclass(frozen=True)
class RebuiltRecord(Writable):
    """How well a record was rebuilt from prototypes.

    Attributes
    ----------
    runs, rows, features : int
        ``rows`` of the record's class, without the record.
    knows_others : bool
        Whether the attacker knew these rows; if not, it had the prototypes of two models.
    error : float
        Root mean square error of a coordinate of the rebuilt record, in standard deviations of
        the data.
    largest_error : float
        The largest error of a coordinate in any run, in the same unit.
    guess_error : float
        The same as ``error`` for a guess at the class mean, which needs no model.
    correlation : float
        Between the rebuilt and the true records' offsets from the class mean. Its square is the
        share of the spread that is given away, even to one who shrinks wild results: 1 is all.
    better_than_guess : Estimate
        Share of runs in which the rebuilt record is nearer to the truth than the guess.
    """

    file_order: ClassVar[Order] = (..., "relative_error")

    runs: int
    rows: int
    features: int
    knows_others: bool
    error: float
    largest_error: float
    guess_error: float
    correlation: float
    better_than_guess: Estimate

    @property
    def relative_error(self) -> float:
        """Error beside that of guessing the class mean: 0 is exact, from 1 on it is useless."""
        return self.error / self.guess_error

    def __str__(self) -> str:
        known = "the other rows" if self.knows_others else "two models"
        return (
            f"Rebuilding one of {self.rows + 1} records from {known} ({self.runs} runs)\n"
            f"  error {self.error:.3g}, of guessing the class mean {self.guess_error:.3g}"
            " (standard deviations)\n"
            f"  nearer than the guess in {self.better_than_guess.value:.0%} of the runs;"
            f" correlation with the truth {self.correlation:.2f}"
        )


@dataclass(frozen=True)
class OutlierTest(Writable):
    """What one outlier does to the prototype of its class.

    Attributes
    ----------
    outlier : tuple of float
        Where it was (its mean, if every run draws it anew).
    runs : int
    knows_others : bool
        Whether the attacker knew all other rows: one table, trained ``runs`` times.
    shift : Estimate
        How far the prototype moves towards the outlier, in units of the data (standard deviation
        of a class: 1). The mean over pairs of fits.
    p_value : float
        Two-sided, of Welch's test that the prototype's mean is the same in both worlds.
    advantage, auc : Estimate
        Of an attacker who sees the prototypes of one model.
    allowed_advantage, allowed_auc : float or None
        What the guarantee allows any attacker; None if none was given.
    """

    outlier: tuple[float, ...]
    runs: int
    knows_others: bool
    shift: Estimate
    p_value: float
    advantage: Estimate
    auc: Estimate
    allowed_advantage: float | None = None
    allowed_auc: float | None = None

    def __str__(self) -> str:
        place = ", ".join(f"{one:g}" for one in self.outlier)
        known = "all other rows" if self.knows_others else "no row"
        return (
            f"One outlier at ({place}), {self.runs} runs, attacker knows {known}\n"
            f"  shift of the prototype: {self.shift}, p = {self.p_value:.2g}\n"
            f"  advantage: {self.advantage}{_at_most(self.allowed_advantage)}\n"
            f"  AUC: {self.auc}{_at_most(self.allowed_auc)}"
        )


@dataclass(frozen=True)
class XorTest(Writable):
    """Where a lone prototype goes that has to choose between two clusters.

    Attributes
    ----------
    runs, added : int
    balanced, unbalanced : Estimate
        Share of runs in which it is on the side of the bottom left, without and with the added
        points.
    settled : float
        Share of fits, in both worlds, that put it inside one of the two clusters (within 5
        standard deviations of its middle) and not between them.
    p_value : float
        Two-sided, of Fisher's exact test that the two shares are the same.
    advantage : Estimate
        Of an attacker who says "added" when the prototype is in the bottom left.
    allowed_advantage : float or None
        What the guarantee allows any attacker, for as many rows as were added.
    """

    runs: int
    added: int
    balanced: Estimate
    unbalanced: Estimate
    settled: float
    p_value: float
    advantage: Estimate
    allowed_advantage: float | None = None

    def __str__(self) -> str:
        points = "point" if self.added == 1 else "points"
        return (
            f"XOR, lone prototype in the bottom left ({self.runs} runs)\n"
            f"  balanced {self.balanced.value:.1%}, with {self.added} more {points}"
            f" {self.unbalanced.value:.1%}, p = {self.p_value:.2g};"
            f" inside a cluster: {self.settled:.0%}\n"
            f"  advantage: {self.advantage}{_at_most(self.allowed_advantage)}"
        )


def _at_most(limit: float | None) -> str:
    return "" if limit is None else f"; any attacker: at most {limit:.4g}"
