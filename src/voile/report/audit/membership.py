"""The page of membership attacks: curves of members found against false alarms, and a table."""

from __future__ import annotations

import math

from voile.audit.membership.curves import allowed_tpr
from voile.audit.membership.findings import MembershipAttack, MembershipReport
from voile.audit.two_worlds import Estimate
from voile.rendering import draws
from voile.report.audit.page import compose_audit
from voile.report.kit.html import Templates

TITLE = "Was this row in the training table?"

MEANING = (
    "Found: members that the attacker names, while it accuses no more than so many of those who "
    "were not in the table. Blind guessing finds as many as it accuses. 95 % intervals in brackets."
)

LOWEST = 1e-3
"""Smallest rate on either axis; what is below lies on the edge."""

WIDTH, HEIGHT = 340, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 8, 40
_TICKS = (0.001, 0.01, 0.1, 1.0)
_SAMPLES = 120


@draws(MembershipReport)
def draw_page(report: MembershipReport) -> str:
    """The whole page as HTML."""
    head = head_of(report)
    # The first line is blind guessing.
    bad = [(row, len(head) - 1) for row, one in enumerate(report.attacks, 1) if one.exceeds]
    html = Templates("audit/membership.html", x=_x, y=_y, rate_text=rate_text)
    body = html.page(
        report,
        found=found_text(report),
        tried=tried_text(report),
        guaranteed=_guaranteed(report),
        curves=[_show_curve(report, one) for one in report.attacks],
        edge=_find_edge(report) if _guaranteed(report) else "",
        head=head,
        rows=lines_of(report),
        kinds=("long", *("number" for _ in head[2:]), ""),
        bad=bad,
        meaning=MEANING,
        size=(WIDTH, HEIGHT, _LEFT, _TOP),
        ends=(LOWEST, math.sqrt(LOWEST)),
        ticks=_TICKS,
    )
    return compose_audit(TITLE, body, style="audit/membership.css")


def _show_curve(report: MembershipReport, attack: MembershipAttack) -> dict[str, object]:
    """One curve, as the template takes it."""
    area = f"AUC {_area(attack)}"
    if _guaranteed(report) and attack.allowed_auc is not None:
        area += f" (allowed {attack.allowed_auc:.3f})"
    return {
        "attack": attack,
        "verdict": verdict_of(report, attack),
        "area": area,
        "path": step_path(attack),
    }


def found_text(report: MembershipReport) -> str:
    """The outcome in one sentence."""
    if not report.attacks:
        return "No attack was tried."
    count, over = len(report.attacks), len(report.exceeds)
    best = f"The strongest attack is {report.strongest.name}, AUC {_area(report.strongest)}."
    if report.epsilon is None:
        return f"No guarantee was given to compare with. {best}"
    if math.isinf(report.epsilon):
        return f"No guarantee: the training guarantees nothing. {best}"
    if over:
        gets = "attack gets" if count == 1 else f"attacks {'gets' if over == 1 else 'get'}"
        return f"{over} of {count} {gets} further than the guarantee allows."
    doubtful = sum(_doubtful(one) for one in report.attacks)
    if doubtful:
        are = "is" if doubtful == 1 else "are"
        return (
            f"No attack certainly gets further than the guarantee allows, but {doubtful} of "
            f"{count} {are} above it, by no more than the error of so few runs."
        )
    if count == 1:
        return "The attack does not get further than the guarantee allows."
    return f"None of {count} attacks gets further than the guarantee allows."


def tried_text(report: MembershipReport) -> str:
    """What was attacked, and under which guarantee."""
    text = (
        f"{report.trainings:,} trainings ({report.kind}), each on a random half of "
        f"{report.rows:,} rows."
    )
    if report.epsilon is None or math.isinf(report.epsilon):
        return text
    return f"{text} Guaranteed: epsilon {report.epsilon:g}, delta {report.delta or 0.0:g}."


def verdict_of(report: MembershipReport, attack: MembershipAttack) -> str:
    """In two or three words."""
    if report.epsilon is None or attack.exceeds is None:
        return "no guarantee"
    if math.isinf(report.epsilon):
        return "no guarantee"
    if attack.exceeds:
        return "MORE THAN ALLOWED"
    return "above, not certain" if _doubtful(attack) else "within the guarantee"


