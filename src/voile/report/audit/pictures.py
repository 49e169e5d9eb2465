"""The picture of an audit: a bar for what an attacker has shown, a line for what was promised."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from voile.audit.finding import Finding
from voile.explain.wording import MOST_DIGITS, short

READ_IT = (
    "The bar is what an attacker has shown; the line is what was promised. A bar beyond its line "
    "is a broken promise. A short bar is no proof of safety."
)

_BEND = 0.25
"""The axis is nearly linear below this epsilon and logarithmic above, and includes 0."""

_STEPS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_ROOM, _LEAST, _SEEN = 0.085, 2.0, 0.015
_OTHERS = "Other findings"

PICTURE_STYLE = """
  .rows { list-style: none; margin: 0; padding: 0 }
  .row { display: grid; grid-template-columns: minmax(0, 16rem) minmax(0, 1fr) 13.5rem;
         column-gap: 1rem; align-items: center; padding: .2rem 0; break-inside: avoid }
  .row.axis { position: sticky; top: 0; background: var(--page); padding: .3rem 0 0; z-index: 1 }
  .row svg { display: block; width: 100%; height: 1.5rem; overflow: visible }
  .group { margin: 1.1rem 0 .1rem; font-size: 1rem; break-after: avoid }
  .group span { font-weight: 400; color: var(--soft) }
  .name, .words { font-size: .9rem; line-height: 1.3 } .words { color: var(--soft) }
  .words b { display: block } .words b.bad { color: var(--bad) }
  .grid { stroke: var(--line) } .claim { stroke: var(--ink); stroke-width: 3 }
  .halo { stroke: var(--page); stroke-width: 7 }
  .bar { fill: var(--calm) } .broken .bar { fill: var(--alarm) }
  .without .bar { fill: var(--grey) }
  svg text { font-size: .75rem; fill: var(--soft); font-family: inherit }
  svg text.off { fill: var(--page); font-weight: 700 }
  .sample { display: inline-block; width: 1.6em; height: .75em; vertical-align: -.02em;
            margin-right: .4em }
  .sample.line { width: 3px; height: 1.1em; background: var(--ink); vertical-align: -.2em }
  .key { list-style: none; padding: 0; margin: .3rem 0 .6rem; font-size: .9rem }
  .key li { display: inline-block; margin-right: 1.3rem }
  @media (max-width: 46rem) {
    .row { display: block; padding: .5rem 0 } .row svg { margin: .15rem 0 }
    .words b { display: inline } .words b::after { content: ":" }
    .row.axis > div { display: none }
  }
  @media print { .row { grid-template-columns: 11rem minmax(0, 1fr) 13rem } }
"""


@dataclass(frozen=True)
class Scale:
    """The axis of epsilon.

    Attributes
    ----------
    top : float
        Epsilon at its end.
    """

    top: float

    def place(self, epsilon: float) -> float:
        """Where an epsilon lies, from 0 to 1; what is beyond the end lies at the end."""
        return min(math.log1p(max(epsilon, 0.0) / _BEND) / math.log1p(self.top / _BEND), 1.0)

    def ticks(self) -> tuple[float, ...]:
        """Epsilons to be written at the axis, rising, with room between them."""
        kept = [self.top]
        # Powers of ten first: they are missed most.
        for one in sorted(_STEPS, key=lambda step: step not in (0.0, 0.1, 1.0, 10.0, 100.0)):
            near = min(abs(self.place(one) - self.place(other)) for other in kept)
            if one < self.top and near >= _ROOM:
                kept.append(one)
        return tuple(sorted(kept))


def find_scale(findings: Sequence[Finding]) -> Scale:
    """An axis that holds what was shown and what was promised."""
    sizes = [one.epsilon for one in findings] + [one.claimed or 0.0 for one in findings]
    most = max([size for size in sizes if math.isfinite(size)], default=0.0)
    return Scale(next((step for step in _STEPS if step >= max(most, _LEAST)), _STEPS[-1]))


def group_findings(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by the part of their name before ": ", groups in the order of their first.

    Those without such a part come last, as "Other findings"; alone, they need no heading ("").
    """
    groups: dict[str, list[Finding]] = {}
    others: list[Finding] = []
    for one in findings:
        before, between, after = one.name.partition(": ")
        if between and before.strip() and after.strip():
            groups.setdefault(before, []).append(one)
        else:
            others.append(one)
    if others:
        groups.setdefault(_OTHERS if groups else "", []).extend(others)
    return groups


def name_in(group: str, finding: Finding) -> str:
    """The name of a finding under the heading of its group."""
    return finding.name.removeprefix(f"{group}: ") if group else finding.name


def claim_text(finding: Finding) -> str:
    """What was claimed: a number, "no guarantee" or "none"."""
    if finding.claimed is None:
        return "none"
    return "no guarantee" if math.isinf(finding.claimed) else _pair(finding)[1]


def shown_text(finding: Finding) -> str:
    """What was shown, with as many digits as tell it from the claim."""
    return _pair(finding)[0]


