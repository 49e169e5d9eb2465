"""Whatever a run leaves behind is seen, down to closures, caches and private attributes."""

import functools
import logging
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from voile import Budget, Ledger, Number, Schema, protect
from voile.audit.replaying.outcomes import watch_run
from voile.privacy.events import Gaussian, Plan


def outcome_of(value):
    return watch_run(lambda: value, None)


class Slotted:
    __slots__ = ("rows",)

    def __init__(self, rows):
        self.rows = rows


class Kept:
    def __init__(self, rows):
        self._rows = rows

    def predict(self):
        return self._rows


@dataclass(frozen=True)
class Fact:
    rows: object


def closing_over(rows):
    return lambda: rows


def drawing(rows):
    rng = np.random.default_rng(0)
    rng.random(rows)
    return rng


def empty_cell():
    if False:
        later = None
    return lambda: later


WAYS = {
    "number": lambda n: n,
    "float": lambda n: n / 7,
    "text": lambda n: "x" * 99 + str(n),
    "bytes": lambda n: bytes(n),
    "array": lambda n: np.arange(n),
    "one value of an array": lambda n: np.array([0.0, n * 1e-300]),
    "type of an array": lambda n: np.zeros(3, dtype=[np.int64, np.float64][n % 2]),
    "objects": lambda n: np.array([n, "a", None], dtype=object),
    "number of numpy": lambda n: np.float32(n),
    "list": lambda n: [1, [2, (n,)]],
    "mapping": lambda n: {"a": {"b": n}},
    "key": lambda n: {n: 1},
    "odd key": lambda n: {(1, n): 1},
    "set": lambda n: {1, n},
    "record": Fact,
    "attribute": Kept,
    "slot": Slotted,
    "method": lambda n: Kept(n).predict,
    "partial": lambda n: functools.partial(print, n, end="?"),
    "closure": closing_over,
    "generator": drawing,
    "deep": lambda n: functools.reduce(lambda inner, _: [inner], range(30), n),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_a_difference_is_seen(way):
    make = WAYS[way]
    assert outcome_of(make(4)).unlike(outcome_of(make(4))) == set()
    assert outcome_of(make(4)).unlike(outcome_of(make(5)))


def test_weights_of_networks_are_seen():
    torch = pytest.importorskip("torch")
    same, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    assert outcome_of(same).unlike(outcome_of(same)) == set()
    assert any("weight" in path for path in outcome_of(same).unlike(outcome_of(other)))


def test_cycles_end_and_not_a_number_is_itself():
    loop = [float("nan")]
    loop.append(loop)
    assert outcome_of(loop).unlike(outcome_of(loop)) == set()
    assert outcome_of(empty_cell()).leaves


@pytest.mark.parametrize(
    "tell",
    [
        lambda n: print(n),
        lambda n: print(n, file=sys.stderr),
        lambda n: warnings.warn(f"{n} rows", UserWarning, stacklevel=1),
        lambda n: logging.getLogger("voile.deep").warning("%d rows", n),
        lambda n: (_ for _ in ()).throw(ValueError(f"{n} rows")),
    ],
)
def test_what_is_told_is_seen(tell):
    def exhaust(rows):
        def work():
            told = tell(rows)
            if told is not None:
                next(told)

        return watch_run(work, None)

    assert exhaust(4).unlike(exhaust(4)) == set()
    assert exhaust(4).unlike(exhaust(5))


def test_rows_in_the_vault_are_not_looked_into_and_entries_are():
    schema = Schema({"a": Number(0, 1)})
    first, second = (protect({"a": [0.5] * n}, schema=schema) for n in (2, 3))
    assert outcome_of(first).unlike(outcome_of(second)) == set()

    def run(noise):
        ledger = Ledger(Budget(9, 1e-6))
        plan = Plan.of(one=Gaussian(noise_multiplier=noise))
        return watch_run(lambda: ledger.spend(plan, "job") and None, ledger)

    assert run(2.0).unlike(run(2.0)) == set()
    assert run(2.0).unlike(run(3.0))
