"""The picture of an audit: docs/pictures/audit.png, from the JSON file of an AuditReport.

Run ``python benchmarks/audit/picture.py results.json [more.json ...] [picture.png]`` with chromium
installed. A file is what ``AuditReport.to_json()`` gives, or holds it below the key "report". Of
more than 30 findings a few are shown: of each family of ours the one that shows most, of other
libraries what they break without a warning and what they do not break (at most five of either),
and ours under the same attacks.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import math
from dataclasses import replace
from typing import Any

from benchmarks.kit.page_picture import shoot
from voile.audit.finding import AuditReport, Finding
from voile.audit.two_worlds import Estimate
from voile.report.audit.page import STYLE, outcome_text
from voile.report.audit.pictures import (
    READ_IT,
    group_findings,
    name_in,
    place_bars,
)
from voile.report.kit.assets import read_asset
from voile.report.kit.html import parts as kit

PICTURE = Path(__file__).parents[2] / "docs/pictures/audit.png"
WIDTH, HEAD, GROUP, ROW, LINE, NAME = 1100, 170, 44, 44, 19, 34
"""In pixels, but for the characters in one line of a name."""

MOST, SHOWN = 30, 5
LIBRARIES = ("interpret", "diffprivlib")

# The picture is the same on a dark screen, and as wide as it is told to be.
FIXED = """
  body { margin: 0; padding: 14px 20px; max-width: none; box-sizing: border-box }
  .outcome { margin: 0 0 .3rem } p { margin: .2rem 0; max-width: none }
  .row.axis { position: static }
"""


def read_report(path: Path) -> AuditReport:
    """The report of a JSON file; a claim of None is infinite where the verdict says so."""
    found = json.loads(path.read_text(encoding="utf-8"))
    found = found.get("report", found)
    return AuditReport(found["title"], tuple(read_finding(one) for one in found["findings"]))


def read_finding(found: dict[str, Any]) -> Finding:
    """One finding from its `to_dict`."""
    facts = {key: found[key] for key in Finding.__dataclass_fields__ if key in found}
    if found["verdict"] == "no guarantee":
        facts["claimed"] = math.inf
        facts["claimed_mu"] = None if facts["mu"] is None else math.inf
    return Finding(**{**facts, "advantage": Estimate(**found["advantage"])})


def draw(report: AuditReport) -> str:
    """The page that is photographed: the outcome, how to read it, and the bars."""
    body = [
        f'<p class="outcome">{outcome_text(report.findings)}</p>',
        kit.paragraphs([READ_IT]),
        place_bars(report.findings),
    ]
    light = STYLE.replace("(prefers-color-scheme: dark)", "(max-width: 0)")
    style = light + read_asset("audit/bars.css") + FIXED
    return f"<!doctype html><meta charset=utf-8><style>{style}</style><body>{''.join(body)}"


def height(report: AuditReport) -> int:
    """Pixels that the picture needs; a long name takes several lines."""
    groups = group_findings(report.findings)
    total = HEAD + GROUP * len(groups)
    for group, found in groups.items():
        for one in found:
            total += max(ROW, 8 + LINE * math.ceil(len(name_in(group, one)) / NAME))
    return total


def pick(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A few of many findings, by the rule above."""
    ours, others, same = [], [], []
    for group, found in group_findings(findings).items():
        if group == "Voile":
            same += [rename(one, "Voile, same attacks", "same attack, ") for one in found[:SHOWN]]
        elif group.startswith(LIBRARIES):
            broken = [one for one in found if one.broken and "warns" not in one.note]
            others += sorted(broken, key=lambda one: -one.epsilon)[:SHOWN]
            others += [one for one in found if not one.broken][:SHOWN]
        else:
            ours.append(max(found, key=lambda one: one.epsilon / (one.claimed or math.inf)))
    mine = [replace(one, name="Voile: " + one.name.replace(": ", ", ", 1)) for one in ours]
    return (*mine, *same, *others)


def rename(finding: Finding, group: str, without: str) -> Finding:
    """The same finding in another group."""
    name = name_in("Voile", finding).removeprefix(without)
    return replace(finding, name=f"{group}: {name}")


def main() -> None:
    files = [Path(one) for one in sys.argv[1:]]
    picture = files.pop() if files and files[-1].suffix == ".png" else PICTURE
    if not files:
        raise SystemExit("Give the JSON files of audits, and the picture's file if you like.")
    findings = tuple(one for file in files for one in read_report(file).findings)
    report = AuditReport("", pick(findings) if len(findings) > MOST else findings)
    shoot(draw(report), picture, f"{WIDTH},{height(report)}")


if __name__ == "__main__":
    main()
