"""The shape of every release comes from the schema: no empty cell or fraction changes it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voile import (
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    PrivateExplainer,
    Schema,
    summarize,
)
from voile.privacy.noise import fixed_noise

ROWS = 240
AGE = [k * 7 % 60 for k in range(ROWS)]
VISITS = [k * 5 % 9 for k in range(ROWS)]
ILL = np.where(np.arange(ROWS) % 60 * 7 % 60 < 25, "no", "yes")
COST = np.arange(ROWS) % 50 * 1.5

PLAIN = Schema({"age": Number(0, 60), "visits": Number(0, 8)})
SAID = Schema({"age": Number(0, 60, whole=True), "visits": Number(0, 8, whole=True, missing=False)})
FOUND = Schema({"age": Number(), "visits": Number(0, 8)})


def of(kind, age):
    """The table in one library; what it makes of an age that is missing is its own affair."""
    columns = {"age": age, "visits": VISITS}
    match kind:
        case "pandas":
            return pd.DataFrame(columns)
        case "nullable":
            return pd.DataFrame({name: pd.array(values) for name, values in columns.items()})
        case "polars":
            return pl.DataFrame(columns, strict=False)
        case "arrow":
            return pa.table(columns)
        case "arrays":
            return {name: np.array(values) for name, values in columns.items()}
        case "lists":
            return columns


KINDS = ("pandas", "nullable", "polars", "arrow", "arrays")
NEIGHBOURS = {
    "whole": AGE,
    "one empty cell": [None, *AGE[1:]],
    "one NaN": [math.nan, *AGE[1:]],
    "one fraction": [3.5, *AGE[1:]],
    "all floats": [float(one) for one in AGE],
    "one far away": [10**15, *AGE[1:]],
}


def tables(kind):
    for name, age in NEIGHBOURS.items():
        if kind == "arrays" and name == "one empty cell":
            continue  # numpy makes objects of it
        yield name, of(kind, age)


def classify(make, schema):
    def job(table):
        said = None if schema is None else schema.with_target(Category(["no", "yes"]))
        model = make(epsilon=2.0, schema=said, random_state=0).fit(table, ILL)
        return model.model_.schema, steps_of(model.receipt_), type(model.model_).__name__

    return job


def regress(table):
    model = EBMRegressor(epsilon=2.0, schema=SAID.with_target(Number(0, 80)), random_state=0)
    fitted = model.fit(table, COST)
    return fitted.model_.schema, steps_of(fitted.receipt_)


def summarise(schema):
    def job(table):
        summary = summarize(table, epsilon=2.0, schema=schema)
        edges = [column.edges for column in summary.columns]
        return edges, steps_of(summary.receipt), [column.name for column in summary.columns]

    return job


def explain(strategy, schema):
    def job(table):
        explainer = PrivateExplainer(
            lambda rows: np.zeros(len(rows["age"])),
            table,
            strategy=strategy,
            schema=schema,
            epsilon=2.0,
            output_range=(-1, 1),
        )
        cells = []
        if strategy == "summary":
            summary = explainer.summary_
            cells = [one.count for one in summary.cells]
            assert len(summary.released["cells of columns"]) == sum(cells)
        return explainer.schema_, cells, steps_of(explainer.receipt_)

    return job


def evaluate(table):
    schema = SAID.with_target(Category(["no", "yes"]))
    model = EBMClassifier(epsilon=2.0, schema=schema, random_state=0).fit(of("pandas", AGE), ILL)
    found = model.score_private(table, ILL, epsilon=2.0)
    return [one.name for one in found.measures], steps_of(found.receipt)


def look_for_levels(table):
    """A category whose levels nobody listed: the plan is the same whatever they are."""
    schema = Schema({"age": Category(), "visits": Category(missing=False)})
    return steps_of(summarize(table, epsilon=2.0, schema=schema).receipt)


def steps_of(receipt):
    """Every access: its label, event and number."""
    return receipt.lines


JOBS = {
    "summary": summarise(PLAIN),
    "summary, said": summarise(SAID),
    "ebm": classify(EBMClassifier, PLAIN),
    "ebm, said": classify(EBMClassifier, SAID),
    "ebm regression": regress,
    "lvq1": classify(LVQ1Classifier, PLAIN),
    "glvq": classify(GLVQClassifier, SAID),
    "gmlvq": classify(GMLVQClassifier, PLAIN),
    "locally linear": classify(LocallyLinearClassifier, SAID),
    "evaluation": evaluate,
    "discovery": look_for_levels,
    "explainer": explain("summary", PLAIN),
    "explainer, said": explain("summary", SAID),
    "explainer of rows": explain("release", PLAIN),
}


@pytest.mark.parametrize("job", JOBS)
def test_neighbouring_tables_have_releases_of_the_same_shape(job):
    shapes = {}
    for kind in ("pandas",) if job.startswith("explainer") else ("pandas", "polars"):
        for name, table in tables(kind):
            if not job.startswith("explainer") or name in ("whole", "one NaN", "one fraction"):
                with fixed_noise(0):
                    shapes[kind, name] = JOBS[job](table)
    first = shapes["pandas", "whole"]
    assert [one for one, shape in shapes.items() if shape != first] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schema", [PLAIN, SAID, FOUND, None], ids=["plain", "said", "found", "no"])
def test_the_same_values_in_another_type_give_the_same_bits(kind, schema):
    """Without a schema, too: a number is a number, whole or not."""
    releases = []
    for age in (AGE, [float(one) for one in AGE]):
        with fixed_noise(3):
            releases.append(summarize(of(kind, age), epsilon=1.0, schema=schema))
    assert releases[0].columns == releases[1].columns
    assert steps_of(releases[0].receipt) == steps_of(releases[1].receipt)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_columns_do_not_tell_of_gaps_or_fractions(kind):
    schemas = {Schema.from_frame(table) for _, table in tables(kind)}
    assert schemas == {Schema({"age": Number(), "visits": Number()})}


def test_whole_numbers_are_rounded_and_told_apart_halfway():
    schema = Schema({"age": Number(0, 12, whole=True)})
    ages = np.repeat(np.arange(13), 50) + np.tile([0.0, 0.2, -0.4], 217)[:650]
    summary = summarize({"age": ages}, epsilon=math.inf, schema=schema)["age"]
    assert summary.edges == (0.0, *(k + 0.5 for k in range(12)), 12.0)
    assert summary.counts == (50.0,) * 13
    assert summary.quartiles == (3.0, 6.0, 9.0)
    few = summarize({"age": ages}, epsilon=math.inf, schema=schema, bins=4)["age"]
    assert sum(few.counts) == 650
    assert all(edge % 1 == 0.5 for edge in few.edges[1:-1])
    many = np.arange(20_000)
    wide = Schema({"age": Number(0, 19_999, whole=True)})
    summary = summarize({"age": many}, epsilon=math.inf, schema=wide, bins=100)["age"]
    assert summary.counts == pytest.approx([200.0] * 100, abs=6)


def test_bins_of_a_model_lie_between_whole_numbers():
    schema = SAID.with_target(Category(["no", "yes"]))
    with fixed_noise(1):
        model = EBMClassifier(epsilon=50.0, schema=schema).fit(of("pandas", AGE), ILL).model_
    for term in model.terms:
        assert len(term.cuts)
        assert (term.cuts % 1 == 0.5).all()
    visits = model["visits"]
    middle = np.searchsorted(visits.cuts, 4.0, side="right")
    assert visits.counts[-1] == 0.0
    assert visits.scores[-1] == visits.scores[middle]  # as which it is read
    assert model.schema == schema


def test_what_cannot_be_missing_and_is_counts_in_the_middle_or_as_other():
    schema = Schema(
        {
            "n": Number(0, 9, missing=False),
            "w": Number(0, 9, whole=True, missing=False),
            "c": Category(["a"], missing=False),
        }
    )
    rows = {"n": [None, 1.0], "w": [math.nan, 2.4], "c": [None, "a"]}
    summary = summarize(rows, epsilon=math.inf, schema=schema, bins=4096)
    assert (summary["n"].missing, summary["w"].missing) == (0.0, 0.0)
    assert sum(summary["n"].counts) == sum(summary["w"].counts) == 2
    assert summary["w"].counts[2] == summary["w"].counts[5] == 1
    assert dict(zip(summary["c"].levels, summary["c"].counts, strict=True)) == {
        "a": 1.0,
        "(other)": 1.0,
    }


@pytest.mark.parametrize("column", [Number(whole=True), Number(missing=False), Number()])
def test_what_is_said_of_a_number_stays_when_its_bounds_are_found(column):
    with fixed_noise(0):
        summary = PrivateExplainer(
            lambda rows: np.zeros(len(rows)),
            pd.DataFrame({"a": np.arange(3000) % 37, "b": ["x", "y", None] * 1000}),
            schema=Schema({"a": column, "b": Category(missing=False)}),
            epsilon=5.0,
        ).summary_
    found = summary.schema["a"]
    assert replace(found, lower=None, upper=None) == column
    assert found.known
    assert not summary.schema["b"].missing
    wanted = 1.0 if column.whole else 0.0
    assert all(one.step == wanted for one in summary.cells if one.is_number)


def test_explanations_say_how_a_missing_value_was_read():
    schema = Schema(
        {"w": Number(0, 8, whole=True, missing=False), "c": Category(["a", "b"], missing=False)},
        target=Category(["no", "yes"]),
    )
    rows = {"w": VISITS, "c": ["a", "b"] * (ROWS // 2)}
    with fixed_noise(0):
        model = EBMClassifier(epsilon=5.0, schema=schema).fit(rows, ILL)
    told = str(model.explain_local({"w": [None, "x", 2.4], "c": [None, "z", "a"]}))
    for words in (
        "(missing), read as 4",
        "x, read as 4",
        "2.4, read as 2",
        "(missing), read as (o",
    ):
        assert words in told
