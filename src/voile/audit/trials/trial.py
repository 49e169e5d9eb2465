"""A trial: what is fitted, on which rows, and the canary that a broken guarantee would betray."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from voile.audit.finding import Finding
from voile.audit.paired import PairedMethod, lower_bound
from voile.privacy.gaussian_dp import delta_of, mu_of

FOUND_NOTE = (
    "A level is found by a noised count and a threshold, whose failure probability (a part of "
    "delta) is not Gaussian: it is far below what so many runs can tell."
)
SAMPLED_NOTE = (
    "Sampled rows are no Gaussian mechanism. The claim is at a large delta, about as strict as the "
    "usual ones, where a thousand runs can tell more."
)


def at_large_delta(epsilon: float, delta: float) -> dict[str, Any]:
    """A claim of an eighth of epsilon that is about as strict as (epsilon, delta).

    Sampled sums are not mu-GDP: their guarantee is made, and audited, at a small epsilon, with the
    delta that a Gaussian guarantee of (epsilon, delta) has there. A thousand runs tell such a delta
    from that of half the noise; no number of runs that anybody waits for tells one of 1e-5.
    """
    small = epsilon / 8.0
    return {"epsilon": small, "delta": float(delta_of(mu_of(epsilon, delta), small))}


@dataclass(frozen=True)
class Trial:
    """One audit, ready to be run.

    Attributes
    ----------
    family : str
        What is audited: "EBM", "prototypes", ...
    name : str
        What the canary is, in a few words.
    fit : callable, or estimator of Voile
        As for `voile.audit.lower_bound`.
    dataset, canary : object
        Made-up rows; never anybody's.
    epsilon, delta : float or None
        The claim; None takes an estimator's receipt.
    score, join : callable or None
        As for `voile.audit.lower_bound`.
    method : str or None
        As for `voile.audit.lower_bound`.
    quick : int
        Runs that suffice to notice noise of half the scale where an insider watches, or a whole
        transcript is read, and no note says otherwise. What is read off a finished model shows
        grosser mistakes alone.
    """

    family: str
    name: str
    fit: Any
    dataset: Any
    canary: Any
    epsilon: float | None = None
    delta: float = 0.0
    score: Callable[[Any], Any] | None = None
    join: Callable[[Any, Any], Any] | None = None
    method: PairedMethod | None = None
    quick: int = 600
    settings: dict[str, Any] = field(default_factory=dict)
    """What else `lower_bound` is to be told."""

    @property
    def title(self) -> str:
        """Family and name."""
        return f"{self.family}: {self.name}"

    def audit(self, runs: int | None = None, **settings: Any) -> Finding:
        """Carry it out.

        Parameters
        ----------
        runs : int, optional
            ``quick`` by default.
        **settings
            For `voile.audit.lower_bound`: confidence, processes, resume, random_state, ...
        """
        return lower_bound(
            self.fit,
            self.dataset,
            self.canary,
            score=self.score,
            join=self.join,
            epsilon=self.epsilon,
            delta=self.delta,
            runs=self.quick if runs is None else runs,
            method=self.method,
            name=self.title,
            **{**self.settings, **settings},
        )
