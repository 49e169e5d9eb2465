"""Other libraries' private models and ours under the same attacks: claimed and shown epsilon.

    python benchmarks/audit/incumbents.py [--quick] [--runs N] [--json FILE]
        [--diffprivlib-python PATH]

Every model claims epsilon 1. An attacker who knows two neighbouring tables reads what a fit
releases and says which table it was; the epsilon shown is a lower bound at 99 % confidence (99.9 %
where it was not known beforehand that a claim fails). The exit code is 1 if a break is not
reproduced, or if one of ours shows more than it guaranteed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import os
import time
from collections.abc import Sequence

from benchmarks.audit import incumbents_diffprivlib as diffprivlib_attacks
from benchmarks.audit import incumbents_interpret as interpret_attacks
from benchmarks.audit import incumbents_voile as voile_attacks
from benchmarks.audit.incumbents_attacks import Attack, carry_out, falls_short
from voile.audit import AuditReport, Finding

RUNS, QUICK_RUNS = 400, 240
"""Fits of others; if all of the judged half are right, 240 show epsilon 3.1 and 400 show 3.6."""

OUR_RUNS, OUR_QUICK_RUNS = 1000, 200
"""Ours are fast, and a break would have to be searched for."""

TITLE = "The same attacks on other libraries and on Voile (claimed: epsilon 1)"


def all_attacks(diffprivlib_python: str | None) -> tuple[list[Attack], list[str]]:
    """Attacks that can be made here, and what is missing.

    diffprivlib needs a Python of its own: the one given, or the environment's DIFFPRIVLIB_PYTHON.
    """
    diffprivlib_python = diffprivlib_python or os.environ.get("DIFFPRIVLIB_PYTHON")
    found, missing = [], []
    if interpret_attacks.is_there():
        found += interpret_attacks.attacks()
    else:
        missing.append("interpret-core: not attacked, not installed (pip install interpret-core).")
    if diffprivlib_attacks.is_there(diffprivlib_python):
        found += diffprivlib_attacks.attacks(str(diffprivlib_python))
    else:
        missing.append(diffprivlib_attacks.ABSENT)
    return found + voile_attacks.attacks(), missing


def attack_all(
    attacks: Sequence[Attack], quick: bool, runs: int | None, processes: int | None
) -> list[Finding]:
    """A finding for every attack, in order; progress goes to the error stream."""
    findings = []
    for attack in attacks:
        start = time.perf_counter()
        fits = (OUR_QUICK_RUNS if quick else OUR_RUNS) if attack.ours else RUNS
        if not attack.ours and quick:
            fits = QUICK_RUNS
        findings.append(carry_out(attack, runs or fits, processes))
        took = time.perf_counter() - start
        print(f"{took:6.1f} s  {row(findings[-1])}", file=sys.stderr, flush=True)
    return findings


def row(finding: Finding) -> str:
    """A line of the table."""
    return (
        f"| {finding.name} | {finding.note} | {finding.epsilon:.2f} | {finding.right} of "
        f"{finding.guesses} | {finding.runs} | {finding.verdict} |"
    )


def table(findings: Sequence[Finding]) -> str:
    """All findings in Markdown."""
    head = "| attack | neighbours; warnings | epsilon at least | right guesses | fits | |"
    return "\n".join([head, "|---|---|---|---|---|---|", *(row(one) for one in findings)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--runs", type=int, help="fits per attack")
    parser.add_argument("--json", type=Path, help="where to write the findings")
    parser.add_argument("--processes", type=int, help="as many as there are cores by default")
    parser.add_argument("--diffprivlib-python", help="a Python that has diffprivlib")
    given = parser.parse_args(arguments)
    attacks, missing = all_attacks(given.diffprivlib_python)
    start = time.perf_counter()
    findings = attack_all(attacks, given.quick, given.runs, given.processes)
    print(table(findings))
    print(*missing, f"{time.perf_counter() - start:.0f} s in all.", sep="\n")
    if given.json is not None:
        report = AuditReport(TITLE, tuple(findings))
        given.json.write_text(report.to_json() + "\n", encoding="utf-8")
    failed = [why for a, f in zip(attacks, findings, strict=True) if (why := falls_short(a, f))]
    print(*(f"NOT AS EXPECTED: {why}" for why in failed), sep="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
