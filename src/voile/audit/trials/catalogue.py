"""All trials of the library, and the audit that runs them: the library attacks itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from voile.audit.finding import AuditReport, Finding
from voile.audit.trials.trial import Trial
from voile.errors import SettingError

FAMILIES = {
    "core": "voile.audit.trials.mechanisms",
    "ebm": "voile.audit.trials.ebm",
    "prototypes": "voile.audit.trials.lvq",
    "maps": "voile.audit.trials.locally_linear",
    "explainer": "voile.audit.trials.blackbox",
    "networks": "voile.audit.trials.networks",
    "clients": "voile.audit.trials.federated.clients",
    "protocol": "voile.audit.trials.federated.protocol",
}
"""Families of trials, and where they are."""

_WITH_TORCH = frozenset({"networks"})


def find_trials(
    families: Sequence[str] | None = None, *, epsilon: float = 8.0, delta: float = 1e-5
) -> tuple[Trial, ...]:
    """The trials of some families, or of all that can be run here.

    Parameters
    ----------
    families : sequence of str, optional
        "core", "ebm", "prototypes", "maps", "explainer", "networks", "clients",
        "protocol".
    epsilon, delta : float
        The claims; larger ones take fewer runs to test.
    """
    for one in families or ():
        if one not in FAMILIES:
            raise SettingError(f"There is no family {one!r} of trials: {', '.join(FAMILIES)}.")
    chosen = families or [one for one in FAMILIES if one not in _WITH_TORCH or find_spec("torch")]
    found: list[Trial] = []
    for one in chosen:
        found += import_module(FAMILIES[one]).trials(epsilon, delta)
    return tuple(found)


def self_audit(
    families: Sequence[str] | None = None,
    *,
    epsilon: float = 8.0,
    delta: float = 1e-5,
    runs: int | None = None,
    confidence: float = 0.999,
    processes: int | None = None,
    random_state: int | None = None,
    **settings: Any,
) -> AuditReport:
    """Attack every mechanism and model of the library, on made-up rows.

    Parameters
    ----------
    families : sequence of str, optional
        As for `find_trials`; all by default.
    epsilon, delta : float
        The claims that are tested.
    runs : int, optional
        Of every trial; by default as many as notice noise of half the scale.
    confidence : float
        Of each finding. There are dozens of them, so 0.999 by default.
    processes : int, optional
        As many as there are cores by default.
    random_state : int, optional
        Seeds the coins, never noise.
    **settings
        For `voile.audit.lower_bound`.

    Returns
    -------
    AuditReport
        ``broken`` is empty if no claim was refuted.
    """
    found: list[Finding] = []
    for number, trial in enumerate(find_trials(families, epsilon=epsilon, delta=delta)):
        coins = None if random_state is None else random_state + number
        found.append(
            trial.audit(
                runs, confidence=confidence, processes=processes, random_state=coins, **settings
            )
        )
    return AuditReport("Voile attacks itself", tuple(found))
