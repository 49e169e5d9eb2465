"""The page of membership attacks: curves of members found against false alarms, and a table."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from voile.audit.membership.curves import allowed_tpr
from voile.audit.membership.findings import MembershipAttack, MembershipReport
from voile.audit.two_worlds import Estimate
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.audit.page import compose_audit
from voile.report.kit.html import Templates
from voile.report.kit.text import plot_text
from voile.report.kit.theme import INK, RAISE, dress, legend_room, see_through

TITLE = "Was this row in the training table?"

MEANING = (
    "Found: members that the attacker names, while it accuses no more than so many of those who "
    "were not in the table. Blind guessing finds as many as it accuses. 95 % intervals in brackets."
)

LOWEST = 1e-3
"""Smallest rate on either axis; what is below lies on the edge."""

_RATES = np.geomspace(LOWEST, 1.0, 61)


@draws(MembershipReport)
def draw_page(report: MembershipReport) -> str:
    """The whole page as HTML."""
    head = head_of(report)
    # The first line is blind guessing.
    bad = [(row, len(head) - 1) for row, one in enumerate(report.attacks, 1) if one.exceeds]
    body = Templates("audit/membership.html", rate_text=rate_text).page(
        report,
        found=found_text(report),
        tried=tried_text(report),
        guaranteed=_guaranteed(report),
        curves=[_show_curve(report, one) for one in report.attacks],
        head=head,
        rows=lines_of(report),
        kinds=("long", *("number" for _ in head[2:]), ""),
        bad=bad,
        meaning=MEANING,
    )
    return compose_audit(TITLE, body, style="audit/membership.css", figures=True)


@plots(MembershipReport)
def plot(report: MembershipReport, request: FigureRequest) -> go.Figure:
    """How far the attack that is named gets; by default the strongest."""
    request.refuse("row", "output")
    attacks = {one.name: one for one in report.attacks}
    name = request.choose_name(list(attacks))
    attack = attacks[name] if request.name is not None else report.strongest
    figure = draw_curve(report, attack)
    return figure.update_layout(showlegend=True, height=360 + legend_room(4))


def draw_curve(report: MembershipReport, attack: MembershipAttack) -> go.Figure:
    """Members found against those wrongly accused, beside blind guessing and the guarantee."""
    figure = go.Figure()
    if _guaranteed(report):
        assert report.epsilon is not None
        delta = report.delta or 0.0
        figure.add_scatter(
            x=_RATES.tolist(),
            y=[allowed_tpr(report.epsilon, delta, min(one, 1.0)) for one in _RATES.tolist()],
            fill="tozeroy",
            fillcolor=see_through(INK, 0.13),
            line={"color": "#222", "width": 1.5},
            mode="lines",
            name="what the guarantee allows",
            hoverinfo="skip",
        )
    blind = {"color": "#666", "width": 1, "dash": "dash"}
    ends = [LOWEST, 1.0]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line=blind, name="blind guessing", hoverinfo="skip"
    )
    colour = RAISE if attack.exceeds else INK
    x, y = find_steps(attack)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colour, "width": 2.5, "shape": "hv"},
        name=plot_text(attack.name, 30),
        hoverinfo="skip",
    )
    found = [one.tpr for one in attack.points]
    figure.add_scatter(
        x=[one.fpr for one in attack.points],
        y=[one.value for one in found],
        error_y={
            "array": [one.upper - one.value for one in found],
            "arrayminus": [one.value - max(one.lower, LOWEST / 2) for one in found],
            "color": colour,
        },
        mode="markers",
        marker={"color": colour, "size": 8},
        showlegend=False,
        hovertext=[
            f"{_with_interval(one.tpr)} found,<br>{rate_text(one.fpr)} wrongly accused"
            for one in attack.points
        ],
        hoverinfo="text",
    )
    return dress(figure, 320, "membership")


def find_steps(attack: MembershipAttack) -> tuple[list[float], list[float]]:
    """The curve: between two corners the attacker has what the earlier one gave."""
    roc = attack.roc
    corners = list(zip(roc.false_positive_rates, roc.true_positive_rates, strict=True))
    # Left of the first rate that is drawn, only the last corner counts.
    start = max((found for false, found in corners if false <= LOWEST), default=0.0)
    shown = [(LOWEST, start), *(corner for corner in corners if corner[0] > LOWEST)]
    return [false for false, _ in shown], [max(found, LOWEST) for _, found in shown]


def _show_curve(report: MembershipReport, attack: MembershipAttack) -> dict[str, object]:
    """One curve, as the template takes it."""
    area = f"AUC {_area(attack)}"
    if _guaranteed(report) and attack.allowed_auc is not None:
        area += f" (allowed {attack.allowed_auc:.3f})"
    return {
        "attack": attack,
        "verdict": verdict_of(report, attack),
        "area": area,
        "figure": draw_curve(report, attack),
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
