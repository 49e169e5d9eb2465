"""Trials of the private explainer: all that it says, and how long it takes to say it.

The canary lies at the distance from the asked points at which a row counts most, and the black box
says 1 of it and 0 of all others. The attacker sees the whole transcript: every answer, and how many
steps it took; of a summary, everything that was released. Besides, the structural case of
`voile.audit.leaks.blackbox`: two tables whose gradients lie on either side of a threshold of the
published rule for the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.audit.leaks.blackbox import count_steps_once
from voile.audit.trials.trial import FOUND_NOTE, Trial
from voile.explain.blackbox.explainer import PrivateExplainer
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]
Reading = Literal["release", "interactive", "adaptive", "enhanced"]

_FAMILY = "explainer"
_ROWS = 60
_COUNTS_MOST = (math.sqrt(3.0) - 1.0) / 2.0
"""Distance at which a row moves an answer most: the stable weight's, c = 1."""

_SHORT: dict[str, Any] = {"radius": 0.25, "intercept": False, "steps": 4}
"""Coefficients are short, so that the label is what a gradient depends on."""

_ADAPTIVE = (
    "A second answer takes fewer steps, and the rest of its share is not spent: an attack cannot "
    "reach the claim."
)
_STRADDLING = (
    "Made for a rule that uses the length of a gradient as it is; the steps say too little to show "
    "that noise is half of what it should be."
)


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Canaries for the private explainer.

    Parameters
    ----------
    epsilon, delta : float
        What every explainer claims; delta above 0.
    """
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return (*_summaries(claim), *_transcripts(claim), *_step_counts(claim))


# -- one summary ---------------------------------------------------------------------------------

_LEVELS = {"a": Category(["u", "v"]), "b": Category(["u", "v"])}


def _summaries(claim: dict[str, Any]) -> tuple[Trial, ...]:
    def seen(name: str, schema: Schema, rows: Any, canary: Any, public: Any, **other: Any) -> Trial:
        fit = _summarise(schema, public, claim)
        trial: dict[str, Any] = {**claim, "method": "gaussian", "quick": 1000, **other}
        return Trial(_FAMILY, f"summary, {name}", fit, rows, canary, **trial)

    common, lone = {"a": ["u"] * _ROWS, "b": ["u"] * _ROWS}, {"a": "v", "b": "v"}
    every = {"a": ["u", "u", "v", "v"], "b": ["u", "v", "u", "v"]}
    found = Schema({"a": Category()})
    number = Schema({"a": Number(0, 1)})
    low = {"a": [0.05] * _ROWS}
    return (
        seen("levels of its own", Schema(_LEVELS), common, lone, every),
        seen(
            "a level to be found",
            found,
            {"a": common["a"]},
            {"a": "v"},
            {"a": ["u", "v"]},
            settings={"note": FOUND_NOTE},
        ),
        seen("alone in its cell", number, low, {"a": 1.0}, {"a": [0.0, 1.0]}),
    )


def _summarise(
    schema: Schema, public: Any, claim: dict[str, Any]
) -> Callable[[dict[str, list[Any]]], Floats]:
    """Buys a summary of the rows, and gives all it released."""

    def fit(rows: dict[str, list[Any]]) -> Floats:
        columns = {name: np.array(values) for name, values in rows.items()}
        given = {name: np.array(values) for name, values in public.items()}
        # Public rows stand in for thousands of synthetic ones, which only cost time here.
        explainer = PrivateExplainer(_nothing, columns, schema=schema, **claim, public=given)
        summary = explainer.summary_
        levels = [
            float("v" in (column.levels or ()))
            for column in summary.schema.values()
            if isinstance(column, Category)
        ]
        return np.concatenate([levels, *summary.released.values()])

    return fit


def _nothing(X: Any) -> Floats:
    """A black box that takes no part: a summary does not ask it about private rows."""
    return np.zeros(len(X["a"]))


# -- transcripts ---------------------------------------------------------------------------------


def _transcripts(claim: dict[str, Any]) -> tuple[Trial, ...]:
    near = _COUNTS_MOST
    # Nearly the same question is a new one, which looks at the rows again.
    thrice = [-near, -near - 0.002, -near - 0.004]

    def seen(strategy: Reading, where: float, asked: list[float], **other: Any) -> Trial:
        fit = _ask(strategy, asked, {**claim, **_SHORT, **other.pop("chosen", {})})
        rows = np.full((_ROWS, 1), where)
        trial: dict[str, Any] = {**claim, "method": "gaussian", "quick": 800, **other}
        return Trial(_FAMILY, f"transcript, {strategy}", fit, rows, np.zeros(1), **trial)

    twice: dict[str, Any] = {
        "chosen": {"steps": 16},
        "settings": {"note": _ADAPTIVE},
    }
    return (
        # Others give the matrix its size, so that the coefficient is read off the vector.
        seen("release", -2.0 * near, thrice),
        # Others lie where they are asked about: nothing pulls coefficients back.
        seen("interactive", -near, thrice),
        seen("adaptive", -near, [-near, near], **twice),
        seen("enhanced", -near, [-near, near], **twice),
    )


def _lone_answer(X: Any) -> Floats:
    """The black box says 1 of the canary, which lies at 0, and 0 of all others."""
    return np.where(np.abs(np.asarray(X)[:, 0]) < 1e-3, 1.0, 0.0)


def _ask(
    strategy: Reading, asked: list[float], settings: dict[str, Any]
) -> Callable[[Floats], Floats]:
    """Makes an explainer of the rows, asks, and gives all that was answered."""

    def fit(rows: Floats) -> Floats:
        explainer = PrivateExplainer(
            _lone_answer,
            rows,
            schema=Schema({"place": Number(-1, 1)}, rows=_ROWS),
            strategy=strategy,
            queries=3,
            shared_questions=True,  # the attacker sees all of them
            **settings,
        )
        explainer.explain_slopes(np.array(asked)[:, None])
        told = [
            np.concatenate([one.phi.ravel(), one.offset, [one.steps]])
            for one in explainer.history()
        ]
        return np.concatenate(told)

    return fit


# -- numbers of steps ----------------------------------------------------------------------------


def _step_counts(claim: dict[str, Any]) -> tuple[Trial, ...]:
    return tuple(
        Trial(
            _FAMILY,
            f"steps of {strategy!r}, straddling a threshold",
            count_steps(strategy, **claim),
            0,
            1,
            join=lambda rows, added: rows + added,
            **claim,
            method="gaussian",
            quick=200,
            settings={"note": _STRADDLING},
        )
        for strategy in ("adaptive", "enhanced")
    )


def count_steps(
    strategy: Literal["adaptive", "enhanced"],
    *,
    epsilon: float,
    delta: float,
    faithful: bool = False,
) -> Callable[[int], float]:
    """Steps that an explainer takes, given how many rows more its table has: 0 or 1.

    Parameters
    ----------
    faithful : bool
        The published rule, which gives its threshold away.
    """

    def fit(added: int) -> float:
        return float(count_steps_once(200, added, faithful, strategy, epsilon, delta)[0])

    return fit
