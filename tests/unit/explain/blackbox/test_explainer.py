"""PrivateExplainer as its users meet it: answers, prices, restarts, and what the model is asked.

Where numbers are compared, noise is fixed, so every test gives the same result each time.
"""

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from voile import Budget, Category, Ledger, LVQ1Classifier, Number, PrivateExplainer, Schema, Unit
from voile.errors import BudgetExceeded, DataError, LedgerMismatch, SchemaError, SettingError
from voile.explain.blackbox.answers.receipt_notes import FAITHFUL, NEVER_ASKED, ROW_BY_ROW, UNKNOWN
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.synthetic.crossover import crossover
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

READING = ("release", "interactive", "adaptive", "enhanced")
STRATEGIES = ("summary", *READING)

ROWS = 400
X = np.random.default_rng(42).uniform(0, 1, (ROWS, 2))
SCHEMA = Schema({"dose": Number(0, 1), "age": Number(0, 1)})
KNOWN = Schema({"dose": Number(0, 1), "age": Number(0, 1)}, rows=ROWS)
ASKED = np.array([[0.2, 0.3], [0.9, 0.8], [0.5, 0.1]])


def model(rows):
    """Rises with the dose, falls with the age."""
    rows = np.asarray(rows, dtype=np.float64)
    # Bounds that are found privately may be wider than the rows.
    return np.clip(0.6 * rows[:, 0] - 0.3 * rows[:, 1], -1.0, 1.0)


def make(strategy="summary", rows=X, *, of=model, **changes):
    # The published algorithms answer by what was asked before; here one person asks alone.
    shared = strategy in ("adaptive", "enhanced", "offline")
    settings = {"schema": KNOWN, "epsilon": 4.0, "queries": 6, "steps": 12, **changes}
    settings = {"shared_questions": shared, **settings}
    return PrivateExplainer(of, rows, strategy=strategy, **settings)


def exact(points, rows=X, of=model, radius=2.5):
    """Local surrogates of the best local models of the rows themselves, by plain least squares."""
    scaled, labels = (2 * rows - 1) / math.sqrt(2), np.asarray(of(rows))
    found = []
    for z in (2 * points - 1) / math.sqrt(2):
        u = scaled - z
        r = np.linalg.norm(u, axis=1)
        a = np.minimum(1, 1 / (2 * np.maximum(r, 1e-12) * (r + 1)))
        u = np.column_stack([u, np.ones(len(u))])
        phi = np.linalg.lstsq(u * np.sqrt(a)[:, None], labels * np.sqrt(a), rcond=None)[0][:-1]
        assert np.linalg.norm(phi) < radius  # so that the ball does not matter
        found.append(phi * 2 / math.sqrt(2))
    return np.array(found)


def same(one, other):
    """Whether two explanations say the same, however each was come by."""
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.standard_errors, other.standard_errors)
    assert np.array_equal(one.intercepts, other.intercepts)
    assert one.steps == other.steps
    return True


# -- every strategy --------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_answers_within_its_price(strategy):
    explainer = make(strategy, epsilon=1.0)
    found = explainer.explain_slopes(ASKED)
    assert explainer.strategy_ == strategy
    assert found.values.shape == (3, 2, 1)
    assert np.isfinite(found.values).all()
    assert found.scores[:, 0] == pytest.approx(model(ASKED))
    assert set(found.answered) <= {strategy, "reused", "offline"}
    assert strategy in found.answered
    receipt = explainer.receipt_
    assert receipt.has_guarantee
    assert receipt.epsilon <= 1.0
    assert receipt.delta == 1e-6
    assert receipt.epsilon > 0.1
    # Lines of a job that goes on count what was charged and what was looked at.
    assert all(0 < line.openings <= line.event.count for line in receipt.lines)
    assert (ROW_BY_ROW if strategy in READING else NEVER_ASKED) in receipt.notes
    assert UNKNOWN in receipt.notes
    copy = LocalSurrogate.from_json(found.to_json())
    assert same(copy, found)
    assert copy.to_dict() == found.to_dict()
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert str(found)


@pytest.mark.parametrize("strategy", ["summary", *READING])
def test_signs_are_right_where_it_is_easy(strategy):
    """300 rows decide nothing at epsilon 1; at 500 the noise is small, and it is fixed."""
    with fixed_noise(3):
        explainer = make(strategy, epsilon=500.0, queries=3, steps=60)
        found = explainer.explain_slopes(ASKED)
    assert (found.values[:, 0, 0] > 0.2).all()
    assert (found.values[:, 1, 0] < 0).all()
    assert not explainer.receipt_.has_guarantee  # noise was fixed
    assert found.top(1)[0].name == "dose"


@pytest.mark.parametrize("strategy", ["summary", *READING])
def test_without_noise_answers_are_exact_and_guarantee_nothing(strategy):
    explainer = make(strategy, epsilon=math.inf, steps=300)
    found = explainer.explain_slopes(ASKED)
    close = {"summary": 0.02, "release": 1e-4}.get(strategy, 0.2)
    assert found.values[..., 0] == pytest.approx(exact(ASKED), abs=close)
    receipt = explainer.receipt_
    assert not receipt.has_guarantee
    assert math.isinf(receipt.epsilon)
    assert "no guarantee" in receipt.guarantee


def test_auto_chooses_by_public_facts():
    assert make("auto", queries=10**6).strategy_ == "summary"
    assert make("auto", schema=SCHEMA, queries=1).strategy_ == "summary"  # no public row count
    few = crossover(ROWS, Budget(4.0, 1e-6))
    assert make("auto", queries=1).strategy_ == ("release" if few > 1 else "summary")
    many = Schema({"dose": Number(0, 1), "age": Number(0, 1)}, rows=10**6)
    assert make("auto", schema=many, queries=5).strategy_ == "release"


