"""No way out of the vault releases more than it pays for: replays of every one of them."""

import importlib
import inspect
import pkgutil
from unittest.mock import patch

import numpy as np
import pytest
import replay_paths
from replay_paths import make_paths, small_blocks

import voile
from voile import Ledger
from voile.audit import replay
from voile.models.ebm import joined_pairs
from voile.models.ebm import train as ebm_train
from voile.privacy import discovery, mechanisms
from voile.privacy.noise import fixed_noise

NO_MECHANISMS = {
    *("Release", "LogCells", "TreeCells", "Histogram"),
    *("complete", "complete_target", "discovery_shape", "target_part", "warn_of_guesses"),
}
"""Names beside the mechanisms: records, queries, and plans."""

PATHS = make_paths()
FAST = [path for path in PATHS if path.fast]


def check(path, relation, neighbours, *, both_ways):
    rows, near = path.tables(relation)
    names = list(near)
    # Different ones for every path, so that together they try all.
    start = sum(map(ord, path.name + relation))
    chosen = [names[(start + 5 * i) % len(names)] for i in range(min(neighbours, len(names)))]
    with small_blocks():
        found = replay(
            path.run,
            rows,
            *(near[name] for name in dict.fromkeys(chosen)),
            budget=path.budget,
            relation=relation,
            filter=path.filter,
            name=f"{path.name}, {', '.join(chosen)}",
            both_ways=both_ways,
        )
    assert not found.violations, str(found)
    assert not found.outcome
    assert found.accesses
    # A replay that moves nothing would find nothing (a centre of attention hardly moves).
    moved = any(one.moved > 0 or "approximate" in one.event for one in found.accesses)
    assert moved or len(chosen) < 2


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("path", FAST, ids=lambda path: path.name)
def test_nothing_is_found(path, relation):
    check(path, relation, path.fast, both_ways=False)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_nothing_is_found_on_any_neighbour(path, relation):
    # A summary is fitted for seconds: some of the neighbours, others for each relation.
    check(path, relation, 3 if path.name == "explainer, summary" else 1000, both_ways=True)


def test_no_mechanism_is_missing():
    passed = {name for path in PATHS for name in path.passes}
    there = {*mechanisms.__all__, *discovery.__all__, *_taking_tickets()} - NO_MECHANISMS
    assert there <= passed


def _taking_tickets():
    """Public functions of the mechanisms' modules that open the vault, exported or not."""
    for found in pkgutil.iter_modules(mechanisms.__path__, f"{mechanisms.__name__}."):
        module = importlib.import_module(found.name)
        for name, one in inspect.getmembers(module, inspect.isfunction):
            own = one.__module__ == module.__name__ and not name.startswith("_")
            if own and {"ticket", "grant"} & set(inspect.signature(one).parameters):
                yield name


@pytest.mark.parametrize("path", [p for p in PATHS if "pairs" in p.name], ids=lambda p: p.name)
def test_paths_of_pairs_go_through_pairs(path):
    """A choice that is left out where nothing can be told apart would be replayed in vain."""
    asked, ask = [], joined_pairs.join_pairs

    def joining(wanted, facts, release, *rest):
        def noting(query, access):
            asked.append((access, type(query).__name__, len(query.pairs)))
            return release(query, access)

        return ask(wanted, facts, noting, *rest)

    rows = path.tables("add_remove")[0]
    for seed in range(3):
        asked.clear()
        with small_blocks(), fixed_noise(seed), patch.object(ebm_train, "join_pairs", joining):
            path.run(rows, Ledger(path.budget))
        names = [("choice of pairs", "ResidualSums"), ("cells of pairs", "GridCounts")]
        assert [one[:2] for one in asked] == names["named" in path.name :]
        assert all(pairs >= 1 for *_, pairs in asked)


def test_no_estimator_is_missing():
    passed = {name for path in PATHS for name in path.passes}
    public = {name: getattr(voile, name) for name in voile.__all__}
    estimators = {name for name, one in public.items() if hasattr(one, "fit")}
    networks = {name for name in voile.federated.__all__ if name.endswith("Classifier")}
    others = {"PrivateExplainer", "summarize", "Federation", "hold_out"}
    assert estimators | networks | others <= passed


def test_no_trust_strategy_or_mechanism_of_prototypes_is_missing():
    names = " ".join(path.name for path in PATHS)
    for one in ("aggregator", "shares", "nobody", "summary", "release", "interactive", "adaptive"):
        assert one in names
    assert all(one in names for one in ("enhanced", "offline", "groups", "attention", "gradient"))


def test_tables_have_rows_at_borders_and_ties():
    rows = PATHS[0].tables("add_remove")[0]
    assert len(np.unique(rows.X["u"])) < len(rows.y) / 4
    assert len(rows.y) > 3 * 7
    assert "BLOCK_ROWS" in inspect.getsource(replay_paths.small_blocks)
