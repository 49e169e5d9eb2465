"""Every way by which something private leaves the vault, as runs that can be replayed.

Each path names the mechanisms and estimators that it goes through, so that a test can see that none
is missing.
"""

import contextlib
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from unittest.mock import patch

import numpy as np
import pandas as pd
from replay_tables import (
    CLASSES,
    COUNT,
    EXPOSED,
    FEATURES,
    NUMBER,
    THREE,
    UNLISTED,
    clients_of,
    make_rows,
    neighbours_of,
    people_of,
    schema_of,
    unit,
)

from voile import (
    Budget,
    Date,
    EBMClassifier,
    EBMRegressor,
    Federation,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    PrivateExplainer,
    Schema,
    Unit,
    hold_out,
    protect,
    summarize,
)
from voile.errors import NothingFound
from voile.models.ebm import joined_pairs, pair_choice, tails
from voile.privacy.events import Approximate, Gaussian, Laplace, Plan, PoissonGaussian, Pure
from voile.privacy.mechanisms import (
    aggregate_mean,
    attention_groups,
    center_of_attention,
    exponential,
    gaussian_sum,
    laplace_sum,
    permute_and_flip,
    top_k,
)
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount, Together
from voile.privacy.receipt import write_receipt
from voile.privacy.sources import parquet, table
from voile.privacy.vault import keep
from voile.schema import Category

DATED = Schema(
    {"n": Date(), "u": Number(0, 1e3, whole=True), "c": Category(["a", "b", 1], ordered=True)}
)

EVERYTHING = Budget(50.0, 1e-3)
"""Enough that on 24 rows classes and levels are found, so that training goes on after it."""


@dataclass(frozen=True, eq=False)
class Path:
    """A run and the tables that it is replayed on.

    ``passes`` names what it goes through; ``fast`` says how many neighbours are tried in every test
    run, while the slow one tries all.
    """

    name: str
    run: Callable
    passes: tuple
    target: object = CLASSES
    relations: tuple = ("add_remove", "replace_one")
    budget: Budget = field(default_factory=lambda: Budget(1.0, 1e-5))
    filter: str = "gdp"
    rows: int = 24
    fast: int = 0
    near: Callable = neighbours_of

    def tables(self, relation):
        """The table, and its neighbours by name."""
        rows = make_rows(self.rows, target=self.target)
        return rows, self.near(rows, relation, self.target)


@contextlib.contextmanager
def small_blocks():
    """Tables are cut after every seven rows, so that small ones have borders."""
    with patch.object(table, "BLOCK_ROWS", 7), patch.object(parquet, "BLOCK_ROWS", 7):
        yield


# -- models -------------------------------------------------------------------------------------


def fit(
    cls,
    *,
    target=CLASSES,
    schema=None,
    weighted=False,
    people=0,
    budget=None,
    dates=False,
    numbered=False,
    **settings,
):
    """A run that fits an estimator and returns it, with what it predicts of public rows.

    ``numbered``: classes are numbers, one of which is none that is looked for by name.
    """
    schema = schema_of(target) if schema is None else schema
    if people:
        schema = schema.with_unit(unit(people))
    public = make_rows(6, target=target, seed=9)

    def run(rows, ledger):
        spent = ledger.budget if budget is None else budget
        settings_of = {"random_state": 0, **settings}
        model = cls(
            epsilon=spent.epsilon, delta=spent.delta, schema=schema, ledger=ledger, **settings_of
        )
        X = rows.with_people if people else rows.X
        weights = {"sample_weight": rows.w} if weighted else {}
        y = rows.y
        if numbered:
            y = np.array(
                [{"no": 0.0, "yes": 1.0, "unheard of": 17.0}.get(one, np.nan) for one in y]
            )
        model.fit(X, y, **weights)
        shown = public.X if not dates else {**public.X, "n": ["2001-02-03"] * len(public.y)}
        return model, model.predict(shown)

    return run


def chosen_pairs(run):
    """The same run where every candidate is clear enough: a few rows would choose none."""

    def run_choosing(rows, ledger):
        with (
            patch.object(joined_pairs, "worth_choosing", lambda *noises: True),
            patch.object(pair_choice, "ENTRY", -math.inf),
            patch.object(joined_pairs, "LEAST_EXPLAINED", -math.inf),
        ):
            return run(rows, ledger)

    return run_choosing