@pytest.mark.parametrize("strategy", ["adaptive", "enhanced"])
def test_the_published_rule_guarantees_nothing_and_shares_no_ledger(strategy):
    explainer = make(strategy, faithful=True, queries=20)
    for point in ASKED:
        explainer.explain_slopes([point])
    assert not explainer.receipt_.has_guarantee
    assert "no guarantee" in explainer.receipt_.guarantee
    assert FAITHFUL in explainer.receipt_.notes
    ledger = Ledger(Budget(4.0, 1e-6))
    with pytest.raises(SettingError, match="leave the ledger out"):
        make(strategy, faithful=True, ledger=ledger)
    assert not ledger.history()
    assert make(strategy, faithful=True, ledger=Ledger(Budget(math.inf, 1e-6))).explain_slopes(
        ASKED
    )
    for other in ("summary", "release", "interactive", "offline"):
        with pytest.raises(SettingError, match="adaptive"):
            make(other, faithful=True)


def test_the_published_rule_never_guaranteed_anything():
    explainer = make("adaptive", faithful=True, schema=SCHEMA)
    assert not explainer.receipt_.has_guarantee
    explainer.explain_slopes(ASKED[:1])
    assert not explainer.receipt_.has_guarantee


def test_nearby_questions_are_answered_by_earlier_answers():
    explainer = make("adaptive", queries=40, steps=100)
    first = explainer.explain_slopes([[0.5, 0.5]])
    paid = explainer.receipt_.epsilon
    second = explainer.explain_slopes([[0.51, 0.5]])
    assert second.answered == ("reused",)
    assert np.array_equal(first.values, second.values)
    assert explainer.receipt_.epsilon == paid
    assert explainer.explain_slopes([[0.99, 0.01]]).answered == ("adaptive",)
    assert explainer.receipt_.epsilon > paid
    assert [one.answered for one in explainer.history()] == ["adaptive", "reused", "adaptive"]


def test_parts_make_questions_that_are_asked_together_cheaper():
    alone, parted = (make("release", parts=parts, queries=20) for parts in (1, 3))
    for explainer in (alone, parted):
        explainer.explain_slopes(ASKED)
    assert parted.receipt_.epsilon < 0.7 * alone.receipt_.epsilon
    with pytest.raises(SettingError, match="'release' alone"):
        make("adaptive", parts=2)


# -- models ----------------------------------------------------------------------------------------


def test_two_classes_are_explained_by_the_second():
    labels = np.where(X[:, 0] > X[:, 1], "yes", "no")
    fitted = LogisticRegression().fit(X, labels)
    with fixed_noise(0):
        found = make(of=fitted, epsilon=20.0).explain_slopes(ASKED)
    assert found.outputs == ("yes",)
    assert found.scores[:, 0] == pytest.approx(fitted.predict_proba(ASKED)[:, 1])
    assert (found.values[:, 0, 0] > 0).all()
    assert (found.values[:, 1, 0] < 0).all()
    with fixed_noise(0):
        other = make(of=fitted, epsilon=20.0, output="no").explain_slopes(ASKED)
    assert other.outputs == ("no",)
    assert other.values == pytest.approx(-found.values, abs=1e-4)


def test_three_classes_are_explained_one_versus_the_rest():
    labels = np.array(["a", "b", "c"])[np.minimum((X[:, 0] * 3).astype(int), 2)]
    fitted = LogisticRegression(C=100.0).fit(X, labels)
    with fixed_noise(0):
        summary = make(of=fitted, epsilon=20.0)
        found = summary.explain_slopes(ASKED)
    with fixed_noise(0):
        chosen = make(of=fitted, epsilon=20.0, output="b").explain_slopes(ASKED)
    assert found.values.shape == found.standard_errors.shape == (3, 2, 3)
    assert found.intercepts.shape == found.scores.shape == found.agreement.shape == (3, 3)
    assert found.outputs == ("a", "b", "c")
    assert (found.values[:, 0, 0] < 0).all()
    assert (found.values[:, 0, 2] > 0).all()
    assert chosen.outputs == ("b",)
    # The radius bounds each output's coefficients by itself; sums run in single precision.
    assert chosen.values[..., 0] == pytest.approx(found.values[..., 1], abs=1e-4)
    labelled = summary.with_model(fitted, scores="labels").explain_slopes(ASKED)
    assert set(labelled.scores.ravel()) <= {0.0, 1.0}
    assert (labelled.scores.sum(axis=1) == 1.0).all()
    release = make("release", of=fitted, epsilon=20.0).explain_slopes(ASKED)
    assert release.values.shape == (3, 2, 3)
    adaptive = make("adaptive", of=fitted, epsilon=20.0).explain_slopes(ASKED)
    assert adaptive.values.shape == (3, 2, 3)
    with pytest.raises(SettingError, match="no 'output' 'd'"):
        make(of=fitted, output="d")


def test_a_regressor_needs_public_bounds():
    fitted = LinearRegression().fit(X, 100 * X[:, 0])
    with pytest.raises(SettingError, match="output_range"):
        make(of=fitted)
    with fixed_noise(0):
        found = make(of=fitted, output_range=(0, 100), epsilon=20.0).explain_slopes([[0.5, 0.5]])
    assert found.units == "the model's own unit"
    assert found.scores[0, 0] == pytest.approx(50.0)
    assert found.intercepts[0, 0] == pytest.approx(50.0, abs=1.0)
    assert found.values[0, :, 0] == pytest.approx([100.0, 0.0], abs=2.5)
    target = KNOWN.with_target(Number(0, 100))
    with fixed_noise(0):
        again = make(of=fitted, schema=target, epsilon=20.0).explain_slopes([[0.5, 0.5]])
    assert np.array_equal(found.values, again.values)


def test_a_model_with_a_receipt_tells_what_it_guarantees(tmp_path):
    labels = (X[:, 0] > 0.5).astype(int)
    schema = SCHEMA.with_target(Category([0, 1]))
    fitted = LVQ1Classifier(epsilon=2.0, delta=1e-5, schema=schema).fit(X, labels)
    path = fitted.save(tmp_path / "model.json")
    for given in (fitted, path, str(path)):
        explainer = make(of=given)
        (note,) = (one for one in explainer.receipt_.notes if "Training data" in one)
        assert "(2, 1e-05)" in note
        assert "own receipt" in note
    assert len(explainer.explain_slopes(ASKED)) == 3
    # The exact score is in every explanation, so noise on the way makes no delta smaller.
    noisy = make("interactive", of=fitted, epsilon=0.1, queries=1000)
    assert np.array_equal(noisy.explain_slopes(ASKED).scores[:, 0], fitted.predict(ASKED))
    (again,) = (one for one in noisy.receipt_.notes if "Training data" in one)
    assert again == note
    assert len(re.findall(r"\(\S+, \S+\)-differential", again)) == 1
    bare = LVQ1Classifier(epsilon=math.inf, schema=schema).fit(X, labels)
    assert any("NO guarantee; its own" in one for one in make(of=bare).receipt_.notes)


