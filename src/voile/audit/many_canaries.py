"""A lower bound on epsilon from one training with many canaries.

Every canary is in or out by a coin of its own; the attacker sees the one model and guesses for
those canaries that it is surest of. Steinke, Nasr & Jagielski, "Privacy auditing with one (1)
training run", NeurIPS 2023. Weaker than many trainings, and as many times faster: for models that
take hours. Proof: docs/proofs/audit.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.bounds import epsilon_in_one_run
from voile.audit.finding import Finding
from voile.audit.insider import Insider, is_watchable
from voile.audit.joining import add_row
from voile.audit.paired import check_claim, name_of
from voile.audit.two_worlds import Estimate
from voile.errors import DataError, SettingError
from voile.privacy import noise

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of the canaries about which guesses are ventured; each is tried, at its part of the
risk."""

_FEWEST = 20


def one_run(
    fit: Any,
    dataset: Any,
    canaries: Sequence[Any],
    *,
    score: Callable[[Any, Any], float] | None = None,
    join: Callable[[Any, Any], Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    name: str | None = None,
    note: str = "",
    random_state: int | None = None,
    noise_seed: int | None = None,
) -> Finding:
    """Bound epsilon from below by one fit with a random half of many canaries.

    Parameters
    ----------
    fit : callable, or estimator of Voile
        ``fit(dataset)`` returns what is released. An unfitted estimator of Voile with a schema is
        watched by an insider (see `lower_bound`).
    dataset : array, frame, mapping, list, or tuple (X, y)
        All rows but the canaries.
    canaries : sequence of rows
        At least 20, better hundreds; as unlike each other as they are unlike the rest.
    score : callable, optional
        ``score(released, canary)`` gives a number: high speaks for this canary. Needed unless
        ``fit`` is an estimator.
    join : callable, optional
        ``join(dataset, canary)`` adds a canary.
    epsilon : float, optional
        The claim at ``delta``. An estimator's own is taken from its receipt.
    delta : float
    confidence : float
        The bound is wrong (too large) with a probability of at most 1 - confidence.
    name, note : str, optional
        For the finding.
    random_state : int, optional
        Seeds the coins, never noise.
    noise_seed : int, optional
        Fixes Voile's noise, for tests of audits: such runs have no guarantee.

    Returns
    -------
    Finding
        Its ``runs`` are canaries.
    """
    canaries = list(canaries)
    if len(canaries) < _FEWEST:
        raise SettingError(f"One run needs at least {_FEWEST} canaries. Got {len(canaries)}.")
    check_claim(confidence, delta, epsilon)
    there = np.random.default_rng(random_state).random(len(canaries)) < 0.5
    with nullcontext() if noise_seed is None else noise.fixed_noise(noise_seed):
        if is_watchable(fit) and score is None and join is None:
            insider = Insider(fit, dataset, canaries)
            if epsilon is None or delta == 0.0:
                receipt = insider.receipt()
                epsilon = receipt.epsilon if epsilon is None else epsilon
                delta = receipt.delta
            scores = insider.scores(there.tolist())
        elif score is None:
            raise SettingError("Give score=, a function of what fit returns and of a canary.")
        else:
            for one, here in zip(canaries, there, strict=True):
                dataset = (join or add_row)(dataset, one) if here else dataset
            released = fit(dataset)
            scores = np.array([_number(score(released, one)) for one in canaries])
    if not np.isfinite(scores).all():
        raise DataError("A score is no finite number: give a function that always returns one.")
    return _judge(
        scores,
        there,
        name or name_of(fit),
        epsilon,
        delta,
        confidence,
        note,
    )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"A score is no number ({error}): give one that is.") from error


def _judge(
    scores: Floats,
    there: Flags,
    name: str,
    claimed: float | None,
    delta: float,
    confidence: float,
    note: str,
) -> Finding:
    order = np.argsort(-scores, kind="stable")
    count = len(scores)
    # The risk is shared out among the numbers of guesses that are tried.
    each = 1.0 - (1.0 - confidence) / len(_SHARES)
    best = (-1.0, 0, 0)
    for share in _SHARES:
        side = max(1, round(share * count / 2))
        yes, no = order[:side], order[max(count - side, side) :]
        right = int(there[yes].sum() + (~there[no]).sum())
        guesses = len(yes) + len(no)
        bound = epsilon_in_one_run(right, guesses, count, delta=delta, confidence=each)
        best = max(best, (bound, right, guesses))
    alarms = scores > np.median(scores)
    wrong, caught = int((alarms & ~there).sum()), int((alarms & there).sum())
    rates = caught / max(int(there.sum()), 1), wrong / max(int((~there).sum()), 1)
    return Finding(
        name=name,
        claimed=claimed,
        epsilon=best[0],
        delta=delta,
        confidence=confidence,
        method="one run",
        mu=None,
        claimed_mu=None,
        runs=count,
        judged=count,
        false_alarms=wrong,
        right_alarms=caught,
        without=int((~there).sum()),
        with_canary=int(there.sum()),
        right=best[1],
        guesses=best[2],
        advantage=Estimate.around(rates[0] - rates[1], 1.0 / float(np.sqrt(count)), -1.0, 1.0),
        note=note,
    )
