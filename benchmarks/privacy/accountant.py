"""Calibrating noise: seconds of Voile's accountant beside dp-accounting, and how the answers agree.

    python benchmarks/privacy/accountant.py

Bars: 4,200 Gaussian releases in < 50 ms; 2,400 Poisson-sampled steps (q = 500/60000, eps 2,
delta 1e-5) in < 5 s the first time and < 10 ms from cache; sigma within 1 %.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import math
import time

import dp_accounting
from dp_accounting import dp_event, pld
from rich.console import Console
from rich.table import Table

from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_share, poisson_share
from voile.privacy.events import Plan

RATE, STEPS, RELEASES = 500 / 60000, 2400, 4200


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def theirs(event_of, budget, low, high):
    return dp_accounting.calibrate_dp_mechanism(
        pld.PLDAccountant,
        event_of,
        budget.epsilon,
        budget.delta,
        dp_accounting.ExplicitBracketInterval(low, high),
        tol=1e-4,
    )


def main():
    rows = []
    budget = Budget(1.0, 1e-6)
    shape = Plan((gaussian_share("rounds", 1.0, count=RELEASES),))
    plan, seconds = timed(lambda: calibrate(budget, shape))
    sigma = plan["rounds"].noise_multiplier
    peer, peer_seconds = timed(
        lambda: theirs(
            lambda s: dp_event.GaussianDpEvent(s / math.sqrt(RELEASES)), budget, 100.0, 400.0
        )
    )
    rows.append(("4,200 Gaussian releases", sigma, peer, seconds, peer_seconds, 0.05))

    budget = Budget(2.0, 1e-5)
    shape = Plan((poisson_share("steps", 1.0, rate=RATE, count=STEPS),))
    plan, seconds = timed(lambda: calibrate(budget, shape))
    sigma = plan["steps"].noise_multiplier
    peer, peer_seconds = timed(
        lambda: theirs(
            lambda s: dp_event.SelfComposedDpEvent(
                dp_event.PoissonSampledDpEvent(RATE, dp_event.GaussianDpEvent(s)), STEPS
            ),
            budget,
            0.8,
            2.0,
        )
    )
    rows.append(("2,400 Poisson-sampled steps", sigma, peer, seconds, peer_seconds, 5.0))
    _, again = timed(lambda: calibrate(budget, shape))
    rows.append(("the same from cache", sigma, peer, again, peer_seconds, 0.01))

    table = Table(title="Calibration")
    for name in ("job", "sigma", "dp-accounting", "ratio", "s", "s, peer", "bar, s", "holds"):
        table.add_column(name, justify="left" if name == "job" else "right")
    report = []
    for job, ours, peer, seconds, peer_seconds, bar in rows:
        holds = seconds < bar and abs(ours / peer - 1) < 0.01
        table.add_row(
            job,
            f"{ours:.5g}",
            f"{peer:.5g}",
            f"{ours / peer:.5f}",
            f"{seconds:.4f}",
            f"{peer_seconds:.2f}",
            f"{bar}",
            str(holds),
        )
        report.append(
            {
                "job": job,
                "sigma": ours,
                "sigma_dp_accounting": peer,
                "seconds": seconds,
                "seconds_dp_accounting": peer_seconds,
                "bar_seconds": bar,
                "holds": holds,
            }
        )
    Console(width=110).print(table)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
