"""The page of a replay: what was replayed, how far each access moved, and what cannot be."""

from __future__ import annotations

import math

from voile.audit.replaying.record import Replay, ReplayedAccess, summed_up
from voile.rendering import draws
from voile.report.audit.page import compose_audit
from voile.report.kit.html import Templates

HEAD = ("access", "paid", "numbers", "one unit may move", "it moved", "share")

_KINDS = ("long", "long", "number", "number", "number", "number")

_html = Templates("audit/replay.html")


@draws(Replay)
def draw_page(replay: Replay) -> str:
    """The whole page as HTML."""
    body = _html.page(
        replay,
        outcome=outcome_text(replay),
        least=number_text(replay.epsilon),
        claimed=number_text(replay.claimed),
        head=HEAD,
        kinds=_KINDS,
        rows=[line_of(one) for one in summed_up(replay.accesses)],
    )
    return compose_audit(f"Replay of {replay.name}", body)


def outcome_text(replay: Replay) -> str:
    """The verdict, with the number of violations."""
    found = len(replay.violations)
    return f"{replay.verdict}: {found}." if found else f"{replay.verdict.capitalize()}."


def line_of(access: ReplayedAccess) -> tuple[str, ...]:
    """One access as the texts below `HEAD`."""
    share = access.share
    return (
        access.label,
        access.event,
        f"{access.size:,}",
        number_text(access.allowed),
        number_text(access.moved),
        f"{100 * share:.4g} %" if math.isfinite(share) else number_text(share),
    )


def number_text(number: float) -> str:
    """A number that may be infinite or unknown."""
    if math.isnan(number):
        return "unknown"
    return "∞" if math.isinf(number) else f"{number:.4g}"
