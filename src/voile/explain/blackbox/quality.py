"""How good explanations are, measured on public rows, also group by group.

The private table cannot be asked, so public rows of the same kind stand in for it. For each of some
asked rows the answer is compared with the best local model of the public rows: by how much its loss
is larger ("utility loss"), how often it agrees with the black box, how many of its strongest
features are the same. Minorities often pay more for privacy; that is why groups are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.codec import Order, encode
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.local_fit import fit_local
from voile.explain.blackbox.solvers.weights import gaussian
from voile.privacy.receipt import Receipt
from voile.record import Record
from voile.stored import Stored

Floats = NDArray[np.float64]

Mean = Annotated[float, Stored(null=math.nan)]
"""Over asked rows; NaN if there are none."""

_STRONGEST = 5


@dataclass(frozen=True, kw_only=True)
class GroupQuality:
    """Explanations of the asked rows of one group.

    Attributes
    ----------
    group : str
    rows : int
        Asked rows in it.
    loss, loss_error : float
        Mean utility loss, in squared units of the score, and its standard error over asked rows.
    agreement : float
        Mean share of nearby public rows, by weight, whose sign the local model has right.
    best_agreement : float
        The same for the best local model of the public rows, without privacy.
    shared : float
        How many of the five strongest features it shares with that one, on average.
    effective_share : float
        Mean effective share of the public rows near an asked one: how dense its surroundings are.
    """

    group: str
    rows: int
    loss: Mean
    loss_error: float
    agreement: Mean
    best_agreement: Mean
    shared: Mean
    effective_share: Mean


@dataclass(frozen=True, kw_only=True)
class Quality(Record):
    """Explanation quality on public rows: over all asked rows, and by group.

    Attributes
    ----------
    overall : GroupQuality
    groups : tuple of GroupQuality
        In the order of their names; empty if no groups were asked for.
    public_rows : int
        Rows that stood in for the private table.
    receipt : Receipt
        Of the explainer.
    by : str
        What groups were made by.
    """

    file_order: ClassVar[Order] = ("by", "public_rows", "overall", "groups", "receipt")
    has_terminal_form: ClassVar[bool] = False

    overall: GroupQuality
    groups: tuple[GroupQuality, ...]
    public_rows: int
    receipt: Receipt
    by: str = ""

    @property
    def worst(self) -> GroupQuality:
        """The group with the largest loss."""
        return max(self.groups or (self.overall,), key=lambda one: one.loss)

    def to_records(self) -> list[dict[str, Any]]:
        """One line per group and one for all."""
        return [encode(one) for one in (*self.groups, self.overall)]

    def __str__(self) -> str:
        lines = [*self.groups, self.overall]
        width = max(len(one.group) for one in lines)
        told = [
            f"Explanation quality on {self.public_rows:,} public rows"
            + (f", by {self.by}" if self.by else ""),
            f"  {'group':<{width}}  {'asked':>6}  {'utility loss':>20}  {'agreement':>9}  "
            f"{'(best)':>6}  {'top 5':>5}  {'density':>7}",
        ]
        told += [
            f"  {one.group:<{width}}  {one.rows:>6}  {one.loss:>10.3g} +- {one.loss_error:<6.2g}  "
            f"{one.agreement:>9.3f}  {one.best_agreement:>6.3f}  {one.shared:>5.2f}  "
            f"{one.effective_share:>7.2f}"
            for one in lines
        ]
        return "\n".join(told)


@dataclass(frozen=True)
class _MeasuredRow:
    loss: float
    agreement: float
    best_agreement: float
    shared: float
    effective_share: float


def measure_quality(
    answers: Sequence[Answer],
    points: Floats,
    labels: Floats,
    settings: Settings,
    receipt: Receipt,
    groups: Sequence[str] | None = None,
    by: str = "",
) -> Quality:
    """Compare answers with the best local models of public rows.

    Parameters
    ----------
    answers : sequence of Answer
        Of the asked rows.
    points : ndarray of shape (rows, features)
        Public rows in the unit ball.
    labels : ndarray of shape (rows, outputs)
        What the black box says of them.
    settings : Settings
    receipt : Receipt
    groups : sequence of str, optional
        Of the asked rows.
    by : str
        What groups were made by.
    """
    measured = [measure_answer(one, points, labels, settings) for one in answers]
    names = sorted(set(groups)) if groups is not None else []
    return Quality(
        overall=_gather("all", measured),
        groups=tuple(
            _gather(name, [m for m, own in zip(measured, groups or (), strict=True) if own == name])
            for name in names
        ),
        public_rows=len(points),
        receipt=receipt,
        by=by,
    )


def measure_answer(
    answer: Answer, points: Floats, labels: Floats, settings: Settings
) -> _MeasuredRow:
    """Compare one answer with the best local model of the rows, over all outputs."""
    moved = points - answer.point / ONE
    far = np.sqrt(np.einsum("ij,ij->i", moved, moved))
    chosen = math.isfinite(answer.width)
    near = gaussian(far, answer.width) if chosen else settings.weight.at(far)
    if settings.intercept:
        moved = np.column_stack([moved, np.ones(len(moved))])
    weighed = moved * (2.0 * near)[:, None] / len(moved)
    fit = fit_local(
        weighed.T @ moved,
        weighed.T @ labels,
        radius=settings.radius,
        intercept=settings.intercept,
        ridge=settings.ridge,
    )
    d = points.shape[1]
    mine = moved[:, :d] @ answer.phi + answer.offset
    best = moved[:, :d] @ fit.phi + fit.offset
    mass = max(float(near.sum()), 1e-300)
    losses = near @ ((mine - labels) ** 2 - (best - labels) ** 2) / len(moved)
    signs = labels >= 0
    top = _STRONGEST
    shared = [
        len(set(np.argsort(-np.abs(a))[:top].tolist()) & set(np.argsort(-np.abs(b))[:top].tolist()))
        for a, b in zip(answer.phi.T, fit.phi.T, strict=True)
    ]
    return _MeasuredRow(
        float(losses.mean()),
        float((near @ ((mine >= 0) == signs)).mean() / mass),
        float((near @ ((best >= 0) == signs)).mean() / mass),
        float(np.mean(shared)),
        mass**2 / max(float(near @ near), 1e-300) / len(moved),
    )


def _gather(name: str, measured: Sequence[_MeasuredRow]) -> GroupQuality:
    def mean(what: str) -> float:
        return float(np.mean([getattr(one, what) for one in measured])) if measured else math.nan

    losses = [one.loss for one in measured]
    spread = float(np.std(losses, ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else 0.0
    return GroupQuality(
        group=name,
        rows=len(measured),
        loss=mean("loss"),
        loss_error=spread,
        agreement=mean("agreement"),
        best_agreement=mean("best_agreement"),
        shared=mean("shared"),
        effective_share=mean("effective_share"),
    )