def wide_rounds(run):
    """The same run where most rounds are asked with a clip that hides next to nothing."""

    def run_wide(rows, ledger):
        with patch.object(tails.WideClip, "is_for", lambda clip, number: number > 2):
            return run(rows, ledger)

    return run_wide


def dated(run):
    """The same run on a table whose first number is a date."""

    def run_dated(rows, ledger):
        n = rows.X["n"]
        seconds = np.where(np.isfinite(n), np.clip(n, -20, 20) * 1e8, 0.0).astype("M8[s]")
        days = np.where(np.isfinite(n), seconds, np.datetime64("NaT"))
        return run(replace(rows, X={**rows.X, "n": days}), ledger)

    return run_dated


def stopped(cls, **settings):
    """A run that stops after its first look, because half the rows have an unlisted class."""
    schema = schema_of(Category(["No", "yes"]))

    def run(rows, ledger):
        given = {"epsilon": ledger.budget.epsilon, "delta": ledger.budget.delta}
        model = cls(**given, schema=schema, ledger=ledger, random_state=0, **settings)
        try:
            model.fit(rows.X, rows.y)
        except NothingFound as error:
            return str(error)
        raise AssertionError("it should have stopped")

    return run


def federated(cls, trust, *, target=CLASSES, clients_per_unit=1, people=0, **settings):
    """The same over three clients."""
    schema = schema_of(target)
    if people:
        schema = schema.with_unit(unit(people))

    def run(rows, ledger):
        parts = at_clients(rows)
        given = [(one.with_people if people else one.X, one.y) for one in parts]
        federation = local(given, schema, ledger, trust=trust, clients_per_unit=clients_per_unit)
        model = cls(
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            ledger=ledger,
            **{"random_state": 0, **settings},
        )
        model.fit_federated(federation)
        return model, federation.incidents

    return run


def at_clients(rows):
    """The rows of each of three clients: where a row lies does not depend on the others."""
    return [rows.take(np.flatnonzero(rows.at == i)) for i in range(3)]


def local(parts, schema, ledger, **terms):
    """Three clients in this process, whose ledgers have the relation of the job."""
    named = {f"client {i}": part for i, part in enumerate(parts)}
    ledgers = {name: Ledger(Budget(math.inf, 1e-6), relation=ledger.relation) for name in named}
    return Federation.local(named, schema, ledgers=ledgers, **terms)


# -- mechanisms ---------------------------------------------------------------------------------

COUNTS = Together((RowCount(), CategoryCounts("c", 3), NumberCounts("u", (250.0, 500.0))))


def pay(run):
    """A run of one mechanism: its plan, and what it does with the grant."""

    def whole(rows, ledger):
        plan, work = run()
        table = protect(rows.X, rows.y, schema=schema_of())
        grant = ledger.pay(plan, table, "a mechanism")
        return work(table, grant), write_receipt(grant, ledger.budget)

    return whole


def sums(event, mechanism, query=COUNTS, times=2):
    return pay(
        lambda: (
            Plan.of(sums=event(times)),
            lambda table, grant: [
                mechanism(table, query, grant.take("sums")) for _ in range(times)
            ],
        )
    )


def selected(mechanism):
    return pay(
        lambda: (
            Plan.of(choice=Pure(epsilon=0.5)),
            lambda table, grant: mechanism(table, CategoryCounts("c", 3), grant.take("choice")),
        )
    )


def _learn(arrays):
    return [9 * arrays["n"].mean(), np.abs(arrays["n"]).max()]


def grouped(event, release):
    def work(table, grant):
        keep(table, ("n",), lambda block: block.kept.__setitem__("n", np.nan_to_num(block["n"])))
        return release(table, grant.take("groups"))

    return pay(lambda: (Plan.of(groups=event), work))


def mean_of_groups(table, ticket):
    return aggregate_mean(table, ["n"], _learn, groups=5, size=2, bound=1.5, ticket=ticket)


_ATTENTION = Approximate(epsilon=5.0, delta=1e-3)


