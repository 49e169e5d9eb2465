"""The page of membership attacks: curves of members found against false alarms, and a table."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

from voile.audit.membership.curves import allowed_tpr
from voile.audit.membership.findings import MembershipAttack, MembershipReport, RocPoint
from voile.audit.two_worlds import Estimate
from voile.report.audit.page import compose_audit, place_points, place_records
from voile.report.kit.page import heading, paragraph

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

_STYLE = """
  .curves { display: grid; gap: 1.4rem 1.6rem; margin: .8rem 0;
            grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)) }
  .curve { break-inside: avoid; margin: 0 } .curve svg { display: block; width: 100%;
            height: auto; max-width: 26rem } .curve svg text { font-size: 12px }
  .curve b.bad { color: var(--bad) }
  .allowed { fill: var(--calm); opacity: .13 } .edge { fill: none; stroke: var(--ink);
             stroke-width: 1.5 } .blind { stroke: var(--soft); stroke-dasharray: 4 4 }
  .roc { fill: none; stroke: var(--calm); stroke-width: 2.5; stroke-linejoin: round }
  .spread { stroke: var(--calm); stroke-width: 1.5 } .dot { fill: var(--calm) }
  .over .roc, .over .spread { stroke: var(--alarm) } .over .dot { fill: var(--alarm) }
  svg text.told { fill: var(--ink) }
  .sample.shade { background: color-mix(in srgb, var(--calm) 13%, var(--page));
                  border-top: 1.5px solid var(--ink) }
  .sample.dashed { height: 0; border-top: 2px dashed var(--soft); vertical-align: .25em }
