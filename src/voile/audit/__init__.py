"""Attacks on released models, and how far they get beside what the guarantee allows.

>>> from voile.audit import lower_bound
"""

from typing import TYPE_CHECKING

from voile.lazy import load_later

if TYPE_CHECKING:
    from voile.audit.finding import AuditReport, Finding
    from voile.audit.many_canaries import one_run
    from voile.audit.membership import membership_report
    from voile.audit.paired import judge, lower_bound
    from voile.audit.replaying.record import Replay
    from voile.audit.replaying.replay import replay, replay_mechanism
    from voile.audit.trials.catalogue import find_trials, self_audit
    from voile.audit.verification import Verification, verify

_HOMES = {
    "AuditReport": "voile.audit.finding",
    "Verification": "voile.audit.verification",
    "verify": "voile.audit.verification",
    "Finding": "voile.audit.finding",
    "Replay": "voile.audit.replaying.record",
    "find_trials": "voile.audit.trials.catalogue",
    "judge": "voile.audit.paired",
    "lower_bound": "voile.audit.paired",
    "membership_report": "voile.audit.membership",
    "one_run": "voile.audit.many_canaries",
    "replay": "voile.audit.replaying.replay",
    "replay_mechanism": "voile.audit.replaying.replay",
    "self_audit": "voile.audit.trials.catalogue",
}

__all__ = [
    "AuditReport",
    "Finding",
    "Replay",
    "Verification",
    "find_trials",
    "judge",
    "lower_bound",
    "membership_report",
    "one_run",
    "replay",
    "replay_mechanism",
    "self_audit",
    "verify",
]


__getattr__ = load_later(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