def words_of(finding: Finding) -> str:
    """What was shown and promised, after the verdict."""
    shown = f"{shown_text(finding)} shown" if finding.epsilon > 0 else "nothing shown"
    if finding.claimed is None or math.isinf(finding.claimed):
        return shown
    return f"{shown}, {claim_text(finding)} promised"


def tally(findings: Sequence[Finding]) -> str:
    """How many promises of a group are broken; empty if none was made."""
    promised = [one for one in findings if one.claimed is not None and math.isfinite(one.claimed)]
    if not promised:
        return ""
    count = sum(one.broken for one in promised)
    return f"{count or 'none'} of {len(promised)} broken"


def place_bars(findings: Sequence[Finding]) -> str:
    """The whole picture as HTML: rows of names, bars and words, which need `PICTURE_STYLE`."""
    scale = find_scale(findings)
    parts = [_key(findings), '<figure class="audit">']
    for position, (group, members) in enumerate(group_findings(findings).items()):
        if position == 0:
            parts.append(_axis(scale))
        if group:
            told = tally(members)
            told = f" <span>{html.escape(told)}</span>" if told else ""
            parts.append(f'<h3 class="group">{html.escape(group)}{told}</h3>')
        rows = "\n".join(_row(scale, name_in(group, one), one) for one in members)
        parts.append(f'<ul class="rows">{rows}</ul>')
    return "\n".join([*parts, "</figure>"])


def _pair(finding: Finding) -> tuple[str, str]:
    """Shown and claimed epsilon, with the fewest digits that tell them apart."""
    claimed = finding.claimed
    if claimed is None or not math.isfinite(claimed) or claimed == finding.epsilon:
        return _number(finding.epsilon), "" if claimed is None else _number(claimed)
    for digits in range(3, MOST_DIGITS + 1):
        texts = _number(finding.epsilon, digits), _number(claimed, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _number(value: float, digits: int = 3) -> str:
    return short(value, digits=digits) if math.isfinite(value) else "∞"


def _kind(finding: Finding) -> str:
    if finding.claimed is None or math.isinf(finding.claimed):
        return "without"
    return "broken" if finding.broken else "kept"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3f}%"


def _axis(scale: Scale) -> str:
    marks = []
    for tick in scale.ticks():
        at = _percent(scale.place(tick))
        anchor = {0.0: "start", scale.top: "end"}.get(tick, "middle")
        marks.append(f'<text x="{at}" y="13" text-anchor="{anchor}">{tick:g}</text>')
        marks.append(f'<line class="grid" x1="{at}" x2="{at}" y1="17" y2="24"/>')
    return (
        '<div class="row axis" aria-hidden="true"><div class="words">epsilon</div>'
        f"<svg>{''.join(marks)}</svg><div></div></div>"
    )


def _row(scale: Scale, name: str, finding: Finding) -> str:
    # The words beside a bar say all that it shows, so it is hidden from those who hear the page.
    bars = [
        f'<line class="grid" x1="{at}" x2="{at}" y1="0" y2="24"/>'
        for at in (_percent(scale.place(tick)) for tick in scale.ticks())
    ]
    if finding.epsilon > 0:
        length = _percent(scale.place(finding.epsilon))
        bars.append(f'<rect class="bar" x="0" y="5" width="{length}" height="14"/>')
    if finding.epsilon > scale.top:
        bars.append('<text class="off" x="100%" dx="-5" y="16" text-anchor="end">»</text>')
    if finding.claimed is not None and math.isfinite(finding.claimed):
        at = _percent(scale.place(finding.claimed))
        bars += [
            f'<line class="{kind}" x1="{at}" x2="{at}" y1="0" y2="24"/>'
            for kind in ("halo", "claim")
        ]
        # However little it is broken by, the bar is seen beyond its line.
        if finding.broken and scale.place(finding.epsilon) - scale.place(finding.claimed) < _SEEN:
            bars.insert(-1, f'<rect class="bar" x="{at}" y="5" width="8" height="14"/>')
    strong = ' class="bad"' if finding.broken else ""
    return (
        f'<li class="row {_kind(finding)}"><div class="name">{html.escape(name)}</div>'
        f'<svg aria-hidden="true">{"".join(bars)}</svg>'
        f'<div class="words"><b{strong}>{html.escape(finding.verdict)}</b> '
        f"{html.escape(words_of(finding))}</div></li>"
    )


def _key(findings: Sequence[Finding]) -> str:
    """The meaning of each colour in the picture."""
    kinds = {_kind(one) for one in findings}
    shown = [
        ("calm", "shown, within the promise", "kept"),
        ("alarm", "shown, promise BROKEN", "broken"),
        ("grey", "shown, where nothing was promised", "without"),
    ]
    items = [
        f'<li><span class="sample" style="background:var(--{colour})"></span>{text}</li>'
        for colour, text, kind in shown
        if kind in kinds
    ]
    if kinds - {"without"}:
        items.append('<li><span class="sample line"></span>promised</li>')
    return f'<ul class="key">{"".join(items)}</ul>'