"""

_LIMITS = (
    "The attacker has a row and a trained model, and says whether the row was in the training "
    "table. It has trained models of its own on other random halves of the same pool, so it knows "
    "how a model that had the row looks, and how one that had not.",
    "What matters is the left edge. An attacker that is right about a few people, and almost never "
    "wrong, does harm even if it knows nothing about all the others.",
    "These are averages over the rows of the pool. A row that stands out may be found far more "
    "often, and a better attack may find more. A curve near the diagonal is no proof of safety, "
    "and no bound on epsilon.",
    "At the left edge a curve rests on few alarms, and may lie above the promise by chance: the "
    'upright lines are 95 % intervals. "Above, not certain" asks for more trainings or rows.',
    "The limits of each attack were chosen on the scores that it is judged by, and scores share "
    "models and rows: intervals are approximate. More than the promise allows is a reason to look "
    "for the mistake.",
    "The attacks read the rows in the clear, and no budget was spent. Keep this page with the "
    "rows.",
)


def draw_page(report: MembershipReport) -> str:
    """The whole page as HTML."""
    body = [
        f'<p class="outcome">{html.escape(found_text(report))}</p>',
        paragraph(tried_text(report)),
    ]
    if report.attacks:
        kinds = ("long", *("number" for _ in head_of(report)[2:]), "")
        last = len(kinds) - 1
        # The first line is blind guessing.
        bad = {(row + 1, last) for row, one in enumerate(report.attacks) if one.exceeds}
        body += [
            _key(report),
            _curves(report),
            heading("The figures"),
            place_records(
                "Table of all attacks", head_of(report), lines_of(report), kinds, bad=bad
            ),
            paragraph(MEANING, note=True),
        ]
    body += [heading("How to read this, and its limits"), place_points(_LIMITS)]
    return compose_audit(TITLE, body, style=_STYLE)


def found_text(report: MembershipReport) -> str:
    """The outcome in one sentence."""
    if not report.attacks:
        return "No attack was tried."
    count, over = len(report.attacks), len(report.exceeds)
    best = f"The strongest attack is {report.strongest.name}, AUC {_area(report.strongest)}."
    if report.epsilon is None:
        return f"No promise was given to compare with. {best}"
    if math.isinf(report.epsilon):
        return f"No guarantee: the training promises nothing. {best}"
    if over:
        gets = "attack gets" if count == 1 else f"attacks {'gets' if over == 1 else 'get'}"
        return f"{over} of {count} {gets} further than the promise allows."
    doubtful = sum(_doubtful(one) for one in report.attacks)
    if doubtful:
        are = "is" if doubtful == 1 else "are"
        return (
            f"No attack certainly gets further than the promise allows, but {doubtful} of {count} "
            f"{are} above it, by no more than the error of so few runs."
        )
    if count == 1:
        return "The attack does not get further than the promise allows."
    return f"None of {count} attacks gets further than the promise allows."


def tried_text(report: MembershipReport) -> str:
    """What was attacked, and under which promise."""
    text = (
        f"{report.trainings:,} trainings ({report.kind}), each on a random half of "
        f"{report.rows:,} rows."
    )
    if report.epsilon is None or math.isinf(report.epsilon):
        return text
    return f"{text} Promised: epsilon {report.epsilon:g}, delta {report.delta or 0.0:g}."


def verdict_of(report: MembershipReport, attack: MembershipAttack) -> str:
    """In two or three words."""
    if report.epsilon is None or attack.exceeds is None:
        return "no promise"
    if math.isinf(report.epsilon):
        return "no guarantee"
    if attack.exceeds:
        return "MORE THAN ALLOWED"
    return "above, not certain" if _doubtful(attack) else "within the promise"


def head_of(report: MembershipReport) -> tuple[str, ...]:
    """Heads of the columns of `lines_of`."""
    points = report.attacks[0].points if report.attacks else ()
    return ("attack", "AUC", *(f"found at {rate_text(one.fpr)}" for one in points), "verdict")


def lines_of(report: MembershipReport) -> list[tuple[str, ...]]:
    """Blind guessing, every attack, and the promise if there is one, as texts."""
    if not report.attacks:
        return []
    first = report.attacks[0]
    lines = [("blind guessing", "0.5", *(rate_text(one.fpr) for one in first.points), "")]
    for one in report.attacks:
        found = (_with_interval(point.tpr) for point in one.points)
        area = f"{_area(one)} ({one.auc.lower:.3f} to {one.auc.upper:.3f})"
        lines.append((one.name, area, *found, verdict_of(report, one)))
    if _promised(report) and first.allowed_auc is not None:
        limits = ("" if one.allowed is None else rate_text(one.allowed) for one in first.points)
        lines.append(("the promise allows", f"{first.allowed_auc:.3f}", *limits, ""))
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
    """Whether an attack is above what the promise allows, but by no more than its error."""
    if attack.allowed_auc is None or attack.exceeds:
        return False
    return attack.auc.value > attack.allowed_auc or any(
        one.allowed is not None and one.tpr.value > one.allowed for one in attack.points
    )


def _promised(report: MembershipReport) -> bool:
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


def _key(report: MembershipReport) -> str:
    items = [("", " dashed", "blind guessing")]
    if report.exceeds:
        items.insert(0, ("background:var(--alarm)", "", "an attack that gets too far"))
    if len(report.exceeds) < len(report.attacks):
        items.insert(0, ("background:var(--calm)", "", "an attack"))
    if _promised(report):
        items.append(("", " shade", "what the promise allows any attacker"))
    texts = "".join(
        f'<li><span class="sample{kind}"{f" style={chr(34)}{style}{chr(34)}" if style else ""}>'
        f"</span>{text}</li>"
        for style, kind, text in items
    )
    return f'<ul class="key">{texts}</ul>'


def _curves(report: MembershipReport) -> str:
    cards = []
    for one in report.attacks:
        verdict = html.escape(verdict_of(report, one))
        strong = f"<b{' class=bad' if one.exceeds else ''}>{verdict}</b>"
        told = "; ".join(
            f"{rate_text(point.tpr.value)} found at {rate_text(point.fpr)}" for point in one.points
        )
        area = f"AUC {_area(one)}"
        if _promised(report) and one.allowed_auc is not None:
            area += f" (allowed {one.allowed_auc:.3f})"
        label = f"{one.name}: {area}; {told}; {verdict_of(report, one)}"
        cards.append(
            f'<div class="curve{" over" if one.exceeds else ""}"><h3>{html.escape(one.name)}</h3>'
            f'<p class="note">{strong}, {area}</p>'
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(label)}">'
            f"{_draw(report, one)}</svg></div>"
        )
    return f'<div class="curves">{"".join(cards)}</div>'


def _draw(report: MembershipReport, attack: MembershipAttack) -> str:
    parts = list(_axes())
    if _promised(report):
        parts += _region(report)
    ends = f'x1="{_x(LOWEST)}" y1="{_y(LOWEST)}" x2="{_x(1.0)}" y2="{_y(1.0)}"'
    parts.append(f'<line class="blind" {ends}/>')
    parts.append(f'<path class="roc" d="{step_path(attack)}"/>')
    parts += [mark for point in attack.points for mark in _marks(point)]
    return "".join(parts)


def _axes() -> Iterable[str]:
    for tick in _TICKS:
        x, y, text = _x(tick), _y(tick), f"{100.0 * tick:g} %"
        anchor = "end" if tick == 1.0 else "middle"
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(1.0)}" y2="{_y(LOWEST)}"/>'
        yield f'<line class="grid" x1="{_x(LOWEST)}" x2="{_x(1.0)}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{x}" y="{HEIGHT - 24}" text-anchor="{anchor}">{text}</text>'
        yield f'<text x="{_LEFT - 5}" y="{y}" dy="4" text-anchor="end">{text}</text>'
    middle = _x(math.sqrt(LOWEST))
    yield f'<text class="told" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">' + (
        "wrongly accused</text>"
    )
    yield f'<text class="told" x="{_LEFT + 6}" y="{_TOP + 14}">members found</text>'


def _region(report: MembershipReport) -> list[str]:
    """What (epsilon, delta) allows: all below its edge."""
    assert report.epsilon is not None
    rates = [LOWEST ** (1.0 - i / (_SAMPLES - 1)) for i in range(_SAMPLES)]
    edge = " ".join(
        f"{_x(one)},{_y(allowed_tpr(report.epsilon, report.delta or 0.0, min(one, 1.0)))}"
        for one in rates
    )
    corners = f"{_x(1.0)},{_y(LOWEST)} {_x(LOWEST)},{_y(LOWEST)}"
    return [
        f'<polygon class="allowed" points="{edge} {corners}"/>',
        f'<polyline class="edge" points="{edge}"/>',
    ]


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


def _marks(point: RocPoint) -> list[str]:
    """The rate at one false-positive rate, with its interval."""
    x = _x(point.fpr)
    ends = f'y1="{_y(point.tpr.lower)}" y2="{_y(point.tpr.upper)}"'
    return [
        f'<line class="spread" x1="{x}" x2="{x}" {ends}/>',
        f'<circle class="dot" cx="{x}" cy="{_y(point.tpr.value)}" r="4"/>',
    ]
