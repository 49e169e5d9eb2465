"""The core under attack: seeds, copies, clones, errors and messages, and refusals."""

import asyncio
import concurrent.futures
import contextlib
import copy
import dataclasses
import io
import itertools
import math
import os
import pickle
import threading
import traceback
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import voile
from attacks.copies import find_secrets, read_copies
from attacks.messages import compare_outcomes, observe
from attacks.odd_values import SECRET, odd_values
from attacks.refusals import CountedColumn, refusal_timing
from voile import (
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    PrivateExplainer,
    Schema,
    protect,
    summarize,
)
from voile.errors import BudgetExceeded, LedgerError, SettingError, VoileError
from voile.federated import ClientAgent, Federation
from voile.privacy import noise
from voile.privacy.budget import Budget
from voile.privacy.noise import NoiseSource, current_source, fixed_noise
from voile.schema.unit import Unit

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

ROWS = 30
SCHEMA = Schema({"n": Number(0, 1), "c": Category(["a", "b", "c"])}, target=Category(["no", "yes"]))
NUMBERS = np.random.default_rng(0).random(ROWS).tolist()
LEVELS = (["a", "b", "c"] * ROWS)[:ROWS]
CLASSES = (["no", "yes"] * ROWS)[:ROWS]
TABLE = {"n": NUMBERS, "c": LEVELS}


def small_ebm(**settings):
    return EBMClassifier(**{"epsilon": 1.0, "schema": SCHEMA, "rounds": 2, **settings})


def objects(values):
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


# -- seeds -----------------------------------------------------------------------------------------

