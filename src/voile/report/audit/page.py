"""The page of an audit: what was guaranteed, what an attacker has shown, and how to read it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from markupsafe import Markup

from voile.audit.finding import AuditReport, Finding, Method
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.audit import pictures
from voile.report.kit.assets import read_asset
from voile.report.kit.html import ENVIRONMENT, Templates
from voile.report.kit.theme import figure_style

HEAD = (
    *("name", "claimed ε", "attacked ε at least", "delta", "confidence", "runs", "method"),
    *("alarms", "verdict", "note"),
)

METHODS: dict[Method, str] = {
    "guesses": "guesses, the world of each run tossed by a coin",
    "rates": "rates of right and false alarms in two worlds",
    "gaussian": "rates of alarms in two worlds, if the noise is Gaussian",
    "one run": "many canaries in one training, each in or out by a coin",
}
"""How a bound was made, in words."""

_KINDS = ("long", "number", "number", "number", "number", "lines", "long", "lines", "", "long")

STYLE = read_asset("audit/page.css")
"""No figure needs a script here, and no receipt is at the end: nothing was released."""

_html = Templates("audit/page.html", pictures=pictures)


@draws(AuditReport, Finding)
def draw_page(record: AuditReport | Finding) -> str:
    """The whole page as HTML."""
    report = record
    if isinstance(report, Finding):
        report = AuditReport(f"Audit of {report.name}", (report,))
    findings = report.findings
    body = _html.page(
        findings,
        outcome=outcome_text(findings),
        bars=pictures.place_bars(findings) if findings else "",
        head=HEAD,
        kinds=_KINDS,
        rows=[line_of(one) for one in findings],
        bad=[(row, 8) for row, one in enumerate(findings) if one.broken],
        # Expected number of bounds that chance alone lifts over the truth, at most.
        wrong=sum(1.0 - one.confidence for one in findings),
        gaussian=any(one.method == "gaussian" for one in findings),
        groups=pictures.group_findings(findings),
    )
    return compose_audit(report.title, body)


@plots(AuditReport, Finding)
def plot(record: AuditReport | Finding, request: FigureRequest) -> go.Figure:
    """What an attacker has shown of each finding, and what was guaranteed."""
    request.refuse("name", "row", "output")
    return pictures.draw_findings(record.findings if isinstance(record, AuditReport) else (record,))


def compose_audit(title: str, body: Markup, *, style: str = "", figures: bool = False) -> str:
    """Put a page of attacks together: no script, no receipt, dark where the reader's screen is.

    Parameters
    ----------
    title : str
        Plain text.
    body : Markup
    style : str
        Name of a file with rules of this page's own pictures.
    figures : bool
        Whether it holds figures of the kit.
    """
    names = ["audit/page.css", "audit/bars.css", *([style] if style else [])]
    rules = "".join(map(read_asset, names)) + (figure_style() if figures else "")
    template = ENVIRONMENT.get_template("audit/document.html")
    return template.render(title=title, body=body, style=Markup(rules))


def outcome_text(findings: Sequence[Finding]) -> str:
    """The audit in one or two sentences."""
    if not findings:
        return "Nothing was audited."
    guaranteed = [one for one in findings if one.claimed is not None and math.isfinite(one.claimed)]
    broken = sum(one.broken for one in guaranteed)
    untested = sum(one.too_few_runs for one in guaranteed)
    left = len(findings) - len(guaranteed)
    if not guaranteed:
        return "No guarantee was made, so none could be broken."
    if untested == len(guaranteed):
        text = "Nothing was tested: so few runs could not have broken "
        text += "the guarantee." if untested == 1 else f"any of {untested} guarantees."
        untested = 0
    elif len(guaranteed) == 1:
        text = "The guarantee is broken." if broken else "The attack did not exceed the guarantee."
    elif broken:
        are = "is" if broken == 1 else "are"
        text = f"{broken} of {len(guaranteed)} guarantees {are} broken."
    else:
        text = f"No attack exceeded any of {len(guaranteed)} guarantees."
    if untested:
        text += f" {untested} of them had too few runs to be tested."
    if left:
        text += f" {left} more {'finding has' if left == 1 else 'findings have'} no guarantee."
    return text


def line_of(finding: Finding) -> tuple[str, ...]:
    """One finding as the texts below `HEAD`."""
    method = METHODS[finding.method]
    if finding.mu is not None:
        method += f": mu at least {finding.mu:.3g}"
        if finding.claimed_mu is not None and math.isfinite(finding.claimed_mu):
            method += f", the claim allows {finding.claimed_mu:.3g}"
    return (
        finding.name,
        pictures.claim_text(finding),
        pictures.shown_text(finding),
        f"{finding.delta:g}",
        f"{100.0 * finding.confidence:.6g} %",
        f"{finding.runs:,},\n{finding.judged:,} judged",
        method,
        f"right {finding.right_alarms:,} of {finding.with_canary:,},\n"
        f"false {finding.false_alarms:,} of {finding.without:,}",
        finding.verdict,
        finding.note,
    )