def test_a_constant_model_has_no_slopes():
    constant = DummyClassifier(strategy="prior").fit(X, X[:, 0] > 0.5)
    found = make(of=constant).explain_slopes(ASKED)
    assert np.abs(found.values).max() < 1e-4  # sums run in single precision
    assert found.agreement == pytest.approx(1.0)


# -- tables ----------------------------------------------------------------------------------------


def test_the_container_makes_no_difference():
    found = []
    frames = [
        X,
        pd.DataFrame(X, columns=["dose", "age"]),
        pl.DataFrame({"dose": X[:, 0], "age": X[:, 1]}),
        {"dose": X[:, 0], "age": X[:, 1]},
    ]
    for rows in frames:
        kinds = set()

        def of(asked, kinds=kinds):
            kinds.add(type(asked))
            if isinstance(asked, dict):
                asked = np.column_stack(list(asked.values()))
            return model(asked)

        with fixed_noise(7):
            found.append(
                make(rows=rows, of=of).explain_slopes(rows[:2] if rows is X else ASKED[:2])
            )
        assert kinds == {type(rows)}  # the model is handed what it knows
    assert found[1].values == pytest.approx(found[2].values, abs=1e-12)
    assert found[1].values == pytest.approx(found[3].values, abs=1e-12)


def mixed_table(rows=800):
    rng = np.random.default_rng(9)
    return pd.DataFrame(
        {
            "dose": np.where(rng.random(rows) < 0.2, np.nan, rng.uniform(0, 10, rows)),
            "visits": rng.integers(0, 5, rows),
            "ward": rng.choice(["a", "b", "elsewhere"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


def ward_model(rows):
    assert list(rows.columns) == ["dose", "visits", "ward"]
    assert rows["visits"].dtype == np.float64  # by the schema, which does not say "whole"
    ward = np.asarray(rows["ward"].astype(object) == "a", dtype=np.float64)
    return 0.1 + 0.5 * ward - 0.3 * rows["visits"].to_numpy() / 4


@pytest.mark.parametrize(
    "schema",
    [
        None,
        Schema({"dose": Number(), "visits": Number(0, 4), "ward": Category()}),
        Schema({"dose": Number(0, 10), "visits": Number(0, 4), "ward": Category(["a", "b"])}),
    ],
    ids=["none", "incomplete", "complete"],
)
@pytest.mark.parametrize("strategy", ["summary", "release"])
def test_what_the_schema_lacks_is_found_for_a_part_of_the_price(schema, strategy):
    table = mixed_table()
    with fixed_noise(2):
        explainer = make(strategy, table, of=ward_model, schema=schema, epsilon=20.0, queries=2)
        asked = pd.DataFrame({"dose": [5.0, None], "visits": [1, 4], "ward": ["b", "nowhere"]})
        found = explainer.explain_slopes(asked)
    assert explainer.schema_.known
    assert explainer.schema_["visits"].upper >= 3
    assert "a" in explainer.schema_["ward"].levels
    names = [one.name for one in found.features]
    assert names[:2] == ["dose", "visits"]
    assert len(found) == 2
    ward = found.values[:, [one.name for one in found.features].index("ward = a"), 0]
    assert (ward > 0.2).all()
    labels = [line.label for line in explainer.receipt_.lines]
    assert any("bounds" in one or "levels" in one for one in labels) == (
        schema is None or not schema.known
    ), labels
    assert math.fsum(line.share for line in explainer.receipt_.lines) == pytest.approx(1.0)


def test_missing_and_unlisted_values_are_drawn_where_they_were_seen_and_only_there():
    seen = []

    def of(rows):
        seen.append(rows)
        return ward_model(rows)

    schema = Schema({"dose": Number(0, 10), "visits": Number(0, 4), "ward": Category(["a", "b"])})
    with fixed_noise(2):
        make(rows=mixed_table(), of=of, schema=schema)
    drawn = seen[-1]
    assert drawn["dose"].isna().mean() == pytest.approx(0.2, abs=0.05)
    assert drawn["ward"].isna().mean() == pytest.approx(0.2, abs=0.05)
    assert set(drawn["ward"].dropna()) == {"a", "b"}
    full = mixed_table().assign(dose=5.5, ward="b")
    with fixed_noise(2):
        make(rows=full, of=of, schema=schema)
    assert not seen[-1]["dose"].isna().any()
    assert not seen[-1]["ward"].isna().any()


def test_one_column_alone():
    schema = Schema({"dose": Number(0, 1)}, rows=ROWS)
    for strategy in STRATEGIES:
        with fixed_noise(4):
            explainer = make(
                strategy,
                X[:, :1],
                of=lambda rows: 0.5 * rows[:, 0],
                schema=schema,
                epsilon=300.0,
                steps=60,
            )
            found = explainer.explain_slopes([[0.25]])
        assert found.values.shape == (1, 1, 1)
        if strategy != "offline":
            assert found.values[0, 0, 0] == pytest.approx(0.5, abs=0.1), strategy
    assert not math.isnan(found.standard_errors[0, 0, 0])


def test_a_constant_column_has_no_say():
    rows = np.column_stack([X[:, 0], np.full(ROWS, 0.5)])
    with fixed_noise(5):
        found = make(rows=rows, epsilon=20.0).explain_slopes([[0.2, 0.5]])
    assert found.values[0, 0, 0] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_category_of_which_no_level_was_found_does_no_harm(strategy):
    """As happens at a small epsilon, or where all values are rare: then all are "other"."""
    table = pd.DataFrame({"dose": X[:, 0], "name": [f"patient {i}" for i in range(ROWS)]})
    explainer = make(
        strategy,
        table,
        of=lambda rows: 0.5 * rows["dose"].to_numpy(),
        schema=Schema({"dose": Number(0, 1), "name": Category()}),
    )
    assert explainer.schema_["name"].levels == ()
    assert len(explainer.explain_slopes(table.iloc[:2])) == 2


@pytest.mark.parametrize("columns", [30, 101])
def test_many_columns(columns):
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 1, (300, columns))
    schema = Schema({f"x{i}": Number(0, 1) for i in range(columns)})
    with fixed_noise(0):
        explainer = PrivateExplainer(
            lambda asked: 0.9 * asked[:, 0] - 0.45, rows, schema=schema, epsilon=50.0
        )
        found = explainer.explain_slopes(rows[:1])
    assert explainer.summary_.wide == (columns > 100)
    assert found.values.shape == (1, columns, 1)
    assert found.top(1)[0].name == "x0"
    assert len(explainer.receipt_.lines) == (2 if columns > 100 else 4)


def test_texts_and_pictures():
    texts = ["a good film", "a bad film", "good", "awful", ""] * 80
    with fixed_noise(1):
        explainer = PrivateExplainer(
            lambda words: 0.7 * words[:, 0] - 0.3 * words[:, 1],
            texts,
            vocabulary=["good", "bad", "film"],
        )
        found = explainer.explain_slopes("a good film")
    assert found.words
    assert found.texts == ("a good film",)
    assert found.top(1)[0].name == "good"
    assert same(explainer.explain_slopes(np.array([[1, 0, 1]])), found)
    with fixed_noise(1):
        reader = PrivateExplainer(
            lambda words: np.array([0.5 if "good" in one.split() else -0.5 for one in words]),
            texts,
            vocabulary=["good", "bad", "film"],
            texts_to_model=True,
        )
    assert reader.explain_slopes(["good", "film"]).top(1)[0].name == "good"
    pictures = np.random.default_rng(0).integers(0, 256, (300, 3, 4), dtype=np.uint8)
    with fixed_noise(1):
        drawn = PrivateExplainer(lambda all_: all_[:, 1, 2] / 255.0 - 0.5, pictures)
        shown = drawn.explain_slopes(pictures[0])
    assert shown.picture == (3, 4)
    assert shown.ranked()[0] == 1 * 4 + 2
    assert same(drawn.explain_slopes(pictures[:1]), shown)


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_of_words_are_no_texts(rows):
    """A table of the words, instead of texts; three rows, as many as there are words."""
    texts = ["good film", "bad film"] * 50
    explainer = PrivateExplainer(
        lambda words: 0.5 * words[:, 0], texts, vocabulary=["good", "bad", "film"]
    )
    asked = pd.DataFrame({"good": [1] * rows, "bad": [0] * rows, "film": [0] * rows})
    assert explainer.explain_slopes(asked).texts == ()
    assert explainer.explain_slopes(asked.to_dict("list")).texts == ()


def test_no_row_is_asked_about():
    for strategy in STRATEGIES:
        explainer = make(strategy)
        assert explainer.explain_slopes(np.zeros((0, 2))).values.shape == (0, 2, 1)


# -- the same question, restarts, names ------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_question_is_answered_once(strategy):
    ledger = Ledger(Budget(4.0, 1e-6))
    explainer = make(strategy, ledger=ledger)
    first = explainer.explain_slopes(ASKED)
    lines, paid = len(ledger.history()), explainer.receipt_.epsilon
    for _ in range(2):
        assert same(explainer.explain_slopes(ASKED), first)
    # In another order, one by one, twice at once, and in other types.
    assert same(explainer.explain_slopes(ASKED[::-1])[1], first[1])
    assert same(explainer.explain_slopes(np.vstack([ASKED[:1], ASKED[:1]]))[1], first[0])
    assert same(explainer.explain_slopes(ASKED[2].tolist()), first[2])
    assert same(explainer.explain_slopes({"dose": 0.2, "age": 0.3}), first[0])
    assert len(ledger.history()) == lines
    assert explainer.receipt_.epsilon == paid


@pytest.mark.parametrize("schema", [KNOWN, SCHEMA, None], ids=["known", "no row count", "none"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_restart_finds_what_was_paid(tmp_path, strategy, schema):
    rows = pd.DataFrame(X, columns=["dose", "age"])

    def begin():
        ledger = Ledger(tmp_path / "l.db", Budget(4.0, 1e-6))
        return make(strategy, rows, schema=schema, ledger=ledger, name="mine"), ledger

    explainer, ledger = begin()
    first = explainer.explain_slopes(ASKED)
    lines, paid = len(ledger.history()), explainer.receipt_
    for _ in range(2):
        again, ledger = begin()
        assert same(again.explain_slopes(ASKED), first)
        assert len(ledger.history()) == lines
        assert again.receipt_.epsilon == paid.epsilon
        assert again.receipt_.entry == paid.entry
        assert again.schema_ == explainer.schema_
        assert [one.steps for one in again.history()] == [one.steps for one in explainer.history()]


CHANGES = {
    "epsilon": {"epsilon": 2.0},
    "delta": {"delta": 1e-7},
    "strategy": {"strategy": "interactive"},
    "schema": {"schema": Schema({"dose": Number(0, 1.5), "age": Number(0, 1)}, rows=ROWS)},
    "weight": {"weight": "gaussian"},
    "radius": {"radius": 1.0},
    "intercept": {"intercept": False},
    "queries": {"queries": 7},
    "steps": {"steps": 13},
}


@pytest.mark.parametrize("strategy", ["summary", "release", "adaptive"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_explainer_under_the_same_name_is_refused(strategy, change):
    ledger = Ledger(Budget(8.0, 1e-5))
    first = make(strategy, ledger=ledger).explain_slopes(ASKED)
    lines = len(ledger.history())
    settings = {"strategy": strategy, "ledger": ledger, **change}
    free = {"weight", "radius", "intercept", "queries", "steps"}
    if strategy == "summary" and set(change) <= free:
        assert make(**settings).explain_slopes(ASKED)  # a summary serves any of these
    else:
        with pytest.raises(LedgerMismatch, match=next(iter(change))):
            make(**settings)
        other = make(**settings, name="another")
        assert not same_values(other.explain_slopes(ASKED), first) or strategy == "adaptive"
        return
    assert len(ledger.history()) == lines


def same_values(one, other):
    return np.array_equal(one.values, other.values)


def test_another_model_under_the_same_name_is_refused_where_answers_are_stored():
    def other(rows):
        return -model(rows)

    for strategy in READING:
        ledger = Ledger(Budget(4.0, 1e-6))
        make(strategy, ledger=ledger, shared_questions=True).explain_slopes(ASKED)
        lines = len(ledger.history())
        for later in (strategy, "offline"):
            with pytest.raises(LedgerMismatch, match="model"):
                make(later, of=other, ledger=ledger, shared_questions=True)
        assert len(ledger.history()) == lines
    # A summary has nothing of the model in it.
    ledger = Ledger(Budget(4.0, 1e-6))
    first = make(ledger=ledger).explain_slopes(ASKED)
    second = make(of=other, ledger=ledger).explain_slopes(ASKED)
    assert second.values == pytest.approx(-first.values, abs=1e-4)
    assert sum(str(entry.kind) in ("spend", "charge") for entry in ledger.history()) == 1


def test_two_names_pay_twice_from_one_ledger():
    ledger = Ledger(Budget(4.0, 1e-6))
    one = make("release", ledger=ledger, epsilon=1.0, name="one", shared_questions=True)
    two = make("release", ledger=ledger, epsilon=1.0, name="two", shared_questions=True)
    first, second = one.explain_slopes(ASKED), two.explain_slopes(ASKED)
    assert not same_values(first, second)
    assert one.receipt_.epsilon == pytest.approx(two.receipt_.epsilon)
    assert one.receipt_.epsilon <= 1.0
    assert len(one.history()) == len(two.history()) == 3
    third = make(ledger=ledger, epsilon=1.0, name="three")
    assert third.receipt_.epsilon <= 1.0
    with pytest.raises(BudgetExceeded):
        make(ledger=ledger, epsilon=4.0, name="four")


@pytest.mark.parametrize("name", ["", "x" * 151, None, 7])
def test_a_name_is_text(name):
    with pytest.raises(SettingError, match="name"):
        make(name=name)


# -- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", READING)
def test_when_the_budget_is_gone_answers_come_from_earlier_ones(strategy):
    explainer = make(strategy, queries=2, epsilon=1.0, steps=100, shared_questions=True)
    asked = np.array([[x, y] for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)])
    answered = []
    for point in asked:
        found = explainer.explain_slopes([point])
        answered += found.answered
        assert np.isfinite(found.values).all()
    assert answered[0] == strategy
    assert "offline" in answered
    assert explainer.receipt_.epsilon <= 1.0
    assert explainer.receipt_.has_guarantee
    # An offline answer stays what it was.
    last = explainer.explain_slopes([asked[-1]])
    assert np.array_equal(last.values, found.values)
    assert np.isinf(last.standard_errors).all() == (answered[-1] == "offline")


@pytest.mark.parametrize("strategy", READING)
def test_where_nothing_was_answered_and_nothing_is_left_nothing_is_made_up(strategy):
    ledger = Ledger(Budget(4.0, 1e-6))
    make(ledger=ledger, name="other")
    lines = len(ledger.history())
    explainer = make(strategy, ledger=ledger)
    with pytest.raises(BudgetExceeded, match="3 of 3 rows have no answer"):
        explainer.explain_slopes(ASKED)
    assert len(ledger.history()) == lines


@pytest.mark.parametrize("strategy", ["release", "interactive"])
def test_when_the_budget_is_gone_new_questions_are_refused_and_old_answers_stay(strategy):
    explainer = make(strategy, queries=2, epsilon=1.0)
    first = explainer.explain_slopes(ASKED[:1])
    with pytest.raises(BudgetExceeded, match="1 of 3 rows have no answer"):
        explainer.explain_slopes(ASKED)
    paid = explainer.receipt_.epsilon
    again = explainer.explain_slopes(ASKED[:2])
    assert again.answered == ("stored", "stored")
    assert same(again[0], first)
    assert explainer.receipt_.epsilon == paid <= 1.0
    with pytest.raises(BudgetExceeded, match="1 of 1 rows"):
        explainer.explain_slopes(ASKED[2:])


def test_a_summary_that_does_not_fit_is_refused_and_nothing_is_spent():
    ledger = Ledger(Budget(0.5, 1e-6))
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            make(ledger=ledger, epsilon=1.0)
        assert not ledger.history()


def test_after_a_refusal_a_smaller_price_may_be_offered_under_the_same_name():
    ledger = Ledger(Budget(0.5, 1e-6))
    with pytest.raises(BudgetExceeded):
        make(ledger=ledger, epsilon=1.0)
    assert make(ledger=ledger, epsilon=0.4).receipt_.epsilon <= 0.4


@pytest.mark.parametrize("strategy", ["summary", "release", "adaptive"])
def test_more_rows_per_unit_and_replacing_rows_need_more_noise(strategy):
    table = pd.DataFrame({"dose": X[:, 0], "age": X[:, 1], "who": np.arange(ROWS) // 4})
    plain = table[["dose", "age"]]
    # A release's noise flattens its solution, too: errors are in proportion where it is small.
    epsilon = 1000.0 if strategy == "release" else 1.0
    replacing = Ledger(Budget(epsilon, 1e-6), relation="replace_one")
    explainers = [
        make(strategy, plain, epsilon=epsilon),
        make(strategy, table, epsilon=epsilon, schema=KNOWN.with_unit(Unit("who", 4))),
        make(strategy, plain, epsilon=epsilon, ledger=replacing),
    ]
    errors = []
    for explainer in explainers:
        with fixed_noise(0):
            found = explainer.explain_slopes(ASKED[:1])
        assert 0 < explainer.receipt_.epsilon <= epsilon or not explainer.receipt_.has_guarantee
        if strategy == "summary":
            errors.append(explainer.summary_.errors["cells of columns"])
        else:
            errors.append(float(found.standard_errors.mean()))
    _, grouped, replaced = explainers
    assert "who" in grouped.receipt_.unit
    assert replaced.receipt_.relation == "replace_one"
    assert errors[1] == pytest.approx(4 * errors[0], rel=0.2)
    assert 1.4 * 0.9 * errors[0] < errors[2] < 2.0 * 1.1 * errors[0]


def test_offline_answers_come_from_an_earlier_explainer_and_read_no_row():
    with pytest.raises(SettingError, match="earlier explainer"):
        make("offline")
    for strategy in READING:
        ledger = Ledger(Budget(4.0, 1e-6))
        first = make(strategy, ledger=ledger, shared_questions=True)
        answered = first.explain_slopes(ASKED)
        lines, paid = len(ledger.history()), first.receipt_.epsilon
        offline = make("offline", ledger=ledger)
        assert same(offline.explain_slopes(ASKED), answered)  # stored answers
        new = offline.explain_slopes([[0.35, 0.35]])
        assert new.answered == ("offline",)
        assert np.isfinite(new.values).all()
        assert np.isinf(new.standard_errors).all()
        assert same(LocalSurrogate.from_json(new.to_json()), new)
        assert len(ledger.history()) == lines
        assert offline.receipt_.epsilon == paid
        # Its answers are stored, too, and it knows the settings that its answers depend on.
        assert same(make("offline", ledger=ledger).explain_slopes([[0.35, 0.35]]), new)
        with pytest.raises(LedgerMismatch, match="radius"):
            make("offline", ledger=ledger, radius=0.5)


# -- changing what is free to change ---------------------------------------------------------------


def test_other_models_weights_and_radii_are_free():
    ledger = Ledger(Budget(4.0, 1e-6))
    explainer = make(ledger=ledger)
    first, lines = explainer.explain_slopes(ASKED), len(ledger.history())

    def other(rows):
        return 0.4 * np.asarray(rows)[:, 1]

    swapped = explainer.with_model(other)
    found = swapped.explain_slopes(ASKED)
    assert found.values[:, 1, 0] == pytest.approx(0.4, abs=0.02)
    assert found.scores[:, 0] == pytest.approx(other(ASKED))
    assert (found.weight, found.radius) == (first.weight, first.radius)
    short = explainer.with_model(None, radius=0.1).explain_slopes(ASKED)
    assert np.linalg.norm(short.coefficients[..., 0], axis=1) == pytest.approx(0.1)
    assert np.array_equal(short.scores, first.scores)
    narrow = explainer.with_model(None, weight="gaussian", width=0.1).explain_slopes(ASKED)
    assert "Gaussian" in narrow.weight
    assert (narrow.effective_share < first.effective_share).all()
    bare = explainer.with_model(None, intercept=False).explain_slopes(ASKED)
    assert not bare.has_intercept
    assert (bare.intercepts == 0).all()
    # The first one is what it was, and nothing was paid.
    assert same(explainer.explain_slopes(ASKED), first)
    assert len(ledger.history()) == lines
    assert swapped.receipt_.epsilon == explainer.receipt_.epsilon
    for wrong in ({"epsilon": 2.0}, {"strategy": "release"}, {"output": 1}, {"random_state": 1}):
        with pytest.raises(SettingError, match="Nothing else can change"):
            explainer.with_model(None, **wrong)
    for strategy in READING:
        with pytest.raises(SettingError, match="no summary"):
            make(strategy).with_model(other)


@pytest.mark.parametrize("change", [{"width": 0.05}, {"c": 0.1}])
def test_the_width_of_the_weight_alone_can_change(change):
    explainer = make(weight="gaussian")
    first = explainer.explain_slopes(ASKED)
    found = explainer.with_model(None, **change).explain_slopes(ASKED)
    assert found.weight != first.weight
    assert not same_values(found, first)


def test_public_bounds_of_the_target_hold_for_another_model():
    fitted = LinearRegression().fit(X, X[:, 0])
    explainer = make(of=fitted, schema=KNOWN.with_target(Number(0, 1)))
    assert same(explainer.with_model(fitted).explain_slopes(ASKED), explainer.explain_slopes(ASKED))


def test_public_rows_stand_in_for_synthetic_ones():
    public = np.random.default_rng(5).uniform(0, 1, (900, 2))
    asked = []

    def of(rows):
        asked.append(np.array(rows))
        return model(rows)

    with fixed_noise(0):
        explainer = make(of=of, public=public, epsilon=20.0)
    assert np.array_equal(asked[-1], public)
    found = explainer.explain_slopes(ASKED)
    assert found.values[..., 0] == pytest.approx(exact(ASKED), abs=0.05)


# -- what the model is asked -----------------------------------------------------------------------


class Recorder:
    """A model that remembers what it was asked."""

    def __init__(self):
        self.numbers, self.texts = set(), set()

    def __call__(self, rows):
        numbers = rows.select_dtypes("number").to_numpy(dtype=np.float64)
        self.numbers.update(numbers.ravel().tolist())
        self.texts.update(rows["ward"].dropna().tolist())
        return np.tanh(np.nan_to_num(rows["dose"].to_numpy() / 10))


def unmistakable(rows=500):
    """Numbers that no grid has, and a level that no list has."""
    rng = np.random.default_rng(77)
    return pd.DataFrame(
        {
            "dose": rng.uniform(0.01, 9.99, rows),
            "age": rng.uniform(20, 80, rows),
            "ward": rng.choice(["a", "b", "the secret ward"], rows),
        }
    )


UNMISTAKABLE = Schema({"dose": Number(0, 10), "age": Number(0, 100), "ward": Category(["a", "b"])})


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("schema", [UNMISTAKABLE, None], ids=["known", "found"])
def test_a_summary_never_asks_the_model_about_a_private_row(epsilon, schema):
    """Doubles drawn from cells meet one of 1,000 private ones with a chance below 10^-9."""
    table, recorder = unmistakable(), Recorder()
    private = set(table[["dose", "age"]].to_numpy().ravel().tolist())
    asked = pd.DataFrame({"dose": [5.0], "age": [50.0], "ward": ["a"]})
    explainer = PrivateExplainer(recorder, table, schema=schema, epsilon=epsilon)
    explainer.explain_slopes(asked)
    explainer.quality(asked.iloc[[0, 0]], asked=2)
    other = Recorder()
    explainer.with_model(other).explain_slopes(asked)
    for one in (recorder, other):
        assert len(one.numbers) > 2_500
        assert not one.numbers & private
        if schema is not None:
            assert one.texts == {"a", "b"}


def test_the_recorder_notices_strategies_that_ask_about_private_rows():
    table, recorder = unmistakable(), Recorder()
    PrivateExplainer(recorder, table, schema=UNMISTAKABLE, strategy="release")
    assert set(table["dose"]) <= recorder.numbers
    assert "the secret ward" not in recorder.texts  # what is not listed is nowhere


def raising(rows, bad):
    raise ValueError(f"secret {rows[bad]}")


def leaving(rows, bad):
    raise SystemExit("secret")


def warning(rows, bad):
    warnings.warn("secret", stacklevel=1)


def answering(value):
    def answer(rows, bad):
        answers = list(model(rows))
        answers[int(np.flatnonzero(bad)[0])] = value
        return answers

    return answer


class Unreadable:
    def __array__(self, *_args, **_kwargs):
        raise RuntimeError("secret")

    __float__ = __len__ = __array__


FAILURES = {
    "error": raising,
    "exit": leaving,
    "warning": warning,
    "missing": answering(math.nan),
    "infinite": answering(math.inf),
    "too large": answering(7.0),
    "far too large": answering(10**400),
    "text": answering("secret"),
    "nothing": answering(None),
    "list": answering([1.0, 2.0]),
    "object": answering(Unreadable()),
    "unreadable": lambda rows, bad: Unreadable(),
    "too short": lambda rows, bad: model(rows)[1:],
    "too wide": lambda rows, bad: np.column_stack([model(rows), model(rows)]),
    "empty": lambda rows, bad: [],
}


@pytest.mark.parametrize("fail", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("strategy", ["release", "adaptive"])
def test_a_model_that_fails_on_a_private_row_harms_that_row_alone(strategy, fail, capfd):
    secret = {float(X[17, 0]), float(X[333, 0])}

    def failing(rows):
        bad = np.isin(rows[:, 0], list(secret))
        return fail(rows, bad) if bad.any() else model(rows)

    def silent(rows):
        return np.where(np.isin(rows[:, 0], list(secret)), 0.0, model(rows))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, wanted = (
            make(strategy, of=of, epsilon=math.inf).explain_slopes(ASKED)
            for of in (failing, silent)
        )
    assert same(found, wanted)
    assert not same_values(found, make(strategy, epsilon=math.inf).explain_slopes(ASKED))
    out, err = capfd.readouterr()
    assert "secret" not in out + err


def test_a_row_without_a_value_does_not_change_how_others_look_to_the_model():
    """Whole numbers become floats where one is missing or unlisted: for that row alone."""

    def by_text(rows):
        return np.where(rows["ward"].astype(str).isin(["1", "2"]), 0.5, -0.5)

    schema = Schema({"ward": Category([1, 2]), "dose": Number(0, 1)}, rows=ROWS)
    seen = []
    for odd in ((), (17,), (17, 40, 399)):
        # (Of 64 bits they are what the schema says, whatever the table has.)
        table = pd.DataFrame({"ward": (np.arange(ROWS) % 2 + 1).astype(np.int32), "dose": X[:, 0]})
        table.loc[list(odd), "ward"] = 7
        asked = []

        def of(rows, asked=asked):
            asked.append((len(rows), str(rows["ward"].dtype)))
            return by_text(rows)

        explainer = make("release", table, of=of, schema=schema, epsilon=math.inf)
        explainer.explain_slopes(table.iloc[:1])
        (count,) = (n for n, kind in asked if n > 100 and kind == "int32")
        assert count == ROWS - len(odd)
        # Without noise, the mean score of the rows near a row, which all but a few say is 0.5.
        seen.append(explainer.explain_slopes(table.iloc[:1]).intercepts[0, 0])
    assert seen[0] == pytest.approx(0.5, abs=1e-3)
    assert seen[2] > 0.4


def test_labels_that_cannot_be_read_harm_their_row_alone():
    class Labels:
        classes_ = ("no", "yes")

        def __init__(self, odd):
            self.odd = odd

        def predict(self, rows):
            labels = [("no", "yes")[int(one > 0.5)] for one in rows[:, 0]]
            for i in np.flatnonzero(rows[:, 0] == X[17, 0]):
                labels[i] = self.odd
            return labels

    for odd in (["yes", "no"], None, 3):
        found = make("release", of=Labels(odd), epsilon=math.inf).explain_slopes(ASKED)
        assert np.isfinite(found.values).all()


def test_the_model_may_do_with_rows_what_it_likes():
    def spoils(rows):
        answers = model(rows)
        rows[:] = 0.0
        return answers

    mine = X.copy()
    asked = ASKED.copy()
    found = make("release", mine, of=spoils, epsilon=math.inf).explain_slopes(asked)
    assert np.array_equal(mine, X)
    assert np.array_equal(asked, ASKED)
    assert same(found, make("release", epsilon=math.inf).explain_slopes(ASKED))


def test_a_model_that_fails_anyway_is_said_before_anything_is_spent():
    for strategy in STRATEGIES:
        ledger = Ledger(Budget(4.0, 1e-6))
        with pytest.raises(SettingError, match="failed on rows like those"):
            make(strategy, of=lambda rows: 1 / 0, ledger=ledger)
        assert not ledger.history()
        assert make(strategy, ledger=ledger).explain_slopes(ASKED)  # and the name is still free


# -- quality ---------------------------------------------------------------------------------------


def test_quality_on_public_rows():
    public = np.random.default_rng(8).uniform(0, 1, (500, 2))
    with fixed_noise(0):
        good = make(epsilon=20.0).quality(public, asked=40)
        poor = make("interactive", epsilon=0.1, queries=40).quality(public, asked=40)
    assert good.overall.rows == 40
    assert good.public_rows == 500
    assert -1e-9 < good.overall.loss < 1e-4 < poor.overall.loss
    assert good.overall.agreement > 0.95 > poor.overall.agreement
    assert good.overall.shared == 2.0
    explicit = make(epsilon=20.0).quality(public, asked=ASKED)
    assert explicit.overall.rows == 3
    data = json.loads(good.to_json())
    assert data["overall"]["rows"] == 40
    assert "utility loss" in str(good)
    assert len(good.to_frame()) == 1
    with pytest.raises(DataError, match="two public rows"):
        make().quality(public[:1])


def test_quality_by_group():
    public = np.random.default_rng(8).uniform(0, 1, (500, 2))
    explainer = make(epsilon=20.0)
    found = explainer.quality_by("age", public, asked=60)
    assert [one.group for one in found.groups] == ["age < 0.5", "age >= 0.5"]
    assert sum(one.rows for one in found.groups) == found.overall.rows == 60
    assert found.by == "age"
    assert found.worst.loss == max(one.loss for one in found.groups)
    own = explainer.quality_by(["old" if one > 0.9 else "young" for one in public[:, 1]], public)
    assert [one.group for one in own.groups] == ["old", "young"]
    assert all(0 < one.effective_share < 0.4 for one in own.groups)
    with pytest.raises(DataError, match="no column 'sex'"):
        explainer.quality_by("sex", public)
    with pytest.raises(DataError, match="groups"):
        explainer.quality_by(["old"], public)


def test_quality_of_questions_that_cost_is_paid_for():
    public = np.random.default_rng(8).uniform(0, 1, (100, 2))
    explainer = make("release", queries=50, shared_questions=True)
    assert explainer.receipt_.epsilon == 0.0
    explainer.quality(public, asked=10)
    assert 0.0 < explainer.receipt_.epsilon <= 4.0
    assert len(explainer.history()) == 10


# -- standard errors -------------------------------------------------------------------------------


def curved(rows):
    """Not linear, so that what is known of the rows matters."""
    rows = np.asarray(rows)
    return np.tanh(4 * (rows[:, 0] - 0.5)) * (rows[:, 1] - 0.3)


def spread_over_fits(strategy, fits, **changes):
    """Stated standard errors, and the real spread over repeated noise, (rows, features)."""
    rng = np.random.default_rng(3)
    first = rng.uniform(0, 1, 1000)
    rows = np.column_stack([first, np.clip(first + rng.normal(0, 0.3, 1000), 0, 1)])
    values, stated = [], []
    for seed in range(fits):
        with fixed_noise(seed):
            schema = Schema({"dose": Number(0, 1), "age": Number(0, 1)}, rows=1000)
            explainer = make(strategy, rows, of=curved, schema=schema, radius=20.0, **changes)
            found = explainer.explain_slopes(ASKED)
        values.append(found.values[..., 0])
        stated.append(found.standard_errors[..., 0])
    return np.sqrt(np.mean(np.square(stated), axis=0)), np.std(values, axis=0, ddof=1)


@pytest.mark.slow
def test_standard_errors_of_a_summary_are_about_the_real_spread():
    stated, real = spread_over_fits("summary", 20, epsilon=1.0)
    ratio = float(np.exp(np.log(stated / real).mean()))
    assert 0.5 < ratio < 2.0, stated / real


@pytest.mark.slow
def test_standard_errors_of_a_summary_of_more_columns_are_about_the_real_spread():
    rng = np.random.default_rng(1)
    rows = rng.uniform(0, 1, (1500, 6))
    rows[:, 1] = np.clip(rows[:, 0] + rng.normal(0, 0.2, 1500), 0, 1)
    rows[:, 3] = np.clip(rows[:, 2] * rows[:, 0] + rng.normal(0, 0.1, 1500), 0, 1)
    schema = Schema({f"x{i}": Number(0, 1) for i in range(6)})

    def of(asked):
        bent = 3 * (asked[:, 0] - 0.5) * (asked[:, 3] - 0.3)
        return np.tanh(bent + asked[:, 1] * asked[:, 4] - 0.4)

    values, stated = [], []
    for seed in range(10):
        with fixed_noise(seed):
            found = PrivateExplainer(of, rows, schema=schema).explain_slopes(rows[:4])
        values.append(found.values[..., 0])
        stated.append(found.standard_errors[..., 0])
    real = np.std(values, axis=0, ddof=1)
    ratio = np.sqrt(np.mean(np.square(stated), axis=0)) / real
    assert 0.5 < float(np.exp(np.log(ratio).mean())) < 2.0, ratio


def test_standard_errors_of_a_release_are_the_real_spread():
    stated, real = spread_over_fits("release", 200, epsilon=20.0, queries=3)
    ratio = float(np.exp(np.log(stated / real).mean()))
    assert 0.75 < ratio < 1.25, stated / real


def test_without_noise_there_are_no_errors_by_noise():
    assert (make(epsilon=math.inf).explain_slopes(ASKED).standard_errors == 0).all()


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "best"},
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"delta": 2.0},
        {"queries": 0},
        {"queries": 2.5},
        {"steps": 1},
        {"parts": 0, "strategy": "release"},
        {"radius": 0.0},
        {"radius": 51.0},
        {"radius": math.nan},
        {"weight": "far"},
        {"weight": lambda r: np.ones_like(r)},
        {"weight": lambda r: 1 / 0},
        {"width": -1.0, "weight": "gaussian"},
        {"c": 0.0},
        {"random_state": -1},
        {"random_state": None},
        {"output": 5},
        {"scores": "logits"},
        {"output_range": (1, 0)},
        {"image_shape": (7, 7)},
        {"texts_to_model": True},
        {"vocabulary": ["a"]},
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_spent(wrong):
    ledger = Ledger(Budget(4.0, 1e-6))
    with pytest.raises((SettingError, DataError, SchemaError)):
        make(**{"ledger": ledger, **wrong})
    assert not ledger.history()


def test_a_weight_of_ones_own_under_the_envelope():
    found = make(weight=lambda r: 0.2 * np.exp(-r), c=4.0).explain_slopes(ASKED)
    assert "own function" in found.weight
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize("random_state", [0, 5])
def test_public_chance_is_repeatable(random_state):
    ledger = Ledger(Budget(4.0, 1e-6))
    with fixed_noise(6):
        first = make(ledger=ledger, of=curved).explain_slopes(ASKED)
    again = make(ledger=ledger, of=curved, random_state=random_state).explain_slopes(ASKED)
    assert same_values(first, again) == (random_state == 0)
    assert again.values == pytest.approx(first.values, abs=0.05)