ESTIMATORS = {
    "ebm": lambda **given: small_ebm(**given),
    "lvq": lambda **given: GLVQClassifier(schema=SCHEMA, **given),
    "maps": lambda **given: LocallyLinearClassifier(
        schema=SCHEMA, steps=2, maps=2, sampling_rate=1.0, **given
    ),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_random_state_is_no_seed_of_noise(make):
    first, second = (make(random_state=1).fit(TABLE, CLASSES) for _ in range(2))
    if hasattr(first, "prototypes_"):
        assert not np.array_equal(first.prototypes_, second.prototypes_)
    else:
        asked = {"n": [0.1, 0.9], "c": ["a", "b"]}
        assert not np.array_equal(first.predict_proba(asked), second.predict_proba(asked))
    assert first.receipt_.has_guarantee


def draw(_=None):
    return noise.gaussian(4, 1e6).tolist(), str(current_source())


def test_fixed_noise_stays_where_it_was_asked_for():
    with fixed_noise(3):
        inside = draw()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            thread = pool.submit(draw).result()
    with fixed_noise(3):
        assert draw() == inside
    assert thread[1] == str(NoiseSource.SYSTEM)
    assert thread[0] != inside[0]
    assert draw()[1] == str(NoiseSource.SYSTEM)


def test_a_task_has_fixed_noise_if_it_was_started_inside():
    async def both():
        outside = asyncio.create_task(asyncio.to_thread(draw))
        with fixed_noise(3):
            inside = asyncio.create_task(asyncio.to_thread(draw))
        # The block has ended, and the task that began in it says so all the same.
        return await outside, await inside

    outside, inside = asyncio.run(both())
    assert outside[1] == str(NoiseSource.SYSTEM)
    assert inside[1] == str(NoiseSource.FIXED)


def in_fork(work):
    """What a forked child writes."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_draws_noise_of_its_own():
    before = draw()
    children = [in_fork(draw) for _ in range(2)]
    drawn = [repr(before), repr(draw()), *children]
    assert len(set(drawn)) == 4
    assert all(str(NoiseSource.SYSTEM) in one for one in drawn)
    with fixed_noise(1):
        assert str(NoiseSource.FIXED) in in_fork(draw)  # and its receipt would say so


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_cannot_spend_the_same_memory_again():
    ledger = Ledger(Budget(1.0, 1e-6))

    def spend():
        return observe(lambda: small_ebm(ledger=ledger).fit(TABLE, CLASSES)).error

    assert in_fork(spend) == repr("LedgerError")
    assert not ledger.history()


def test_no_way_makes_a_guarantee_of_fixed_noise(tmp_path):
    with fixed_noise(1):
        model = small_ebm().fit(TABLE, CLASSES)
        summary = summarize(TABLE, schema=SCHEMA.with_target(None), epsilon=1.0)
    model.set_params(epsilon=3.0, random_state=4)
    loaded = voile.load(model.save(tmp_path / "model.voile"))
    receipts = {
        "set_params": model.receipt_,
        "loaded": loaded.receipt_,
        "pickled": pickle.loads(pickle.dumps(model)).receipt_,
        "copied": copy.deepcopy(model).receipt_,
        "edited": model.with_model(model.edit()).receipt_,
        "original": model.original().receipt_,
        "global": model.explain_global().receipt,
        "local": model.explain_local({"n": [0.1], "c": ["a"]}).receipt,
        "summary": summary.receipt,
        "read back": type(model.receipt_).from_json(model.receipt_.to_json()),
    }
    assert [name for name, one in receipts.items() if one.has_guarantee] == []
    assert "no guarantee" in str(loaded.receipt_)


def test_one_look_with_fixed_noise_spoils_a_job():
    ledger = Ledger(Budget(5.0, 1e-6))
    table = protect(TABLE, schema=SCHEMA.with_target(None))
    from voile.privacy.events import Gaussian, Plan, Step
    from voile.privacy.mechanisms import gaussian_sum
    from voile.privacy.queries import RowCount
    from voile.privacy.receipt import write_receipt

    grant = ledger.pay(Plan((Step("a", Gaussian(3, 9.0)),)), table, "job")
    for turn in range(3):
        with fixed_noise(1) if turn == 1 else io.StringIO():
            gaussian_sum(table, RowCount(), grant.take("a"))
    assert not write_receipt(grant, ledger.budget).has_guarantee


class PowerCut(Exception):
    pass


def test_a_job_that_goes_on_from_a_journal_does_not_lose_its_fixed_noise(tmp_path, monkeypatch):
    from voile.privacy.clients.source import ClientsSource

    schema = Schema({"n": Number(0, 1)}, target=SCHEMA.target)
    ledgers = [Ledger(tmp_path / f"{k}.db", Budget(5.0, 1e-6)) for k in range(2)]
    server = Ledger(tmp_path / "server.db", Budget(2.0, 1e-6))

    def federation():
        agents = {
            f"c{k}": ClientAgent(
                protect({"n": NUMBERS}, CLASSES, schema=schema),
                ledger,
                name=f"c{k}",
                memory=tmp_path / f"{k}.json",
            )
            for k, ledger in enumerate(ledgers)
        }
        return Federation.local(agents, schema, journal=tmp_path / "journal", trust="nobody")

    def fit(clients):
        return EBMClassifier(ledger=server, rounds=3, random_state=1).fit_federated(clients)

    honest, times = ClientsSource.noised_total, itertools.count()

    def cut(*args, **given):
        if next(times) == 2:
            raise PowerCut
        return honest(*args, **given)

    with monkeypatch.context() as patch:
        patch.setattr(ClientsSource, "noised_total", cut)
        with fixed_noise(1), pytest.raises(PowerCut):
            fit(federation())
    clients = federation()
    assert not fit(clients).receipt_.has_guarantee
    for agent in clients.agents.values():
        assert not any(one.has_guarantee for one in agent.receipts())


def test_an_explainer_does_not_vouch_for_the_fixed_noise_of_another(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", Budget(5.0, 1e-6))
    schema = Schema({"n": Number(0, 1)}, rows=ROWS)

    def explainer():
        return PrivateExplainer(
            lambda rows: np.zeros(len(rows)),
            np.array(NUMBERS)[:, None],
            schema=schema,
            ledger=ledger,
            strategy="release",
            queries=5,
        )

    first, second = explainer(), explainer()
    with fixed_noise(1):
        second.explain_slopes([[0.3]])
    # Both share a name, and a receipt that counts what either has paid.
    assert len(first.receipt_.lines) == 1
    assert not first.receipt_.has_guarantee
    assert not second.receipt_.has_guarantee


# -- copies ----------------------------------------------------------------------------------------

HIDDEN = [0.123456789012, 0.987654321098]
SHOWN = ["0.123456", "0.123457", "0.987654"]
HIDDEN_ROWS = np.array([*HIDDEN, *NUMBERS])[:, None]
HIDDEN_SCHEMA = Schema({"n": Number(0, 1)}, target=Category([0, 1]))
HIDDEN_CLASSES = np.arange(len(HIDDEN_ROWS)) % 2


def into_joblib(thing):
    file = io.BytesIO()
    joblib.dump(thing, file)
    return file.getvalue()


def into_cloudpickle(thing):
    return pytest.importorskip("cloudpickle").dumps(thing)


WAYS = {
    "joblib": into_joblib,
    "cloudpickle": into_cloudpickle,
    "as a dictionary": lambda thing: str(dataclasses.asdict(thing)),
    "format": lambda thing: f"{thing!s:>10}",
}


def zeros_for_mapping(rows):
    return np.zeros(len(rows["n"]))


def unprivate(rows):
    return np.zeros(len(rows))


THINGS = {
    "table": lambda: protect(HIDDEN_ROWS, HIDDEN_CLASSES, schema=HIDDEN_SCHEMA),
    "table of lists": lambda: protect(
        {"n": HIDDEN_ROWS.ravel().tolist()}, schema=Schema({"n": Number()})
    ),
    "ebm": lambda: EBMClassifier(schema=HIDDEN_SCHEMA, rounds=2).fit(HIDDEN_ROWS, HIDDEN_CLASSES),
    "lvq": lambda: GLVQClassifier(schema=HIDDEN_SCHEMA).fit(HIDDEN_ROWS, HIDDEN_CLASSES),
    "maps": lambda: LocallyLinearClassifier(schema=HIDDEN_SCHEMA, steps=2, sampling_rate=1.0).fit(
        HIDDEN_ROWS, HIDDEN_CLASSES
    ),
    "summary": lambda: summarize(HIDDEN_ROWS, schema=Schema({"n": Number(0, 1)})),
    "explainer": lambda: PrivateExplainer(
        unprivate,
        HIDDEN_ROWS,
        schema=HIDDEN_SCHEMA.with_target(None),
        strategy="release",
        queries=3,
    ),
    "agent": lambda: ClientAgent(
        protect(HIDDEN_ROWS, HIDDEN_CLASSES, schema=HIDDEN_SCHEMA),
        Ledger(Budget(1.0, 1e-6)),
        name="c",
    ),
}


@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS)
def test_no_copy_holds_a_row(make):
    found = read_copies(make(), HIDDEN, WAYS)
    assert found.leaks == ()
    assert "repr" in found.made


def test_the_search_for_secrets_finds_them():
    class Slotted:
        __slots__ = ("inner",)

    slotted = Slotted()
    slotted.inner = {"a": [np.array([1.0, HIDDEN[0]])]}
    assert find_secrets(slotted, HIDDEN) == (".inner['a'][0]",)
    secret = HIDDEN[1]
    assert find_secrets(lambda: secret, HIDDEN) == (".closure[0]",)
    found = read_copies({"x": HIDDEN[0]}, HIDDEN)
    assert {"pickle", "pickle of protocol 0", "deep copy", "repr", "['x']"} <= set(found.leaks)
    assert find_secrets(pd.DataFrame({"a": HIDDEN}), HIDDEN)
    assert read_copies([1, 2], HIDDEN).leaks == ()


def test_no_error_carries_rows():
    spent = Ledger(Budget(0.01, 1e-6))
    failing = {
        "refused": lambda: EBMClassifier(schema=HIDDEN_SCHEMA, ledger=spent).fit(
            HIDDEN_ROWS, HIDDEN_CLASSES
        ),
        "lengths": lambda: protect(HIDDEN_ROWS, HIDDEN_CLASSES[1:], schema=HIDDEN_SCHEMA),
        "columns": lambda: protect({"m": HIDDEN_ROWS[:, 0]}, schema=Schema({"n": Number(0, 1)})),
        "pickled": lambda: pickle.dumps(THINGS["table"]()),
        "counted": lambda: len(THINGS["table"]()),
    }
    for job in failing.values():
        with pytest.raises(VoileError) as caught:
            job()
        error = caught.value
        shown = "".join(traceback.format_exception(error)) + repr(error.args)
        assert not any(one in shown for one in SHOWN)
        assert not find_secrets(error.args, HIDDEN)
        # Error reporters print local variables: below the functions that are handed the rows none
        # shows any.
        handed = {"fit", "_fit", "_protect", "protect", "pick_rows", "_private_columns", "__init__"}
        for frame, _ in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            if "voile" in Path(code.co_filename).parts and code.co_name not in handed:
                with np.printoptions(threshold=10**6, precision=17):
                    local = repr(dict(frame.f_locals))
                assert not any(one in local for one in SHOWN), code.co_name


# -- clones and shared ledgers ---------------------------------------------------------------------

PLAIN = np.array(NUMBERS)[:, None]
TRUTH = (PLAIN[:, 0] > 0.5).astype(int)


def shared(ledger):
    return EBMClassifier(epsilon=0.6, schema=HIDDEN_SCHEMA, ledger=ledger, rounds=2)


SEARCHES = {
    "cross validation": lambda model: cross_val_score(
        model, PLAIN, TRUTH, cv=5, error_score=math.nan
    ),
    "pipeline": lambda model: cross_val_score(
        make_pipeline(model), PLAIN, TRUTH, cv=5, error_score=math.nan
    ),
    "grid": lambda model: GridSearchCV(
        model, {"rounds": [2, 3, 4]}, cv=2, error_score=math.nan
    ).fit(PLAIN, TRUTH),
    "bagging": lambda model: BaggingClassifier(model, n_estimators=6).fit(PLAIN, TRUTH),
    "clones": lambda model: [clone(model).fit(PLAIN, TRUTH) for _ in range(6)],
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.filterwarnings("ignore")
def test_no_search_spends_more_than_there_is(search):
    ledger = Ledger(Budget(1.0, 1e-6))
    with contextlib.suppress(BudgetExceeded, ValueError):
        search(shared(ledger))
    assert 1 <= count_jobs(ledger) < 5
    assert ledger.spent().epsilon <= 1.0 + 1e-9
    with pytest.raises(BudgetExceeded):
        shared(ledger).fit(PLAIN, TRUTH)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_processes_share_a_ledger_in_a_file(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", Budget(1.0, 1e-6))
    jobs = [joblib.delayed(tried)(shared(ledger)) for _ in range(6)]
    with fixed_noise(3):  # which other processes do not inherit
        found = joblib.Parallel(n_jobs=2)([*jobs, *[joblib.delayed(draw)()] * 2])
    assert sum(found[:6]) == count_jobs(ledger) < 5
    drawn = found[6:]
    assert [source for _, source in drawn] == [str(NoiseSource.SYSTEM)] * 2
    assert drawn[0] != drawn[1]
    assert ledger.spent().epsilon <= 1.0 + 1e-9


def count_jobs(ledger):
    """Trainings that were paid: whole, or first the access to the target and then the rest."""
    return sum(entry.parent is None for entry in ledger.history())


def tried(model):
    try:
        model.fit(PLAIN, TRUTH)
    except BudgetExceeded:
        return False
    return True


def test_a_ledger_in_memory_is_not_sent_to_processes():
    with pytest.raises(LedgerError, match="memory"):
        pickle.dumps(shared(Ledger(Budget(1.0, 1e-6))))


def test_threads_do_not_spend_more_than_there_is():
    ledger = Ledger(Budget(1.0, 1e-6))
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(tried(shared(ledger)))) for _ in range(6)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sum(results) == count_jobs(ledger) < 5


# -- errors and messages ---------------------------------------------------------------------------

ODD = odd_values()


def with_value(values, odd):
    changed = list(values)
    changed[7] = odd
    return changed


def odd_tables(column):
    """Tables and targets that differ from the plain ones in one cell, by the odd value's name."""
    plain = {"n": NUMBERS, "c": LEVELS, "y": CLASSES}
    result = {}
    for name, odd in ODD.items():
        one = {**plain, column: with_value(plain[column], odd)}
        result[name] = {"n": one["n"], "c": one["c"]}, one["y"]
    return result


def as_lists(table, y):
    return table, y


def as_arrays(table, y):
    return {name: objects(values) for name, values in table.items()}, objects(y)


def as_rows(table, y):
    return [list(row) for row in zip(*table.values(), strict=True)], y


def as_pandas(table, y):
    frame = pd.DataFrame({name: pd.Series(objects(v), dtype=object) for name, v in table.items()})
    return frame, pd.Series(objects(y), dtype=object)


FORMS = [as_lists, as_arrays, as_rows, as_pandas]


def fit_ebm(table, y):
    small_ebm().fit(table, y)


def fit_weighted(table, y):
    # The odd value is a weight here, beside a plain table.
    small_ebm(largest_weight=1.0).fit(TABLE, CLASSES, sample_weight=column_of(table))


def fit_units(table, y):
    schema = SCHEMA.with_unit(Unit("u", rows=2))
    small_ebm(schema=schema).fit({**TABLE, "u": column_of(table)}, CLASSES)


def column_of(table):
    return table["n"]


def fit_regressor(table, y):
    schema = Schema({"c": SCHEMA["c"]}, target=Number(0, 1))
    EBMRegressor(schema=schema, rounds=2).fit({"c": table["c"]}, table["n"])


def fit_lvq(table, y, kind=GLVQClassifier):
    kind(schema=SCHEMA).fit(table, y)


def fit_maps(table, y):
    LocallyLinearClassifier(schema=SCHEMA, steps=1, maps=2, sampling_rate=1.0).fit(table, y)


def describe(table, y):
    summarize(protect(table, y, schema=SCHEMA), epsilon=1.0)


def explain(table, y, strategy="summary"):
    PrivateExplainer(
        zeros_for_mapping,
        table,
        schema=SCHEMA.with_target(None),
        strategy=strategy,
        queries=3,
    )


def federate(table, y, trust="nobody"):
    clients = Federation.local([(table, y), (TABLE, CLASSES)], SCHEMA, trust=trust)
    EBMClassifier(rounds=1).fit_federated(clients)


def heard(job, column, form=as_lists, values=None):
    def run(given):
        with fixed_noise(1):
            job(*form(*given))

    tables = odd_tables(column)
    chosen = {name: tables[name] for name in values or tables}
    return compare_outcomes(run, (TABLE, CLASSES), chosen)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("column", ["n", "c"])
def test_no_value_is_heard_of_in_a_summary(column, form):
    assert heard(describe, column, form) == ()


@pytest.mark.parametrize("column", ["n", "c", "y"])
def test_no_value_is_heard_of_in_an_additive_model(column):
    assert heard(fit_ebm, column) == ()


@pytest.mark.parametrize("job", [fit_weighted, fit_units, fit_regressor])
def test_no_weight_unit_or_number_to_learn_is_heard_of(job):
    assert heard(job, "n") == ()


# Encoding is shared, so that some values suffice for what comes after it.
TELLING = (
    "not a number",
    "infinite",
    "huge",
    "denormal",
    "beyond floats",
    "text",
    "lone surrogate",
    "missing",
    "list",
    "hostile",
    "hostile date",
    "ends the program",
)


@pytest.mark.parametrize("kind", [LVQ1Classifier, GMLVQClassifier])
def test_no_value_is_heard_of_in_prototypes(kind):
    def job(table, y):
        fit_lvq(table, y, kind)

    assert heard(job, "n", values=TELLING[::2]) == ()


def test_no_value_is_heard_of_in_maps():
    assert heard(fit_maps, "n", values=TELLING[::3]) == ()
    assert heard(fit_maps, "y", values=TELLING[1::3]) == ()


@pytest.mark.parametrize("strategy", ["summary", "release", "interactive"])
def test_no_value_is_heard_of_in_an_explainer(strategy):
    def job(table, y):
        explain(table, y, strategy)

    assert heard(job, "n", values=TELLING[::3]) == ()
    assert heard(job, "c", values=TELLING[1::3]) == ()


@pytest.mark.parametrize("trust", ["aggregator", "shares", "nobody"])
def test_no_value_is_heard_of_from_a_client(trust):
    def job(table, y):
        federate(table, y, trust)

    assert heard(job, "n", values=TELLING[::3]) == ()


PICTURES = [[[0.1, 0.2], [0.3, 0.4]] for _ in range(12)]
PICTURE_SCHEMA = Schema({f"x{i}": Number(0, 1) for i in range(4)}, target=Category([0, 1]))
ODD_PICTURES = {
    "ragged": [[0.1], [0.2, 0.3]],
    "flat": [0.1, 0.2, 0.3, 0.4],
    "text": [["?", 0.2], [0.3, 0.4]],
    "beyond floats": [[10**400, 0.2], [0.3, 0.4]],
    "missing": None,
    "empty": [],
    "number": 1.0,
    "deep": [[[0.1], [0.2]], [[0.3], [0.4]]],
}


@pytest.mark.parametrize("what", ["maps", "explainer"])
def test_no_picture_in_lists_is_heard_of(what):
    def fit(pictures):
        with fixed_noise(1):
            if what == "maps":
                LocallyLinearClassifier(
                    schema=PICTURE_SCHEMA, image_shape=(2, 2), steps=1, maps=2, sampling_rate=1.0
                ).fit(pictures, [k % 2 for k in range(len(pictures))])
            else:
                PrivateExplainer(
                    unprivate,
                    pictures,
                    schema=PICTURE_SCHEMA.with_target(None),
                    image_shape=(2, 2),
                    epsilon=1.0,
                )

    chosen = ODD_PICTURES if what == "maps" else ("text", "ragged", "empty")
    tables = {name: with_value(PICTURES, ODD_PICTURES[name]) for name in chosen}
    assert compare_outcomes(fit, PICTURES, tables) == ()
    assert observe(lambda: fit(PICTURES)).error == ""
    assert observe(lambda: fit([])).error == observe(lambda: fit(PICTURES[:1])).error


def test_the_first_text_may_be_anything_but_a_row():
    texts = ["good day", "bad day"] * 10

    def explain_texts(given):
        with fixed_noise(1):
            PrivateExplainer(unprivate, given, vocabulary=["good", "bad"], epsilon=1.0)

    tables = {name: [odd, *texts[1:]] for name, odd in ODD.items() if name in TELLING[4:8]}
    assert compare_outcomes(explain_texts, texts, tables) == ()


def test_text_that_is_no_text_is_not_heard_of():
    plain = np.array(["a", "b"] * 10)
    broken = plain.copy()
    broken.view(np.uint32)[7] = 0xFFFFFFFF  # no character at all
    for column in (Number(0, 1), Number(), Category(["a"]), Category()):
        schema = Schema({"t": column})

        def job(values, schema=schema):
            with fixed_noise(1):
                summarize({"t": values}, schema=schema, epsilon=1.0)

        assert compare_outcomes(job, plain, {"broken": broken}) == ()


def test_what_is_heard_is_written_down():
    def job(loud):
        if loud:
            import logging
            import warnings

            print("one")
            warnings.warn("two", stacklevel=1)
            logging.getLogger("some.log").warning("three %s", 3)
            try:
                raise ValueError("four")
            except ValueError as error:
                error.add_note("five")
                raise SettingError("six") from error

    (found,) = compare_outcomes(job, False, {"loud": True})
    assert found.name == "loud"
    assert found.without.error == ""
    assert found.with_value.error == "SettingError"
    for text in ("one", "two", "three 3", "four", "five", "six"):
        assert text in found.with_value
    assert "seven" not in found.with_value
    assert compare_outcomes(job, False, {"quiet": False}) == ()
    assert observe(lambda: exit(3)).error == "SystemExit"


def test_hostile_values_would_be_heard():
    for name in ("hostile", "hostile text", "hostile date"):
        assert SECRET in observe(lambda name=name: hash(ODD[name]))
    assert SECRET in observe(lambda: int(ODD["hostile whole number"]))
    assert observe(lambda: isinstance(ODD["ends the program"], float)).error == "SystemExit"
    assert isinstance(ODD["says it is a date"], type(ODD["date"]))


# -- refusals --------------------------------------------------------------------------------------

USED_UP = Ledger(Budget(1e-3, 1e-6))


def refused_fit(estimator):
    def job(rows):
        table = {"n": CountedColumn(NUMBERS * rows), "c": CountedColumn(LEVELS * rows)}
        y = CountedColumn(CLASSES * rows)
        with pytest.raises(BudgetExceeded):
            estimator.fit(table, y)
        return [one.accesses for one in (*table.values(), y)]

    return job


REFUSED = {
    "ebm": small_ebm(ledger=USED_UP),
    "cyclic": small_ebm(ledger=USED_UP, method="cyclic"),
    "lvq1": LVQ1Classifier(schema=SCHEMA, ledger=USED_UP),
    "gmlvq": GMLVQClassifier(schema=SCHEMA, ledger=USED_UP),
    "lvq sgd": GLVQClassifier(schema=SCHEMA, ledger=USED_UP, mechanism="sgd"),
    "maps": LocallyLinearClassifier(schema=SCHEMA, ledger=USED_UP),
    "nothing known": EBMClassifier(
        schema=Schema({"n": Number(), "c": Category()}, target=Category()), ledger=USED_UP
    ),
}


@pytest.mark.parametrize("estimator", REFUSED.values(), ids=REFUSED)
def test_a_refused_fit_looks_at_no_value(estimator):
    assert refused_fit(estimator)(3) == [0, 0, 0]
    assert not USED_UP.history()


@pytest.mark.parametrize("strategy", [None, "summary", "release"])
def test_a_refused_summary_and_explainer_look_at_no_value(strategy):
    table = {"n": CountedColumn(NUMBERS), "c": CountedColumn(LEVELS)}
    given = {"schema": SCHEMA.with_target(None), "ledger": USED_UP, "epsilon": 1.0}

    def job():
        if strategy is None:
            return summarize(table, **given)
        return PrivateExplainer(zeros_for_mapping, table, strategy=strategy, **given)

    with pytest.raises(BudgetExceeded):
        job()
    assert [one.accesses for one in table.values()] == [0, 0]


def test_a_fit_that_is_not_refused_looks():
    table = {"n": CountedColumn(NUMBERS), "c": CountedColumn(LEVELS)}
    small_ebm().fit(table, CLASSES)
    assert all(one.accesses > 0 for one in table.values())


def test_units_and_weights_are_read_before_the_ledger_is_asked():
    """As documented: nothing comes of it but time."""
    units, weights = CountedColumn(range(ROWS)), CountedColumn(NUMBERS)
    schema = SCHEMA.with_unit(Unit("u", rows=1))
    with pytest.raises(BudgetExceeded):
        small_ebm(schema=schema, ledger=USED_UP, largest_weight=1.0).fit(
            {**TABLE, "u": units}, CLASSES, sample_weight=weights
        )
    assert units.accesses > 0
    assert weights.accesses > 0


def test_refusals_are_timed():
    def job(rows):
        small_ebm(ledger=USED_UP).fit(rows, np.array(CLASSES * (len(rows["n"]) // ROWS)))

    small, large = ({"n": np.array(NUMBERS * k), "c": np.array(LEVELS * k)} for k in (1, 100))
    found = refusal_timing(job, small, large, tries=2)
    assert found.small > 0 < found.large
    assert found.ratio == found.large / found.small
    assert "times as long (2 tries)" in str(found)
    with pytest.raises(SettingError, match="not refused"):
        refusal_timing(lambda rows: None, small, large)
    for tries in (0, 1.5, True):
        with pytest.raises(SettingError, match="tries"):
            refusal_timing(job, small, large, tries=tries)
