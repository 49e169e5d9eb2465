"""Pairs of columns are the same to the bit wherever the rows lie: memory, Parquet, clients."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
    Federation,
    Ledger,
    Number,
    Schema,
    Unit,
    protect,
)
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.noise import fixed_noise
from voile.privacy.sources import parquet, table

ROWS = 2_400
RNG = np.random.default_rng(2)
FRAME = {
    "x": RNG.random(ROWS),
    "z": RNG.random(ROWS),
    "c": RNG.choice(["a", "b", "c"], ROWS).tolist(),
    "who": np.repeat(np.arange(ROWS // 2), 2),
    "w": RNG.random(ROWS) * 1.2,
}
FRAME["x"][::50] = np.nan
SIGN = np.where((FRAME["x"] > 0.5) == (FRAME["z"] > 0.5), 1.0, -1.0)
TWO = np.where(SIGN + RNG.normal(size=ROWS) > 0, "yes", "no")
THREE = np.where(TWO == "yes", "yes", np.where(RNG.random(ROWS) < 0.4, "maybe", "no"))
NUMBER = np.clip(SIGN + RNG.normal(size=ROWS), -3, 3)
COLUMNS = {"x": Number(0, 1), "z": Number(0, 1), "c": Category(["a", "b", "c"])}
TARGETS = {
    "two classes": (EBMClassifier, Category(["no", "yes"]), TWO),
    "three classes": (EBMClassifier, Category(["no", "maybe", "yes"]), THREE),
    "a number": (EBMRegressor, Number(-3, 3), NUMBER),
}
NAMED = [("x", "z"), ("c", "x")]
ENDS = [0, 5, 900, 900, 1_700, ROWS]
"""Clients of five rows, none at all, and many; people may be at two of them."""


@pytest.fixture(autouse=True)
def blocks_that_end_within_a_client(monkeypatch):
    for module in (table, parquet):
        monkeypatch.setattr(module, "BLOCK_ROWS", 700)


def rows_of(schema, target, start=0, stop=ROWS):
    names = [*schema, *(["who"] if schema.unit is not None else [])]
    return {name: FRAME[name][start:stop] for name in names}, target[start:stop]


def written(folder, target):
    """Three files, one of them empty."""
    folder.mkdir()
    whole = pa.table({**FRAME, "y": target.tolist()})
    for number, (start, stop) in enumerate([(0, 1_000), (1_000, 1_000), (1_000, ROWS)]):
        pq.write_table(whole.slice(start, stop - start), folder / f"{number}.parquet")
    return folder


def clients(schema, target, *, weighted=False):
    agents = {}
    for number, (start, stop) in enumerate(pairwise(ENDS)):
        how = {"weights": FRAME["w"][start:stop], "largest_weight": 0.8} if weighted else {}
        rows = protect(*rows_of(schema, target, start, stop), schema=schema, **how)
        name = f"client {number}"
        agents[name] = ClientAgent(rows, Ledger(Budget(math.inf, 1e-6)), name=name)
    return agents


def numbers_of(model):
    """Every array of a model and its pairs."""
    found = [model.intercept, model.intercept_errors, model.whole_intercept_errors]
    for term in model.terms:
        found += [term.scores, term.errors, term.standard_errors, term.counts, term.cuts]
        found.append(term.evidence.estimates)
    for pair in model.pairs:
        found += [pair.scores, pair.errors, pair.standard_errors, pair.counts, pair.count_errors]
        found += [pair.evidence.estimates, pair.evidence.noise_scales]
        found += [pair.first.cuts, pair.second.cuts, pair.first.groups, pair.second.groups]
    return [np.asarray(one) for one in found]


def assert_same(first, second):
    assert [one.columns for one in first.pairs] == [one.columns for one in second.pairs]
    for one, other in zip(numbers_of(first), numbers_of(second), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def fitted(kind, way, **settings):
    model = kind(epsilon=8.0, delta=1e-6, bins=12, **settings)
    with fixed_noise(4):
        return way(model).model_


@pytest.mark.parametrize("interactions", [NAMED, "auto"], ids=["named", "chosen"])
@pytest.mark.parametrize("task", TARGETS)
def test_memory_files_and_clients_give_one_model(task, interactions, tmp_path):
    kind, column, target = TARGETS[task]
    schema = Schema(COLUMNS, target=column)
    asked = {"interactions": interactions, "schema": schema}
    memory = fitted(kind, lambda model: model.fit(*rows_of(schema, target)), **asked)
    if interactions == "auto":
        assert memory.pairs[0].columns == ("x", "z")
    else:
        assert [one.columns for one in memory.pairs] == [("x", "z"), ("x", "c")]
    frame = pd.DataFrame({**rows_of(schema, target)[0], "y": target})
    folder = written(tmp_path / "rows", target)
    federation = Federation.local(clients(schema, target), schema)
    for way in (
        lambda model: model.fit(frame, "y"),
        lambda model: model.fit(folder, "y"),
        lambda model: model.fit_federated(federation),
    ):
        assert_same(memory, fitted(kind, way, **asked))
    assert not federation.incidents


@pytest.mark.parametrize("interactions", [NAMED, "auto"], ids=["named", "chosen"])
def test_weights_are_weighed_alike(interactions, tmp_path):
    kind, column, target = TARGETS["two classes"]
    schema = Schema(COLUMNS, target=column)
    asked = {"interactions": interactions, "schema": schema, "largest_weight": 0.8}
    X, y = rows_of(schema, target)
    memory = fitted(kind, lambda model: model.fit(X, y, sample_weight=FRAME["w"]), **asked)
    plain = fitted(kind, lambda model: model.fit(X, y), **asked)
    assert memory.pairs[0].columns == ("x", "z")
    assert abs(memory.pairs[0].counts.sum() - plain.pairs[0].counts.sum()) > 100
    folder = written(tmp_path / "rows", target)
    files = fitted(kind, lambda model: model.fit(folder, "y", sample_weight="w"), **asked)
    assert_same(memory, files)
    federation = Federation.local(clients(schema, target, weighted=True), schema)
    assert_same(memory, fitted(kind, lambda model: model.fit_federated(federation), **asked))


@pytest.mark.parametrize("interactions", [NAMED, "auto"], ids=["named", "chosen"])
def test_people_with_several_rows_are_protected_alike(interactions, tmp_path):
    kind, column, target = TARGETS["two classes"]
    schema = Schema(COLUMNS, target=column, unit=Unit("who", rows=2))
    asked = {"interactions": interactions, "schema": schema}
    X, y = rows_of(schema, target)
    memory = fitted(kind, lambda model: model.fit(X, y), **asked)
    assert memory.pairs[0].columns == ("x", "z")
    assert memory.receipt.unit == "who (at most 2 rows each)"
    folder = written(tmp_path / "rows", target)
    assert_same(memory, fitted(kind, lambda model: model.fit(folder, "y"), **asked))


@pytest.mark.parametrize("trust", ["shares", "nobody"])
@pytest.mark.parametrize("interactions", [NAMED, "auto"], ids=["named", "chosen"])
def test_clients_that_trust_nobody_train_pairs(trust, interactions):
    """The noise is another there; that queries of pairs travel and are answered is not."""
    kind, column, target = TARGETS["two classes"]
    schema = Schema(COLUMNS, target=column)
    parts = {name: agent for name, agent in clients(schema, target).items() if name != "client 2"}
    federation = Federation.local(parts, schema, trust=trust)
    asked = {"interactions": interactions, "schema": schema}
    model = fitted(kind, lambda one: one.fit_federated(federation), **asked)
    assert not federation.incidents
    assert model.pairs[0].columns == ("x", "z")
    scores = model.pairs[0].scores[:-1, :-1, 0]
    middle = scores.shape[0] // 2
    assert scores[: middle - 1, : middle - 1].mean() > 0.2
    assert scores[: middle - 1, middle + 1 :].mean() < -0.2
    labels = [line.label for line in model.receipt.lines]
    assert ("choice of pairs" in labels) == (interactions == "auto")
