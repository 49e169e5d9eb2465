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

from benchmarks.kit.tables import table
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step, poisson_step
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


def compare(job, budget, shape, event_of, low, high, bars):
    """Yield a record for each bar: the first calibration, and the same again from cache."""
    peer, peer_seconds = timed(lambda: theirs(event_of, budget, low, high))
    for name, bar in zip((job, "the same from cache"), bars, strict=False):
        plan, seconds = timed(lambda: calibrate(budget, shape))
        sigma = plan.events[0].noise_multiplier
        yield {
            "job": name,
            "sigma": sigma,
            "sigma_dp_accounting": peer,
            "seconds": seconds,
            "seconds_dp_accounting": peer_seconds,
            "bar_seconds": bar,
            "holds": seconds < bar and abs(sigma / peer - 1) < 0.01,
        }


def main():
    found = [
        *compare(
            "4,200 Gaussian releases",
            Budget(1.0, 1e-6),
            Plan((gaussian_step("rounds", 1.0, count=RELEASES),)),
            lambda s: dp_event.GaussianDpEvent(s / math.sqrt(RELEASES)),
            100.0,
            400.0,
            (0.05,),
        ),
        *compare(
            "2,400 Poisson-sampled steps",
            Budget(2.0, 1e-5),
            Plan((poisson_step("steps", 1.0, rate=RATE, count=STEPS),)),
            lambda s: dp_event.SelfComposedDpEvent(
                dp_event.PoissonSampledDpEvent(RATE, dp_event.GaussianDpEvent(s)), STEPS
            ),
            0.8,
            2.0,
            (5.0, 0.01),
        ),
    ]
    rows = [[f"{v:.5g}" if isinstance(v, float) else str(v) for v in one.values()] for one in found]
    print(table(list(found[0]), rows))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
