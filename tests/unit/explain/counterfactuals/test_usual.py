"""How usual a row is: neighbours, pairs that hardly occur, rows that hardly differ."""

import numpy as np
import pytest

from voile import Category, Number, Schema
from voile.explain.counterfactuals.ruler import rule_by_counts, rule_by_rows
from voile.explain.counterfactuals.usual import NEAR, Others, rarest_share

SCHEMA = Schema({"x": Number(0, 100), "y": Number(0, 100), "c": Category(["a", "b"])})


def others_of(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 100, count)
    columns = {
        "x": x,
        "y": np.clip(x + rng.normal(0, 3, count), 0, 100),
        "c": np.where(x > 50, 1, 0).astype(np.int32),
    }
    weights = np.full(count, 1 / count)
    ruler = rule_by_rows(SCHEMA, columns, weights, "of the rows")
    return Others(SCHEMA, columns, weights, ruler, "the rows")


def row(x, y, c):
    return {"x": np.array([x]), "y": np.array([y]), "c": np.array([c])}


def test_rows_like_the_others_are_usual_and_others_are_not():
    others = others_of()
    drawn = {name: values[:200] for name, values in others.columns.items()}
    shares = others.usual(drawn, 200)
    assert 0.4 < np.mean(shares) < 0.6  # the share of a row among its own kind is uniform
    assert others.usual(row(20.0, 90.0, 0), 1)[0] < 0.01
    assert others.usual(row(20.0, 20.0, 0), 1)[0] > others.usual(row(20.0, 40.0, 0), 1)[0]


def test_pairs_that_hardly_occur_are_named():
    others = others_of()
    (found,) = others.seldom({"x": 20.0, "y": 20.0, "c": 1.0}, ("c",))[:1]
    assert found in ("c b with x 20", "c b with y 20")
    assert others.seldom({"x": 20.0, "y": 20.0, "c": 0.0}, ("c",)) == ()
    # Both changed: the pair is named once.
    both = others.seldom({"x": 20.0, "y": 90.0, "c": 0.0}, ("x", "y"))
    assert len(both) == len(set(both))


def test_rows_that_hardly_differ_pass_few_others():
    others = others_of()
    near, count = others.near({"x": 30.0, "y": 40.0, "c": 1.0})
    assert count == len(near["x"]) > 20
    assert set(near["c"].tolist()) == {1}
    for name, start in (("x", 30.0), ("y", 40.0)):
        assert (others.ruler.size(name, start, near[name]) <= NEAR + 0.005).all()
        assert len(np.unique(near[name])) > 10
    again, _ = others.near({"x": 30.0, "y": 40.0, "c": 1.0})
    assert all((near[name] == again[name]).all() for name in SCHEMA)


def test_a_value_that_many_have_is_not_left():
    schema = Schema({"x": Number(0, 100)})
    values = np.concatenate([np.zeros(900), np.linspace(1, 100, 100)])
    weights = np.full(1000, 1e-3)
    others = Others(
        schema, {"x": values}, weights, rule_by_rows(schema, {"x": values}, weights, ""), ""
    )
    assert (others.near({"x": 0.0})[0]["x"] == 0).all()
    assert others.near({"x": float("nan")})[1] == 0


def test_sizes_are_shares_that_are_passed():
    schema = Schema({"x": Number(0, 10), "c": Category(["a", "b"])})
    columns = {"x": np.array([1.0, 1.0, 2.0, 9.0, np.nan]), "c": np.zeros(5, dtype=np.int32)}
    ruler = rule_by_rows(schema, columns, np.full(5, 0.2), "")
    assert ruler.size("x", 1.0, np.array([1.0, 2.0, 9.0])).tolist() == pytest.approx(
        [0.0, 0.375, 0.625]
    )
    assert ruler.size("c", 0.0, np.array([0.0, 1.0])).tolist() == [0.0, 0.5]
    assert ruler.size("x", np.nan, np.array([3.0])).tolist() == [0.5]
    # Where there are no rows no way is free.
    assert ruler.cost("x", 1.0, np.array([9.9]))[0] > ruler.cost("x", 1.0, np.array([9.5]))[0]
    counted = rule_by_counts(
        schema, {"x": np.array([0.0, 5.0, 10.0])}, {"x": np.array([3.0, 1.0])}, ""
    )
    assert counted.size("x", 0.0, np.array([5.0, 10.0])).tolist() == [0.75, 1.0]


def test_the_rarest_share_counts_where_rows_are_as_sparse():
    counts, widths = np.array([50.0, 40.0, 10.0]), np.array([1.0, 1.0, 5.0])
    assert rarest_share(counts, widths, 0) == 1.0
    assert rarest_share(counts, widths, 1) == 0.5
    assert rarest_share(counts, widths, 2) == pytest.approx(0.1)
    assert np.isnan(rarest_share(np.zeros(2), np.ones(2), 0))