def attended(table, ticket):
    groups = attention_groups(1, _ATTENTION.epsilon, _ATTENTION.delta) + 2
    return center_of_attention(
        table,
        ["n"],
        lambda arrays: [arrays["n"].mean()],
        groups=groups,
        size=1,
        lower=-3.0,
        upper=3.0,
        ticket=ticket,
    )


def weighed(rows, ledger):
    schema = schema_of()
    table = protect(rows.X, rows.y, schema=schema, weights=rows.w, largest_weight=0.7)
    plan = Plan.of(a=Gaussian(noise_multiplier=3.0), b=Laplace(noise_multiplier=9.0))
    grant = ledger.pay(plan, table, "weights")
    found = [
        gaussian_sum(table, COUNTS, grant.take("a")),
        laplace_sum(table, COUNTS, grant.take("b")),
    ]
    return found, write_receipt(grant, ledger.budget)


def adaptive(rows, ledger):
    """The next access depends on what the last one released."""
    table = protect(rows.X, rows.y, schema=schema_of())
    most = Plan.of(step=Gaussian(count=6, noise_multiplier=12.0))
    found = []
    with ledger.reserve(most, "one after the other") as reservation:
        for _ in range(3):
            grant = reservation.pay(Plan.of(step=Gaussian(noise_multiplier=12.0)), table)
            found.append(gaussian_sum(table, COUNTS, grant.take("step")).values[0])
            if found[-1] > 60:
                break
    return found


# -- summaries, explainers, evaluation ----------------------------------------------------------


def summed_up(schema, *, people=0):
    schema = schema.with_unit(unit(people)) if people else schema

    def run(rows, ledger):
        given = rows.with_people if people else rows.X
        budget = ledger.budget
        return summarize(
            given, epsilon=budget.epsilon, delta=budget.delta, schema=schema, ledger=ledger
        )

    return run


