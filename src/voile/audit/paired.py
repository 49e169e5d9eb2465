"""An empirical lower bound on epsilon: train with and without a canary, and tell which was which.

The world of every run is decided by a coin. Half of the runs, whose worlds it is told, teach the
attacker; the other half judge it, and what it gets right there bounds epsilon from below with a
stated confidence. Then the halves change places. Jagielski, Ullman & Oprea 2020; Nasr et al. 2021,
2023. Proofs: docs/proofs/audit.md.

A bound above the claim proves that the claim is wrong. A bound below it proves nothing: another
canary or attack may do better. What proves a claim is in docs/proofs/.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile.audit.bounds import epsilon_by_guesses, epsilon_by_rates, mu_by_rates
from voile.audit.finding import Finding
from voile.audit.guessing import Limits, as_table, learn_direction, learn_limits
from voile.audit.insider import Insider, all_gaussian, is_watchable
from voile.audit.joining import add_row, all_but_last
from voile.audit.runs import collect_runs
from voile.audit.two_worlds import Estimate
from voile.errors import DataError, SettingError
from voile.privacy import noise
from voile.privacy.gaussian_dp import epsilon_of, mu_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
PairedMethod = Literal["guesses", "rates", "gaussian"]

_FEWEST = 20


def lower_bound(
    fit: Any,
    dataset: Any,
    canary: Any,
    *,
    score: Callable[[Any], Any] | None = None,
    join: Callable[[Any, Any], Any] | None = None,
    instead_of: Any = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    runs: int = 1000,
    confidence: float = 0.95,
    method: PairedMethod | None = None,
    name: str | None = None,
    note: str = "",
    processes: int | None = None,
    resume: str | Path | None = None,
    random_state: int | None = None,
    noise_seed: int | None = None,
) -> Finding:
    """Bound epsilon from below by telling apart fits with and without one canary.

    Parameters
    ----------
    fit : callable, or estimator of Voile
        ``fit(dataset)`` is called once per run and returns what is released: a number, a vector, or
        anything that ``score`` makes a number (or vector) of. Fresh noise in every call; each
        with a ledger of its own.
        An unfitted estimator of Voile with a schema is attacked by an insider, who sees every
        noised sum of the training and knows all rows: the strongest attack there is on sums.
    dataset : array, frame, mapping, list, or tuple (X, y)
        All rows but the canary. For an estimator: (X, y).
    canary : row, or tuple (x, y)
        The row that is added in one of the worlds. Choose one that is unlike all others.
    score : callable, optional
        Makes a number of what was released: high speaks for the canary. Of vectors, a direction is
        learnt.
    join : callable, optional
        ``join(dataset, canary)`` makes the data set of the other world; by default the canary is
        one row more. For guarantees about replaced rows, replace one here.
    instead_of : tuple (x, y), optional
        For an estimator: a row whose place the canary takes, so that both worlds have as many rows.
        The guarantee that is tested is then one about replaced rows.
    epsilon : float, optional
        The claim at ``delta``, to compare with. An estimator's own is taken from it.
    delta : float
        Of the claim. An estimator's own is taken from it, if there is no claim or it is left at 0.
    runs : int
        Fits in all; about half in either world. Each half judges what the other has taught.
    confidence : float
        The bound is wrong (too large) with a probability of at most 1 - confidence.
    method : {"guesses", "rates", "gaussian"}, optional
        How right and wrong guesses become a bound: see `voile.audit.bounds`. "gaussian" supposes
        that all noise is Gaussian, and is then much tighter; the finding compares the bound with
        the largest mu that the claim allows. By default "gaussian" for estimators whose receipt
        has Gaussian sums alone, else "guesses".
    name, note : str, optional
        For the finding.
    processes : int, optional
        As many as there are cores by default, if there is work for them.
    resume : path, optional
        Where done runs are kept; an audit that was stopped goes on from there.
    random_state : int, optional
        Seeds the coins, never noise. Needed with ``resume``.
    noise_seed : int, optional
        Fixes Voile's noise, for tests of audits: such runs have no guarantee.

    Returns
    -------
    Finding

    Examples
    --------
    >>> from voile.audit import lower_bound
    >>> found = lower_bound(sum, [0.0, 1.0], 1.0, epsilon=1.0, runs=200, random_state=0)
    >>> found.broken, found.verdict                        # a sum without noise
    (True, 'BROKEN')
    """
    _check(method, runs, confidence, delta, epsilon, resume, random_state)
    work: Callable[[bool], Any]
    if is_watchable(fit) and score is None and join is None:
        work = Insider(fit, dataset, [canary], instead_of)
        receipt = work.receipt()
        # Nobody claims delta 0 for an estimator whose receipt has another.
        delta = receipt.delta if epsilon is None or delta == 0.0 else delta
        epsilon = receipt.epsilon if epsilon is None else epsilon
        method = method or ("gaussian" if all_gaussian(receipt) else "guesses")
    else:
        if instead_of is not None:
            raise SettingError("Only an estimator takes instead_of=: give join= for a function.")
        if not callable(fit):
            raise SettingError(
                f"A {type(fit).__name__} cannot be called: with score= or join= give "
                "fit=lambda dataset: ..., which returns what is released."
            )
        joined = (join or add_row)(dataset, canary)
        # A canary may have changed the type of a column, which must not tell the worlds apart.
        work = _Fit(fit, score, all_but_last(joined) if join is None else dataset, joined)
        method = method or "guesses"
    name = name or name_of(fit)
    _check_gaussian(method, delta)
    coins = np.random.default_rng(random_state).random(runs) < 0.5
    other = () if instead_of is None else (instead_of,)
    vectors = collect_runs(
        _Run(work, coins, noise_seed),
        runs,
        what=name,
        processes=processes,
        resume=resume,
        facts={
            "runs": runs,
            "coins": _digest(coins),
            "noise": noise_seed,
            "data": None if resume is None else _digest_data(fit, dataset, canary, *other),
        },
    )
    return judge(
        vectors,
        coins,
        name=name,
        claimed=epsilon,
        delta=delta,
        confidence=confidence,
        method=method,
        note=note,
    )


def judge(
    vectors: list[Floats],
    there: Flags,
    *,
    name: str,
    claimed: float | None,
    delta: float,
    confidence: float = 0.95,
    method: PairedMethod = "guesses",
    note: str = "",
) -> Finding:
    """Bound epsilon from runs that were made already.

    Parameters
    ----------
    vectors : list of ndarray of shape (numbers,)
        What each run gave, in an order that does not depend on the worlds. At least two.
    there : ndarray of bool, shape (runs,)
        Whether the canary was there, by independent fair coins.
    name, claimed, delta, confidence, method, note
        As for `lower_bound`.
    """
    there = np.asarray(there)
    if there.dtype != np.bool_ or there.shape != (len(vectors),) or len(vectors) < 2:
        raise DataError(
            "Say of every run whether the canary was there: give as many True or False as vectors, "
            "of two runs at least."
        )
    _check(method, _FEWEST, confidence, delta, claimed, None, None)
    _check_gaussian(method, delta)
    table = as_table([np.atleast_1d(one) for one in vectors])
    half = len(table) // 2
    first, second = slice(None, half), slice(half, None)
    # Each half judges what the other has taught, at half the risk; the larger bound counts.
    each = 1.0 - (1.0 - confidence) / 2.0
    found = [
        _judge(table, there, teach, test, delta, each, method)
        for teach, test in ((first, second), (second, first))
    ]
    best = max(found, key=lambda one: one.bound)
    counts = best.counts
    claimed_mu = None
    if best.mu is not None and claimed is not None:
        # With a margin for the solver's rounding, which is not the mechanism's fault.
        claimed_mu = mu_of(claimed, delta) * (1.0 + 1e-6)
    return Finding(
        name=name,
        claimed=claimed,
        epsilon=best.bound,
        delta=delta,
        confidence=confidence,
        method=method,
        mu=best.mu,
        claimed_mu=claimed_mu,
        runs=len(table),
        judged=counts.without + counts.with_canary,
        false_alarms=counts.false_alarms,
        right_alarms=counts.right_alarms,
        without=counts.without,
        with_canary=counts.with_canary,
        right=counts.right if method == "guesses" else 0,
        guesses=counts.guesses if method == "guesses" else 0,
        advantage=_advantage(counts),
        note=note,
    )


@dataclass(frozen=True)
class _Judged:
    bound: float
    mu: float | None
    counts: _Counts


def _judge(
    table: Floats,
    there: Flags,
    teach: slice,
    test: slice,
    delta: float,
    confidence: float,
    method: PairedMethod,
) -> _Judged:
    """What an attacker shows on some runs that has learnt on others."""
    scores = table @ learn_direction(table[teach], there[teach])
    limits = learn_limits(scores[teach], there[teach], method, 1.0 - confidence)
    counts = _count(scores[test], there[test], limits)
    alarms = (counts.false_alarms, counts.right_alarms, counts.without, counts.with_canary)
    if min(counts.without, counts.with_canary) < 1:
        return _Judged(0.0, 0.0 if method == "gaussian" else None, counts)
    if method == "gaussian":
        mu = mu_by_rates(*alarms, confidence=confidence)
        return _Judged(epsilon_of(mu, delta), mu, counts)
    if method == "rates":
        bound = epsilon_by_rates(*alarms, delta=delta, confidence=confidence)
    else:
        bound = epsilon_by_guesses(
            counts.right,
            counts.guesses,
            counts.without + counts.with_canary,
            delta=delta,
            confidence=confidence,
        )
    return _Judged(bound, None, counts)


def name_of(fit: object) -> str:
    """What to call a way of fitting that was given no name."""
    return str(getattr(fit, "__name__", type(fit).__name__))


class _Fit:
    """One fit in either world, as numbers."""

    def __init__(self, fit: Any, score: Any, without: Any, with_canary: Any) -> None:
        self._fit, self._score, self._worlds = fit, score, (without, with_canary)

    def __call__(self, there: bool) -> Any:
        released = self._fit(self._worlds[int(there)])
        return released if self._score is None else self._score(released)


class _Run:
    """Run number i, in the world that its coin chose."""

    def __init__(self, work: Callable[[bool], Any], coins: Flags, noise_seed: int | None) -> None:
        self._work, self._coins, self._seed = work, coins, noise_seed

    def __call__(self, number: int) -> Any:
        fixed = nullcontext() if self._seed is None else noise.fixed_noise(self._own(number))
        with fixed:
            return self._work(bool(self._coins[number]))

    def _own(self, number: int) -> int:
        text = f"{self._seed} {number}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


@dataclass(frozen=True)
class _Counts:
    false_alarms: int
    right_alarms: int
    without: int
    with_canary: int
    right: int
    guesses: int


def _count(scores: Floats, there: Flags, limits: Limits) -> _Counts:
    yes, no = scores > limits.high, scores <= limits.low
    alarms = scores > limits.alarm
    return _Counts(
        false_alarms=int((alarms & ~there).sum()),
        right_alarms=int((alarms & there).sum()),
        without=int((~there).sum()),
        with_canary=int(there.sum()),
        right=int((yes & there).sum() + (no & ~there).sum()),
        guesses=int(yes.sum() + no.sum()),
    )


def _advantage(counts: _Counts) -> Estimate:
    """Right minus false rate; one imagined run of either kind, so that few runs are not certain."""
    rates, variance = [], 0.0
    for hits, of in (
        (counts.right_alarms, counts.with_canary),
        (counts.false_alarms, counts.without),
    ):
        rates.append(hits / max(of, 1))
        smooth = (hits + 1) / (of + 2)
        variance += smooth * (1.0 - smooth) / (of + 2)
    return Estimate.around(rates[0] - rates[1], math.sqrt(variance), -1.0, 1.0)


def _digest(coins: Flags) -> str:
    return hashlib.sha256(np.packbits(coins).tobytes()).hexdigest()[:16]


def _digest_data(fit: Any, *parts: Any) -> list[str | None]:
    """Marks by which the file of another audit is known; None for what has no mark."""
    from joblib import hash as mark

    marks: list[str | None] = []
    for one in (fit.get_params() if hasattr(fit, "get_params") else None, *parts):
        try:
            marks.append(mark(one))
        except Exception:  # whatever cannot be pickled: each library has its own error
            marks.append(None)
    return marks


def _check_gaussian(method: str, delta: float) -> None:
    if method == "gaussian" and not 0.0 < delta < 1.0:
        raise SettingError("The method 'gaussian' needs a delta above 0.")


def _check(
    method: str | None,
    runs: int,
    confidence: float,
    delta: float,
    epsilon: float | None,
    resume: object,
    random_state: int | None,
) -> None:
    if method is not None and method not in get_args(PairedMethod):
        raise SettingError(f"The method must be one of {get_args(PairedMethod)}. Got {method!r}.")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < _FEWEST:
        raise SettingError(f"The number of runs must be {_FEWEST} or more. Got {runs!r}.")
    check_claim(confidence, delta, epsilon)
    if resume is not None and random_state is None:
        raise SettingError("Runs can be resumed with the same coins alone: give random_state.")


def check_claim(confidence: float, delta: float, epsilon: float | None) -> None:
    """Refuse a confidence or a claim that makes no sense."""
    if not (0.0 < confidence < 1.0 and 0.0 <= delta < 1.0):
        raise SettingError("A confidence lies between 0 and 1, and so does delta.")
    if epsilon is not None and not epsilon >= 0.0:
        raise SettingError(f"A claimed epsilon is 0 or more. Got {epsilon!r}.")
