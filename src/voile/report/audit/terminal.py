"""Audits in a terminal: bars of what was shown with a mark where the guarantee ends, and rates."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.audit.finding import AuditReport, Finding
from voile.audit.membership.findings import MembershipReport
from voile.rendering import prints
from voile.report.audit import membership, pictures
from voile.report.audit.page import outcome_text
from voile.report.audit.pictures import Scale
from voile.report.kit.terminal import plain_table

WIDE = 22
"""Characters of the longest bar."""

EIGHTHS = " ▏▎▍▌▋▊▉"
MARK = "┃"


@prints(AuditReport, Finding)
def print_audit(console: Console, record: AuditReport | Finding) -> None:
    """Print a report, or one finding with all it says of itself."""
    if isinstance(record, Finding):
        console.print(tabulate_findings((record,)))
        console.print(Text(str(record)))
        console.print(Text(pictures.READ_IT))
        return
    console.print(Text(record.title, style="bold"))
    console.print(Text(outcome_text(record.findings), style="bold red" if record.broken else ""))
    if not record.findings:
        return
    console.print(tabulate_findings(record.findings))
    console.print(Text(f"{pictures.READ_IT} (Line: {MARK})"))
    for one in record.findings:
        if one.note:
            console.print(Text(f"- {one.name}: {one.note}"))


def tabulate_findings(findings: tuple[Finding, ...]) -> Table:
    """All findings, one line each, by groups."""
    scale = pictures.find_scale(findings)
    table = plain_table()
    table.add_column("audited", overflow="fold", min_width=10)
    table.add_column(f"epsilon, 0 to {scale.top:g}", no_wrap=True, min_width=WIDE)
    table.add_column("attacked", justify="right", no_wrap=True)
    table.add_column("claimed", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for group, members in pictures.group_findings(findings).items():
        if group:
            table.add_row(Text(group, style="bold"), Text(pictures.tally(members), style="dim"))
        for one in members:
            claim = pictures.claim_text(one) if _guarantees(one) else ""
            table.add_row(
                Text(pictures.name_in(group, one)),
                Text(draw_bar(scale, one), style=_colour(one)),
                f"≥ {pictures.shown_text(one)}",
                claim,
                Text(one.verdict, style="bold red" if one.broken else ""),
            )
    return table


def draw_bar(scale: Scale, finding: Finding) -> str:
    """The bar of one finding in ``WIDE`` characters at most, with the mark of its guarantee."""
    eighths = round(8 * WIDE * scale.place(finding.epsilon))
    # What was found at all is seen, however small.
    eighths = max(eighths, 1) if finding.epsilon > 0 else 0
    bar = "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")
    if not _guarantees(finding):
        return bar
    assert finding.claimed is not None
    at = min(int(WIDE * scale.place(finding.claimed)), WIDE - 1)
    # In one character there is no room for "just below" and "just beyond": a broken guarantee
    # shows.
    if finding.broken:
        bar = bar.ljust(at + 1, "█")
        return bar[:at] + MARK + (bar[at + 1 :] or "▏")
    return bar[:at].ljust(at) + MARK


@prints(MembershipReport)
def print_membership(console: Console, record: MembershipReport) -> None:
    """Print how far each membership attack got, beside blind guessing and the guarantee."""
    console.print(Text(membership.TITLE, style="bold"))
    console.print(Text(membership.found_text(record), style="bold red" if record.exceeds else ""))
    console.print(Text(membership.tried_text(record)))
    if not record.attacks:
        return
    head, names = membership.head_of(record), {one.name for one in record.exceeds}
    table = plain_table()
    for i, text in enumerate(head):
        rate = 0 < i < len(head) - 1
        table.add_column(text, justify="right" if rate else "left", no_wrap=rate)
    for name, *rates, verdict in membership.lines_of(record):
        # Intervals go below their rates: beside them they would not fit 80 characters.
        cells = (Text(rate.replace(" (", "\n(")) for rate in rates)
        table.add_row(Text(name), *cells, Text(verdict, "bold red" if name in names else ""))
    console.print(table)
    console.print(Text(membership.MEANING))


def _guarantees(finding: Finding) -> bool:
    return finding.claimed is not None and math.isfinite(finding.claimed)


def _colour(finding: Finding) -> str:
    if not _guarantees(finding):
        return "bright_black"
    return "red" if finding.broken else "blue"
