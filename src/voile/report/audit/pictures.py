"""The picture of an audit: a bar for what an attacker has shown, a line for what was guaranteed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from markupsafe import Markup

from voile.audit.finding import Finding
from voile.explain.wording import short
from voile.report.kit.html import Templates
from voile.report.kit.text import plot_labels, plot_text
from voile.report.kit.theme import INK, RAISE, WAS, dress, names_axis
from voile.schema.value_texts import MOST_DIGITS

READ_IT = (
    "The bar is what an attacker has shown; the line is what was guaranteed. A bar beyond its line "
    "is a broken guarantee. A short bar is no proof of safety."
)

_BEND = 0.25
"""The axis is nearly linear below this epsilon and logarithmic above, and includes 0."""

_STEPS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_ROOM, _LEAST, _SEEN = 0.085, 2.0, 0.015
_OTHERS = "Other findings"

_MEANINGS = {
    "kept": "shown, within the guarantee",
    "broken": "shown, guarantee BROKEN",
    "without": "shown, where nothing was guaranteed",
}

_html = Templates("audit/bars.html")


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
    """An axis that holds what was shown and what was guaranteed."""
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
    """What was shown and guaranteed, after the verdict."""
    shown = f"{shown_text(finding)} shown" if finding.epsilon > 0 else "nothing shown"
    if finding.claimed is None or math.isinf(finding.claimed):
        return shown
    return f"{shown}, {claim_text(finding)} guaranteed"


def tally(findings: Sequence[Finding]) -> str:
    """How many guarantees of a group are broken; empty if none was made."""
    guaranteed = [one for one in findings if one.claimed is not None and math.isfinite(one.claimed)]
    if not guaranteed:
        return ""
    count = sum(one.broken for one in guaranteed)
    return f"{count or 'none'} of {len(guaranteed)} broken"


def place_bars(findings: Sequence[Finding]) -> Markup:
    """The whole picture: rows of names, bars and words, which need the style ``bars.css``."""
    scale = find_scale(findings)
    ticks = [(tick, _percent(scale.place(tick))) for tick in scale.ticks()]
    groups = [
        (group, tally(members), [_show_row(scale, name_in(group, one), one) for one in members])
        for group, members in group_findings(findings).items()
    ]
    return _html.bars({_kind(one) for one in findings}, _MEANINGS, scale.top, ticks, groups)


def draw_findings(findings: Sequence[Finding]) -> go.Figure:
    """The picture as a figure by itself: a bar per finding, a stroke where a guarantee ends."""
    scale, rows = find_scale(findings), list(range(len(findings)))
    ticks = scale.ticks()
    claims = [one.claimed if one.claimed is not None else math.inf for one in findings]
    promised = [i for i in rows if math.isfinite(claims[i])]
    colours = {"kept": INK, "broken": RAISE, "without": WAS}
    figure = go.Figure()
    for kind, name in _MEANINGS.items():
        own = [i for i in rows if _kind(findings[i]) == kind]
        figure.add_bar(
            x=[scale.place(findings[i].epsilon) for i in own],
            y=own,
            orientation="h",
            width=0.6,
            marker={"color": colours[kind]},
            name=name,
            showlegend=bool(own),
            hovertext=[_hover(findings[i]) for i in own],
            hoverinfo="text",
        )
    figure.add_scatter(
        x=[scale.place(claims[i]) for i in promised],
        y=promised,
        name="guaranteed",
        mode="markers",
        marker={"symbol": "line-ns", "size": 20, "line": {"width": 3, "color": "#222"}},
        hovertext=[_hover(findings[i]) for i in promised],
        hoverinfo="text",
    )
    return dress(
        figure,
        26 * len(findings) + 110,
        "named bars",
        showlegend=True,
        xaxis={
            "title": "epsilon",
            "range": [0, 1.02],
            "tickvals": [scale.place(tick) for tick in ticks],
            "ticktext": [f"{tick:g}" for tick in ticks],
        },
        yaxis=names_axis(plot_labels([one.name for one in findings], 34)),
    )


def _hover(finding: Finding) -> str:
    return f"<b>{plot_text(finding.name)}</b><br>{finding.verdict}: {words_of(finding)}"


def _show_row(scale: Scale, name: str, finding: Finding) -> dict[str, object]:
    """One bar, as the template takes it; places are percents of its width."""
    shown, claimed = scale.place(finding.epsilon), finding.claimed
    guaranteed = claimed is not None and math.isfinite(claimed)
    claim = scale.place(claimed) if claimed is not None and guaranteed else 0.0
    return {
        "kind": _kind(finding),
        "name": name,
        "verdict": finding.verdict,
        "broken": finding.broken,
        "words": words_of(finding),
        "length": _percent(shown) if finding.epsilon > 0 else "",
        "off": finding.epsilon > scale.top,
        "claim": _percent(claim) if guaranteed else "",
        # However little it is broken by, the bar is seen beyond its line.
        "beyond": guaranteed and finding.broken and shown - claim < _SEEN,
    }


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