def head_of(report: MembershipReport) -> tuple[str, ...]:
    """Heads of the columns of `lines_of`."""
    points = report.attacks[0].points if report.attacks else ()
    return ("attack", "AUC", *(f"found at {rate_text(one.fpr)}" for one in points), "verdict")


def lines_of(report: MembershipReport) -> list[tuple[str, ...]]:
    """Blind guessing, every attack, and the guarantee if there is one, as texts."""
    if not report.attacks:
        return []
    first = report.attacks[0]
    lines = [("blind guessing", "0.5", *(rate_text(one.fpr) for one in first.points), "")]
    for one in report.attacks:
        found = (_with_interval(point.tpr) for point in one.points)
        area = f"{_area(one)} ({one.auc.lower:.3f} to {one.auc.upper:.3f})"
        lines.append((one.name, area, *found, verdict_of(report, one)))
    if _guaranteed(report) and first.allowed_auc is not None:
        limits = ("" if one.allowed is None else rate_text(one.allowed) for one in first.points)
        lines.append(("the guarantee allows", f"{first.allowed_auc:.3f}", *limits, ""))
    return lines


def rate_text(rate: float) -> str:
    """A rate in per cent, with two digits or more.

    Examples
    --------
    >>> rate_text(0.001), rate_text(0.0272), rate_text(0.456), rate_text(1.0)
    ('0.1 %', '2.7 %', '46 %', '100 %')
    """
    return f"{100.0 * rate:.2g} %" if rate < 0.995 else f"{100.0 * rate:.3g} %"


def place_rate(rate: float) -> float:
    """Where a rate lies on a logarithmic axis, from 0 (at `LOWEST` or below) to 1."""
    return 1.0 - math.log(min(max(rate, LOWEST), 1.0)) / math.log(LOWEST)


def _doubtful(attack: MembershipAttack) -> bool:
    """Whether an attack is above what the guarantee allows, but by no more than its error."""
    if attack.allowed_auc is None or attack.exceeds:
        return False
    return attack.auc.value > attack.allowed_auc or any(
        one.allowed is not None and one.tpr.value > one.allowed for one in attack.points
    )


def _guaranteed(report: MembershipReport) -> bool:
    return report.epsilon is not None and math.isfinite(report.epsilon)


def _area(attack: MembershipAttack) -> str:
    return f"{attack.auc.value:.3f}"


def _with_interval(found: Estimate) -> str:
    lower = rate_text(found.lower).removesuffix(" %")
    return f"{rate_text(found.value)} ({lower} to {rate_text(found.upper)})"


def _x(rate: float) -> str:
    return f"{_LEFT + (WIDTH - _LEFT - _RIGHT) * place_rate(rate):.1f}"


def _y(rate: float) -> str:
    return f"{_TOP + (HEIGHT - _TOP - _BOTTOM) * (1.0 - place_rate(rate)):.1f}"


def _find_edge(report: MembershipReport) -> str:
    """Corners of what (epsilon, delta) allows: all below lies within it."""
    assert report.epsilon is not None
    rates = [LOWEST ** (1.0 - i / (_SAMPLES - 1)) for i in range(_SAMPLES)]
    return " ".join(
        f"{_x(one)},{_y(allowed_tpr(report.epsilon, report.delta or 0.0, min(one, 1.0)))}"
        for one in rates
    )


def step_path(attack: MembershipAttack) -> str:
    """The curve as steps: between two corners the attacker has what the earlier one gave."""
    roc = attack.roc
    corners = list(zip(roc.false_positive_rates, roc.true_positive_rates, strict=True))
    # Left of the first rate that is drawn, only the last corner counts.
    start = max((found for false, found in corners if false <= LOWEST), default=0.0)
    path = [f"M{_x(LOWEST)} {_y(start)}"]
    for false, found in corners:
        if false > LOWEST:
            path.append(f"H{_x(false)}V{_y(found)}")
    return "".join(path)
