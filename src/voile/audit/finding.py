"""What an audit found: the claim, the attacked epsilon, and how it was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from voile.audit.bounds import (
    epsilon_by_guesses,
    epsilon_by_rates,
    epsilon_in_one_run,
    mu_by_rates,
)
from voile.audit.two_worlds import Estimate
from voile.codec import Order
from voile.privacy.gaussian_dp import epsilon_of
from voile.record import Record
from voile.stored import Stored

Method = Literal["guesses", "rates", "gaussian", "one run"]


@dataclass(frozen=True)
class Finding(Record):
    """A lower bound on epsilon, beside what was claimed.

    Attributes
    ----------
    name : str
        What was audited.
    claimed : float or None
        The epsilon that was claimed at ``delta``; infinite for "no guarantee", None if none was
        given.
    epsilon : float
        With confidence ``confidence`` no smaller epsilon (at ``delta``) is true. 0 says that the
        attack found nothing, not that there is nothing to be found.
    delta, confidence : float
    method : {"guesses", "rates", "gaussian", "one run"}
        How the bound was made: see `voile.audit.bounds`. "gaussian" supposes that the mechanism's
        noise is Gaussian.
    mu : float or None
        The lower bound on mu, for the method "gaussian".
    claimed_mu : float or None
        The largest mu that the claim allows, for the method "gaussian".
    runs : int
        All runs (canaries, for one run).
    judged : int
        Those that judged the attack; the others taught it.
    false_alarms, right_alarms : int
        "It was there", in judged runs without and with the canary.
    without, with_canary : int
        Judged runs (canaries) of either world.
    right, guesses : int
        Right guesses among those ventured, for the methods that guess; else 0.
    advantage : Estimate
        Rate of right minus rate of false alarms, of judged runs, with a 95 % interval.
    note : str
        What a reader should know besides; may be empty.
    """

    file_order: ClassVar[Order] = (..., "guarantee", "broken", "could_show", "verdict")

    name: str
    claimed: Annotated[float | None, Stored(null=math.inf)]
    epsilon: float
    delta: float
    confidence: float
    method: Method
    mu: float | None
    claimed_mu: Annotated[float | None, Stored(null=math.inf)]
    runs: int
    judged: int
    false_alarms: int
    right_alarms: int
    without: int
    with_canary: int
    right: int
    guesses: int
    advantage: Estimate
    note: str = ""

    @property
    def broken(self) -> bool:
        """Whether the attack shows that the claim is not kept."""
        if self.claimed is None:
            return False
        if self.mu is not None and self.claimed_mu is not None:
            return self.mu > self.claimed_mu
        return self.epsilon > self.claimed

    @property
    def could_show(self) -> float:
        """The largest epsilon that as many runs could show, had every alarm been right."""
        if min(self.without, self.with_canary) < 1:
            return 0.0
        if self.method == "one run":
            all_right = (self.judged, self.judged, self.judged)
            return epsilon_in_one_run(*all_right, delta=self.delta, confidence=self.confidence)
        # Either half of the runs judges at half the risk.
        each = 1.0 - (1.0 - self.confidence) / 2.0
        alarms = (0, self.with_canary, self.without, self.with_canary)
        if self.method == "gaussian":
            return epsilon_of(mu_by_rates(*alarms, confidence=each), self.delta)
        if self.method == "rates":
            return epsilon_by_rates(*alarms, delta=self.delta, confidence=each)
        all_right = (self.judged, self.judged, self.judged)
        return epsilon_by_guesses(*all_right, delta=self.delta, confidence=each)

    @property
    def too_few_runs(self) -> bool:
        """Whether a finite claim would have stood whatever the attack had found."""
        if self.claimed is None or math.isinf(self.claimed) or self.broken:
            return False
        return self.could_show <= self.claimed

    @property
    def verdict(self) -> str:
        """In one to three words."""
        if self.claimed is None:
            return "no claim"
        if math.isinf(self.claimed):
            return "no guarantee"
        if self.too_few_runs:
            return "too few runs"
        return "BROKEN" if self.broken else "not exceeded"

    @property
    def guarantee(self) -> bool:
        """Whether a finite epsilon was claimed."""
        return self.claimed is not None and math.isfinite(self.claimed)

    def __str__(self) -> str:
        claim = "none" if self.claimed is None else f"{self.claimed:g}"
        tested = f"{self.runs:,} canaries" if self.method == "one run" else f"{self.runs:,} runs"
        gaussian = "" if self.mu is None else f" (mu at least {self.mu:.3g})"
        lines = [
            f"{self.name}: {tested}, {self.judged:,} of them judged",
            f"  epsilon is at least {self.epsilon:.3g}{gaussian} at delta {self.delta:g}, with"
            f" {self.confidence:.4g} confidence; claimed: {claim}, {self.verdict}",
            f"  right alarms {self.right_alarms:,} of {self.with_canary:,}, false alarms"
            f" {self.false_alarms:,} of {self.without:,}; advantage {self.advantage}",
        ]
        if self.too_few_runs:
            lines.append(
                f"  so few runs could show at most epsilon {self.could_show:.3g}: the claim was not"
                " tested"
            )
        return "\n".join(lines + ([f"  {self.note}"] if self.note else []))


@dataclass(frozen=True)
class AuditReport(Record):
    """Several findings: what was claimed, what was attacked, and where a claim failed.

    Attributes
    ----------
    title : str
    findings : tuple of Finding
    """

    indent: ClassVar[int | None] = 1

    title: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Findings whose claim is not kept."""
        return tuple(one for one in self.findings if one.broken)

    def __str__(self) -> str:
        return "\n\n".join([self.title, *(str(one) for one in self.findings)])
