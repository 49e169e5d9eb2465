"""The page of an audit: what was promised, what an attacker has shown, and how to read it."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Sequence

from voile.audit.finding import AuditReport, Finding, Method
from voile.report.audit.pictures import (
    PICTURE_STYLE,
    READ_IT,
    claim_text,
    group_findings,
    name_in,
    place_bars,
    shown_text,
)
from voile.report.kit.page import heading, paragraph, place_list

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

# No figure needs a script here, and no receipt is at the end: nothing was released.
STYLE = """
  :root { color-scheme: light dark; --page: #ffffff; --ink: #1d2129; --soft: #545b66;
          --line: #d5d9de; --calm: #0072b2; --alarm: #c8500a; --bad: #a83f00; --grey: #69727e }
  @media screen and (prefers-color-scheme: dark) {
    :root { --page: #14171c; --ink: #e8eaed; --soft: #adb4be; --line: #3a414b;
            --calm: #56b4e9; --alarm: #ff8a4c; --bad: #ff9c66; --grey: #8f99a5 } }
  body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
         padding: 0 1rem; color: var(--ink); background: var(--page); overflow-wrap: anywhere }
  h1 { line-height: 1.2 } h2 { margin: 2.2rem 0 .4rem } h3 { margin: 1.2rem 0 .2rem }
  figure { margin: .4rem 0 0 } p { max-width: 46rem }
  .outcome { font-size: 1.15rem; font-weight: 600 }
  .note { color: var(--soft); font-size: .9rem; margin: .2rem 0 .6rem }
  .points { padding-left: 1.2rem; max-width: 46rem } .points li { margin: .3rem 0 }
  table { border-collapse: collapse; font-size: .82rem; line-height: 1.35; width: 100% }
  th, td { text-align: left; padding: .35rem .7rem .35rem 0; vertical-align: top;
           border-bottom: 1px solid var(--line); overflow-wrap: break-word }
  td.number, th.number { text-align: right; white-space: nowrap }
  th.number { white-space: normal } td.lines { white-space: pre }
  td.long { min-width: 8rem; overflow-wrap: anywhere }
  td.bad { color: var(--bad); font-weight: 700 } tr { break-inside: avoid }
  .wide { overflow-x: auto } summary { cursor: pointer }
  :focus-visible { outline: 3px solid var(--calm); outline-offset: 2px }
  @media screen and (max-width: 46rem) {
    table, tbody, tr, td { display: block } thead { display: none }
    tr { padding: .5rem 0; border-bottom: 1px solid var(--line) }
    td, td.number, td.lines { border: 0; padding: .1rem 0; text-align: left; white-space: normal }
    td::before { content: attr(data-head) ": "; color: var(--soft); font-weight: 400 }
    td:first-child { font-weight: 600 } td:first-child::before, td:empty::before { content: "" }
    td:empty { display: none }
  }
  @media print {
    body { margin: 0; max-width: none; font-size: 11pt } .row.axis { position: static }
    table { font-size: 7.5pt } th, td { padding-right: .4rem } td.long { min-width: 3.5rem }
    * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  }
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head><body><main>
<h1>{title}</h1>
{body}
</main></body></html>
"""

_LIMITS = (
    "Epsilon says how much one row can change what is released: 0 is nothing, and each step of 1 "
    "multiplies an attacker's odds by at most 2.7. Delta is the chance, kept very small, with "
    "which even that may fail.",
    "The attacked epsilon is a lower bound. The attacker trained or released many times, on tables "
    "with and without one planted row (a canary), and had to tell the two apart; had the true "
    "epsilon been smaller, it would hardly ever have been right so often.",
    "It says nothing upwards: a better attack, another canary or more runs may show more. Only the "
    "proof behind a claim bounds the loss from above; the audit looks for mistakes in the proof "
    "and in the program.",
    "Few runs show little even where much leaks: without supposing Gaussian noise, no attack shows "
    "more than about the logarithm of the number of its judged runs.",
    '"No guarantee" means that the claim was infinite, as for a model trained without noise: it '
    'cannot be broken, and its bar shows what the attack is able to find. "No claim" means that '
    "no epsilon was given.",
)
_GAUSSIAN = (
    "Where the method supposes Gaussian noise, the bound holds for such noise alone, and the "
    "verdict compares mu, the strength of that noise, not epsilon."
)


def draw_page(record: AuditReport | Finding) -> str:
    """The whole page as HTML."""
    report = record
    if isinstance(report, Finding):
        report = AuditReport(f"Audit of {report.name}", (report,))
    findings = report.findings
    body = [f'<p class="outcome">{html.escape(outcome_text(findings))}</p>']
    if findings:
        body += [
            paragraph(READ_IT),
            place_bars(findings),
            heading("The figures"),
            place_findings(findings),
            heading("How to read this, and its limits"),
            place_points(limits_of(findings)),
            heading("What was tried"),
            *_tell_tries(findings),
        ]
    return compose_audit(report.title, body)


def compose_audit(title: str, body: Iterable[str], *, style: str = "") -> str:
    """Put a page of attacks together: no script, no receipt, dark where the reader's screen is.

    Parameters
    ----------
    title : str
        Plain text.
    body : iterable of str
        HTML, in order.
    style : str
        Rules of this page's own pictures.
    """
    return _PAGE.format(
        title=html.escape(title), style=STYLE + PICTURE_STYLE + style, body="\n".join(body)
    )


def outcome_text(findings: Sequence[Finding]) -> str:
    """The audit in one or two sentences."""
    if not findings:
        return "Nothing was audited."
    promised = [one for one in findings if one.claimed is not None and math.isfinite(one.claimed)]
    broken = sum(one.broken for one in promised)
    untested = sum(one.too_few_runs for one in promised)
    left = len(findings) - len(promised)
    if not promised:
        return "No promise was made, so none could be broken."
    if untested == len(promised):
        text = "Nothing was tested: so few runs could not have broken "
        text += "the promise." if untested == 1 else f"any of {untested} promises."
        untested = 0
    elif len(promised) == 1:
        text = "The promise is broken." if broken else "The attack did not exceed the promise."
    elif broken:
        are = "is" if broken == 1 else "are"
        text = f"{broken} of {len(promised)} promises {are} broken."
    else:
        text = f"No attack exceeded any of {len(promised)} promises."
    if untested:
        text += f" {untested} of them had too few runs to be tested."
    if left:
        text += f" {left} more {'finding has' if left == 1 else 'findings have'} no promise."
    return text


def limits_of(findings: Sequence[Finding]) -> list[str]:
    """What a reader must know to read the bounds of these findings."""
    texts = list(_LIMITS)
    if any(one.method == "gaussian" for one in findings):
        texts.append(_GAUSSIAN)
    # Expected number of bounds that chance alone lifts over the truth, at most.
    wrong = sum(1.0 - one.confidence for one in findings)
    if len(findings) > 1:
        texts.append(
            "Each bound is too high by chance with a probability of at most 1 - its confidence: "
            f"of these {len(findings)}, at most {wrong:.2g} are expected to be. A promise that is "
            "broken by little, among many, deserves a second audit with other chance."
        )
    return texts


def place_points(texts: Iterable[str]) -> str:
    """Plain texts as a list."""
    return place_list(texts, style="points")


def place_findings(findings: Sequence[Finding]) -> str:
    """The table of all findings."""
    kinds = ("long", "number", "number", "number", "number", "lines", "long", "lines", "", "long")
    bad = {(row, 8) for row, one in enumerate(findings) if one.broken}
    rows = [line_of(one) for one in findings]
    return place_records("Table of all findings", HEAD, rows, kinds, bad=bad)


def place_records(
    label: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    kinds: Sequence[str],
    *,
    bad: Collection[tuple[int, int]] = (),
) -> str:
    """A table of plain texts; on a narrow screen each row is a card.

    Parameters
    ----------
    label : str
        What the table is, for those who hear it.
    head : sequence of str
    rows : sequence of sequence of str
    kinds : sequence of str
        Of each column: "number", "long" (breaks anywhere), "lines" (breaks where told), or "".
    bad : collection of (int, int)
        Row and column of alarming cells.
    """
    lines = []
    for i, row in enumerate(rows):
        cells = []
        for j, text in enumerate(row):
            named = " ".join([kinds[j]] * bool(kinds[j]) + ["bad"] * ((i, j) in bad))
            named = f' class="{named}"' if named else ""
            cells.append(f'<td{named} data-head="{html.escape(head[j])}">{html.escape(text)}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    titles = "".join(
        f'<th scope="col"{" class=number" * (kind == "number")}>{html.escape(text)}</th>'
        for text, kind in zip(head, kinds, strict=True)
    )
    # A box that scrolls must be reachable by keyboard.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(label)}"><table>'
        f"<thead><tr>{titles}</tr></thead>\n<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def line_of(finding: Finding) -> tuple[str, ...]:
    """One finding as the texts below `HEAD`."""
    method = METHODS[finding.method]
    if finding.mu is not None:
        method += f": mu at least {finding.mu:.3g}"
        if finding.claimed_mu is not None and math.isfinite(finding.claimed_mu):
            method += f", the claim allows {finding.claimed_mu:.3g}"
    return (
        finding.name,
        claim_text(finding),
        shown_text(finding),
        f"{finding.delta:g}",
        f"{100.0 * finding.confidence:.6g} %",
        f"{finding.runs:,},\n{finding.judged:,} judged",
        method,
        f"right {finding.right_alarms:,} of {finding.with_canary:,},\n"
        f"false {finding.false_alarms:,} of {finding.without:,}",
        finding.verdict,
        finding.note,
    )


def try_text(finding: Finding) -> str:
    """What one attack did, and how far it got."""
    each = "canaries of one training" if finding.method == "one run" else "runs"
    text = f"{finding.runs:,} {each}"
    taught = finding.runs - finding.judged
    if taught > 0:
        text += f": {taught:,} taught the attacker, {finding.judged:,} judged it"
    text += (
        f'. It said "the row was there" in {finding.right_alarms:,} of '
        f"{finding.with_canary:,} with it and in {finding.false_alarms:,} of "
        f"{finding.without:,} without it"
    )
    if finding.guesses:
        text += f"; {finding.right:,} of {finding.guesses:,} guesses it ventured were right"
    return f"{text}. Advantage over blind guessing {finding.advantage}."


def _tell_tries(findings: Sequence[Finding]) -> list[str]:
    parts = []
    for group, members in group_findings(findings).items():
        items = "".join(
            f"<li><b>{html.escape(name_in(group, one))}</b>: {html.escape(try_text(one))}</li>"
            for one in members
        )
        # Open, so that print shows it.
        title = html.escape(group or "All attacks")
        parts.append(
            f"<details open><summary>{title} ({len(members)})</summary>"
            f'<ul class="points">{items}</ul></details>'
        )
    return parts