def on_disk(run_of):
    """The same with a table in Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def run(rows, ledger):
        text = [None if one is None else str(one) for one in rows.X["c"]]
        columns = {"n": rows.X["n"], "u": rows.X["u"], "c": text, "who": rows.who.tolist()}
        columns |= {"y": rows.y.tolist(), "w": rows.w}
        with tempfile.TemporaryDirectory() as folder:
            where = f"{folder}/rows.parquet"
            pq.write_table(pa.table(columns), where, row_group_size=5)
            return run_of(where, ledger)

    return run


def fitted_on_disk(cls, **settings):
    schema = Schema({**FEATURES, "c": Category(["a", "b", "1"])}, target=CLASSES, unit=unit(2))

    def run(where, ledger):
        model = cls(
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            schema=schema,
            ledger=ledger,
            random_state=0,
            **settings,
        )
        return model.fit(where, "y").model_

    return run


def held_out(rows, ledger):
    """A split by secret coins, a training and an evaluation, from one ledger."""
    X, X_held, y, y_held = hold_out(rows.X, rows.y, share=0.4)
    price = {"epsilon": 0.5, "delta": 1e-6, "ledger": ledger}
    model = EBMClassifier(schema=schema_of(), random_state=0, rounds=2, **price).fit(X, y)
    return model.model_, model.score_private(X_held, y_held, **price)


def held_out_people(rows, ledger):
    schema = schema_of().with_unit(unit(2))
    frame = pd.DataFrame({**rows.with_people, "y": rows.y})
    train, held, _, _ = hold_out(frame, share=0.4, unit="who")
    price = {"epsilon": 0.5, "delta": 1e-6, "ledger": ledger}
    model = LVQ1Classifier(schema=schema, random_state=0, **price).fit(train, "y")
    return model.model_, model.score_private(held, "y", **price)


def offline(rows, ledger):
    """Two askers: the second one gets answers that cost nothing."""
    first = explained("release", shared_questions=True)(rows, ledger)
    return first, explained("offline", shared_questions=True)(rows, ledger)


def explained(strategy, **settings):
    schema = Schema({"n": Number(-3, 3), "u": Number(0, 1e3)})

    def score(X):
        X = np.nan_to_num(np.asarray(X, dtype=float), posinf=0.0, neginf=0.0)
        return np.clip(X[:, 0] / 6 + np.minimum(X[:, 1], 1e3) / 4e3, -1, 1)

    def run(rows, ledger):
        explainer = PrivateExplainer(
            score,
            rows.numbers,
            schema=schema,
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            ledger=ledger,
            strategy=strategy,
            **{"queries": 4, "steps": 4, **settings},
        )
        asked = [[0.5, 10.0], [-2.0, 900.0], [0.5, 10.0]]
        told = explainer.explain_slopes(asked)
        return told, explainer.explain_slopes(asked[:1]), explainer.receipt_, explainer.history()

    return run


@lru_cache(maxsize=8)
def _public_model(cls, target):
    rows = make_rows(60, target=target, seed=4)
    given = {"rounds": 2} if cls in (EBMClassifier, EBMRegressor) else {}
    return cls(epsilon=math.inf, schema=schema_of(target), random_state=0, **given).fit(
        rows.X, rows.y
    )


def evaluated(cls, target=CLASSES, **how):
    model = _public_model(cls, target)

    def run(rows, ledger):
        return model.score_private(
            rows.X,
            rows.y,
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            ledger=ledger,
            **how,
        )

    return run


# -- networks -----------------------------------------------------------------------------------

SIDE = 4
PIXELS = Schema({f"p{i}": Number(0, 255) for i in range(SIDE * SIDE)}, target=CLASSES)


def pictures_of(rows):
    """Each row as a picture of 16 pixels: odd values stay odd."""
    shades = np.linspace(0.0, 1.0, SIDE * SIDE)
    with np.errstate(all="ignore"):
        return rows.X["n"][:, None] * 42.0 + rows.X["u"][:, None] / 10.0 * shades


def fit_pictures(cls, **settings):
    def run(rows, ledger):
        return cls(
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            schema=PIXELS,
            ledger=ledger,
            image_shape=(SIDE, SIDE),
            random_state=0,
            **settings,
        ).fit(pictures_of(rows), rows.y)

    return run


def network(trust=None, **settings):
    """A network on 16 pixels, on one table or over three clients."""
    from voile.federated import NetworkClassifier

    def run(rows, ledger):
        budget = ledger.budget
        model = NetworkClassifier(
            epsilon=budget.epsilon,
            delta=budget.delta,
            schema=PIXELS,
            ledger=ledger,
            image_shape=(SIDE, SIDE),
            **{"architecture": "cnn", "steps": 2, "lot": 0.4, "random_state": 0, **settings},
        )
        if trust is None:
            return model.fit(pictures_of(rows), rows.y)
        given = [(pictures_of(one), one.y) for one in at_clients(rows)]
        return model.fit_federated(local(given, PIXELS, ledger, trust=trust))

    return run


def averaged(**settings):
    """Federated averaging with a guarantee for whole clients."""
    from voile.federated import FedAvgClassifier

    def run(rows, ledger):
        given = [(pictures_of(one), one.y) for one in at_clients(rows)]
        model = FedAvgClassifier(
            noise="client",
            epsilon=ledger.budget.epsilon,
            delta=ledger.budget.delta,
            ledger=ledger,
            image_shape=(SIDE, SIDE),
            **{"rounds": 2, "fraction": 0.6, "local_batch": 6, "random_state": 3, **settings},
        )
        return model.fit_federated(local(given, PIXELS, ledger))

    return run


# -- settings that ask something else -----------------------------------------------------------

SETTINGS = (
    (EBMClassifier, {"bins": 4, "rounds": 5}),
    (EBMClassifier, {"monotone": {"u": "decreasing"}, "rounds": 1}),
    (LVQ1Classifier, {"typical": 1.0}),
    (LVQ1Classifier, {"prototypes_per_class": {"no": 1, "yes": 3}}),
    (GLVQClassifier, {"typical": 0.0, "prototypes_per_class": "auto"}),
    (GMLVQClassifier, {"mechanism": "sgd", "rate": 0.5, "epochs": 1, "clip": 0.1}),
    (GLVQClassifier, {"mechanism": "sample_aggregate"}),
    (LocallyLinearClassifier, {"steps": 2, "normalise": True, "clip": 0.2}),
    (LocallyLinearClassifier, {"steps": 2, "projection": 3, "shared_projection": True}),
    (LocallyLinearClassifier, {"steps": 2, "maps": 1, "centring": "none", "learning_rate": 1.0}),
)

# -- the list -----------------------------------------------------------------------------------

_SUMS, _LEVELS = "gaussian_sum", "find_levels"
_BOUNDS, _TREE = "find_bounds", "find_histogram"


def make_paths():
    """All paths."""
    return (
        # mechanisms
        Path(
            "Gaussian sums",
            sums(lambda n: Gaussian(n, 8.0), gaussian_sum),
            (_SUMS, "Release"),
            fast=3,
        ),
        Path(
            "sampled Gaussian sums",
            sums(lambda n: PoissonGaussian(n, 3.0, 0.3), gaussian_sum, times=4),
            (_SUMS,),
            fast=3,
            budget=Budget(4.0, 1e-5),
        ),
        Path(
            "Laplace sums",
            sums(lambda n: Laplace(n, 4.0), laplace_sum),
            ("laplace_sum",),
            filter="renyi",
            fast=3,
        ),
        Path(
            "permute and flip",
            selected(permute_and_flip),
            ("permute_and_flip",),
            filter="renyi",
            fast=3,
        ),
        Path(
            "exponential mechanism",
            selected(exponential),
            ("exponential",),
            filter="renyi",
            fast=3,
        ),
        Path(
            "the best three",
            pay(
                lambda: (
                    Plan.of(best=Pure(count=3, epsilon=0.18)),
                    lambda table, grant: top_k(table, COUNTS, grant, "best", 3),
                )
            ),
            ("top_k",),
            filter="renyi",
            fast=3,
        ),
        Path(
            "mean of groups",
            grouped(Gaussian(noise_multiplier=5.0), mean_of_groups),
            ("aggregate_mean",),
            fast=3,
        ),
        Path(
            "centre of attention",
            grouped(_ATTENTION, attended),
            ("center_of_attention", "attention_groups"),
            budget=Budget(8.0, 1e-2),
            filter="renyi",
            fast=3,
        ),
        Path(
            "rows with weights",
            weighed,
            (_SUMS, "laplace_sum"),
            budget=Budget(2.0, 1e-5),
            filter="renyi",
            fast=3,
        ),
        Path("accesses decided one after the other", adaptive, (_SUMS,), fast=3),
        # summaries and discovery
        Path("summary", summed_up(Schema(FEATURES)), (_SUMS, _TREE, "summarize"), fast=3),
        Path(
            "summary of what nobody listed",
            summed_up(UNLISTED),
            (_LEVELS, _BOUNDS, _TREE, "summarize"),
            budget=EVERYTHING,
            fast=3,
        ),
        Path(
            "summary of people",
            summed_up(UNLISTED, people=2),
            (_LEVELS, _BOUNDS, _TREE, "summarize"),
            budget=EVERYTHING,
            near=people_of,
            fast=3,
        ),
        Path(
            "summary of dates that nobody bounded",
            dated(summed_up(DATED)),
            (_BOUNDS, _TREE, "summarize"),
            budget=EVERYTHING,
            fast=3,
        ),
        # additive models
        Path("EBM", fit(EBMClassifier, rounds=3), (_SUMS, "EBMClassifier"), fast=3),
        Path(
            "EBM, pairs named",
            fit(EBMClassifier, rounds=4, bins=4, interactions=[("n", "u"), ("c", "n")]),
            (_SUMS, "EBMClassifier"),
            fast=3,
        ),
        Path(
            "EBM, pairs named, a number, weighted",
            fit(
                EBMRegressor,
                target=NUMBER,
                rounds=4,
                interactions=[("u", "c")],
                weighted=True,
                largest_weight=0.7,
            ),
            (_SUMS, "EBMRegressor"),
            target=NUMBER,
        ),
        Path(
            "EBM, pairs chosen",
            chosen_pairs(fit(EBMClassifier, target=THREE, rounds=5, bins=4)),
            (_SUMS, "EBMClassifier"),
            target=THREE,
            budget=EVERYTHING,
            fast=2,
        ),
        Path(
            "EBM, pairs chosen, a number, of people",
            chosen_pairs(
                fit(EBMRegressor, target=NUMBER, people=2, rounds=5, bins=4, interactions=2)
            ),
            (_SUMS, "EBMRegressor"),
            target=NUMBER,
            budget=EVERYTHING,
            near=people_of,
        ),
        Path(
            "EBM, cyclic", fit(EBMClassifier, method="cyclic", rounds=2), (_SUMS, "EBMClassifier")
        ),
        Path(
            "EBM of three classes",
            fit(EBMClassifier, target=THREE, rounds=2),
            (_SUMS, "EBMClassifier"),
            THREE,
        ),
        Path(
            "EBM of a number",
            fit(EBMRegressor, target=NUMBER, rounds=2),
            (_SUMS, "EBMRegressor"),
            NUMBER,
            fast=3,
        ),
        Path(
            "EBM of a number with rare far rows",
            wide_rounds(fit(EBMRegressor, target=NUMBER, rounds=6, bins=4)),
            (_SUMS, "EBMRegressor"),
            NUMBER,
            fast=2,
        ),
        Path(
            "EBM of a number with rare far rows, of people, of a pair",
            wide_rounds(
                fit(
                    EBMRegressor,
                    target=NUMBER,
                    people=2,
                    rounds=6,
                    bins=4,
                    interactions=[("u", "c")],
                )
            ),
            (_SUMS, "EBMRegressor"),
            NUMBER,
            near=people_of,
        ),
        Path(
            "EBM of counts with an exposure",
            fit(EBMRegressor, schema=EXPOSED, objective="poisson", exposure="u", rounds=3),
            (_SUMS, "EBMRegressor"),
            COUNT,
            fast=3,
        ),
        Path(
            "EBM of counts, weighted, of pairs named",
            fit(
                EBMRegressor,
                target=COUNT,
                objective="poisson",
                rounds=4,
                interactions=[("u", "c")],
                weighted=True,
                largest_weight=0.7,
            ),
            (_SUMS, "EBMRegressor"),
            COUNT,
        ),
        Path(
            "EBM of amounts with an exposure, of people",
            fit(EBMRegressor, schema=EXPOSED, objective="gamma", exposure="u", rounds=3, people=2),
            (_SUMS, "EBMRegressor"),
            COUNT,
            near=people_of,
            fast=3,
        ),
        Path(
            "EBM of a quantile",
            fit(EBMRegressor, target=NUMBER, objective="quantile", quantile=0.9, rounds=3),
            (_SUMS, "EBMRegressor"),
            NUMBER,
            fast=3,
        ),
        Path(
            "EBM of amounts over clients",
            federated(EBMRegressor, "nobody", target=COUNT, objective="gamma", rounds=2),
            (_SUMS, "EBMRegressor"),
            COUNT,
            fast=3,
        ),
        Path(
            "EBM with weights, monotone",
            fit(
                EBMClassifier,
                weighted=True,
                largest_weight=0.8,
                monotone={"n": "increasing"},
                rounds=2,
            ),
            (_SUMS, "EBMClassifier"),
        ),
        Path(
            "EBM of people",
            fit(EBMClassifier, people=2, rounds=2),
            (_SUMS, "EBMClassifier"),
            near=people_of,
            fast=3,
        ),
        Path(
            "EBM, nothing listed",
            fit(EBMClassifier, schema=UNLISTED.with_target(Category()), rounds=2),
            (_SUMS, _LEVELS, "EBMClassifier"),
            budget=EVERYTHING,
        ),
        Path(
            "EBM, nothing listed, classes that are numbers",
            fit(EBMClassifier, schema=UNLISTED.with_target(Category()), numbered=True, rounds=2),
            (_SUMS, _LEVELS, "EBMClassifier"),
            fast=3,
        ),
        Path(
            "EBM of people whom no column tells apart",
            fit(EBMClassifier, schema=schema_of().with_unit(Unit(rows=5)), rounds=2),
            (_SUMS, "EBMClassifier"),
            near=people_of,
            fast=3,
        ),
        Path(
            "EBM of dates and levels in an order",
            dated(fit(EBMClassifier, schema=DATED.with_target(CLASSES), rounds=2, dates=True)),
            (_SUMS, _BOUNDS, "EBMClassifier"),
            budget=EVERYTHING,
            fast=3,
        ),
        Path(
            "EBM that stops at the target",
            stopped(EBMClassifier, rounds=2),
            (_SUMS, "EBMClassifier"),
            budget=EVERYTHING,
            fast=3,
        ),
        # prototypes
        Path(
            "GLVQ that stops at the class means",
            stopped(GLVQClassifier),
            (_SUMS, "GLVQClassifier"),
            budget=EVERYTHING,
            fast=3,
        ),
        Path("LVQ1", fit(LVQ1Classifier), (_SUMS, "LVQ1Classifier"), fast=3),
        Path("GLVQ", fit(GLVQClassifier), (_SUMS, "GLVQClassifier"), fast=3),
        Path(
            "GMLVQ",
            fit(GMLVQClassifier, prototypes_per_class=2),
            (_SUMS, "GMLVQClassifier"),
            fast=3,
        ),
        Path(
            "GMLVQ, large budget",
            fit(GMLVQClassifier),
            (_SUMS, "GMLVQClassifier"),
            budget=Budget(30.0, 1e-5),
        ),
        Path(
            "GLVQ by gradient steps",
            fit(GLVQClassifier, mechanism="sgd", rate=0.3, epochs=1),
            (_SUMS, "GLVQClassifier"),
        ),
        Path(
            "LVQ1 by groups",
            fit(LVQ1Classifier, mechanism="sample_aggregate", groups=4),
            ("aggregate_mean", "LVQ1Classifier"),
        ),
        Path(
            "LVQ1 by attention",
            fit(LVQ1Classifier, mechanism="center_of_attention"),
            ("center_of_attention", "LVQ1Classifier"),
            budget=Budget(40.0, 1e-3),
        ),
        Path(
            "LVQ1 of people",
            fit(LVQ1Classifier, people=2),
            (_SUMS, "LVQ1Classifier"),
            near=people_of,
        ),
        # maps
        Path(
            "locally linear maps",
            fit(LocallyLinearClassifier, steps=3, maps=2),
            (_SUMS, "LocallyLinearClassifier"),
            fast=3,
        ),
        Path(
            "locally linear maps of all rows",
            fit(LocallyLinearClassifier, steps=2, sampling_rate=1.0, projection=2),
            (_SUMS, "LocallyLinearClassifier"),
        ),
        Path(
            "locally linear maps of people",
            fit(LocallyLinearClassifier, steps=2, people=2),
            (_SUMS, "LocallyLinearClassifier"),
            near=people_of,
        ),
        Path(
            "locally linear maps of people, one row each sampled",
            fit(LocallyLinearClassifier, steps=3, people=1, sampling_rate=0.4),
            (_SUMS, "LocallyLinearClassifier"),
            near=people_of,
            fast=2,
        ),
        *(
            Path(f"{cls.__name__} with {settings}", fit(cls, **settings), (_SUMS, cls.__name__))
            for cls, settings in SETTINGS
        ),
        *(
            Path(
                f"a number with {settings}",
                fit(EBMRegressor, target=NUMBER, **settings),
                (_SUMS, "EBMRegressor"),
                NUMBER,
            )
            for settings in ({"method": "cyclic", "rounds": 1}, {"bins": 6, "rounds": 4})
        ),
        # evaluation
        Path(
            "evaluation of maps",
            evaluated(LocallyLinearClassifier, groups=["c"]),
            (_SUMS, "score_private"),
        ),
        Path(
            "evaluation of classes",
            evaluated(EBMClassifier, groups=["c"]),
            (_SUMS, "score_private"),
            fast=3,
        ),
        Path(
            "evaluation of three classes",
            evaluated(GLVQClassifier, THREE),
            (_SUMS, "score_private"),
            THREE,
        ),
        Path(
            "evaluation of numbers",
            evaluated(EBMRegressor, NUMBER, groups=["c"]),
            (_SUMS, "score_private"),
            NUMBER,
            fast=3,
        ),
        # explainers
        *(
            Path(
                f"explainer, {strategy}",
                explained(strategy, **settings),
                ("PrivateExplainer", *passes),
                budget=Budget(2.0, 1e-5),
                fast={"summary": 1, "release": 2, "interactive": 2}.get(strategy, 1),
            )
            for strategy, settings, passes in (
                ("summary", {}, (_SUMS,)),
                ("release", {}, (_SUMS,)),
                ("release", {"parts": 2}, (_SUMS,)),
                ("interactive", {}, ("PrivateSlopes",)),
                ("adaptive", {"shared_questions": True}, ("PrivateSlopes",)),
                ("enhanced", {"shared_questions": True}, ("PrivateSlopes",)),
            )
        ),
        Path(
            "explainer, offline",
            offline,
            ("PrivateExplainer", _SUMS),
            budget=Budget(4.0, 1e-5),
            fast=1,
        ),
        # splits and files
        Path("rows held out", held_out, ("hold_out", "score_private"), fast=3),
        Path(
            "people held out",
            held_out_people,
            ("hold_out", "score_private"),
            near=people_of,
            fast=1,
        ),
        Path(
            "people on disk",
            on_disk(fitted_on_disk(EBMClassifier, rounds=2)),
            (_SUMS, "EBMClassifier"),
            near=people_of,
            fast=2,
        ),
        Path(
            "rows on disk",
            on_disk(fitted_on_disk(LVQ1Classifier)),
            (_SUMS, "LVQ1Classifier"),
        ),
        # pictures
        Path(
            "maps of pictures",
            fit_pictures(LocallyLinearClassifier, steps=2, copies=True, sampling_rate=0.5),
            (_SUMS, "LocallyLinearClassifier"),
            fast=1,
        ),
        Path(
            "prototypes of pictures",
            fit_pictures(GMLVQClassifier),
            (_SUMS, "GMLVQClassifier"),
        ),
        # clients
        *(
            Path(
                f"clients, trust {trust}",
                federated(EBMClassifier, trust, rounds=2),
                (_SUMS, "EBMClassifier", "Federation"),
                fast=3,
            )
            for trust in ("aggregator", "shares", "nobody")
        ),
        Path(
            "clients, trust shares, pairs chosen",
            chosen_pairs(federated(EBMClassifier, "shares", rounds=5, bins=4)),
            (_SUMS, "EBMClassifier", "Federation"),
            budget=EVERYTHING,
        ),
        Path(
            "clients, people at two of them",
            federated(LVQ1Classifier, "nobody", clients_per_unit=2, people=1),
            (_SUMS, "LVQ1Classifier", "Federation"),
            near=people_of,
        ),
        # networks
        Path("network", network(), (_SUMS, "NetworkClassifier"), fast=3),
        Path("network of all rows", network(lot=1.0), (_SUMS, "NetworkClassifier")),
        Path(
            "network, selective noise",
            network(placement="selective"),
            (_SUMS, "NetworkClassifier"),
        ),
        Path("network, sparse noise", network(placement="sparse"), (_SUMS, "NetworkClassifier")),
        Path(
            "network, shuffled noise", network(placement="shuffled"), (_SUMS, "NetworkClassifier")
        ),
        *(
            Path(
                f"{cls.__name__} over clients, trust {trust}",
                federated(cls, trust, target=target, **settings),
                (_SUMS, cls.__name__, "Federation"),
                target,
            )
            for cls, trust, target, settings in (
                (GMLVQClassifier, "shares", CLASSES, {}),
                (LocallyLinearClassifier, "nobody", CLASSES, {"steps": 2, "sampling_rate": 0.5}),
                (EBMRegressor, "shares", NUMBER, {"rounds": 2}),
            )
        ),
        *(
            Path(
                f"explainer, {strategy} with {settings}",
                explained(strategy, **settings),
                ("PrivateExplainer",),
                budget=Budget(2.0, 1e-5),
            )
            for strategy, settings in (
                ("release", {"weight": "gaussian", "intercept": False}),
                ("interactive", {"weight": "exponential", "radius": 1.0}),
            )
        ),
        Path("network over clients", network("aggregator"), (_SUMS, "NetworkClassifier")),
        Path("network over clients, shares", network("shares"), (_SUMS, "NetworkClassifier")),
        Path(
            "whole clients",
            averaged(),
            ("client_sum", "FedAvgClassifier"),
            near=clients_of,
            budget=Budget(8.0, 1e-3),
        ),
    )
