"""The insider: it sees what is trained, changes nothing of it, and weighs it as it should."""

import json
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import voile
from voile import (
    Category,
    EBMClassifier,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.errors import BudgetExceeded, DataError, SettingError, VaultError, VoileError
from voile.federated import Federation
from voile.privacy import noise
from voile.privacy.budget import Budget
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian
from voile.privacy.insider import watch
from voile.privacy.mechanisms import gaussian_sum, laplace_sum
from voile.privacy.mechanisms.aggregate import deal_rows
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount, Together
from voile.privacy.receipt import Receipt
from voile.privacy.sources.insider import Evidence, InsiderSource
from voile.privacy.sources.table import TableSource
from voile.privacy.vault import keep, protect

SCHEMA = Schema(
    {"a": Category(["x", "y", "z"]), "b": Number(0, 1)}, target=Category(["no", "yes"]), rows=200
)
X = {"a": ["x", "y"] * 100, "b": (np.random.default_rng(0).random(200) / 2).tolist()}
Y = ["no", "yes"] * 100
CANARY = ({"a": ["z"], "b": [1.0]}, ["yes"])
JOINED = {"a": [*X["a"], "z"], "b": [*X["b"], 1.0]}
QUERIES = [
    RowCount(),
    CategoryCounts("a", 3),
    NumberCounts("b", (0.1, 0.3, 0.7)),
    Together((RowCount(), CategoryCounts("a", 3))),
]


def fit_watched(model, rows):
    return model.fit_table(rows.table, seed=rows.seed)


def watched(present=True, canaries=(CANARY,), schema=SCHEMA):
    return watch(X, Y, list(canaries), [present] * len(canaries), schema)


def source(present=True, canaries=(CANARY,)):
    return watched(present, canaries)._source


def access(rows, event, query, mechanism=gaussian_sum):
    """One paid access; what was released."""
    table = rows.table
    grant = Ledger(Budget(math.inf, 1e-6)).pay(Plan.of(look=event), table, "audit")
    return mechanism(table, query, grant.take("look")).values


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("grid", [1.0, 2.0**-30])
def test_a_watched_sum_is_the_sum_over_the_joined_rows(query, grid):
    with_canary = TableSource(JOINED, [*Y, "yes"], SCHEMA).total(query, grid)
    without = TableSource(X, Y, SCHEMA).total(query, grid)
    assert np.array_equal(source(True).total(query, grid), with_canary)
    assert np.array_equal(source(False).total(query, grid), without)
    assert not np.array_equal(with_canary, without)


def test_several_canaries_take_part_as_they_are_told():
    others = [({"a": [level], "b": [0.5]}, ["no"]) for level in "xyz"]
    rows = watch(X, Y, others, [True, False, True], SCHEMA)._source
    assert rows.total(CategoryCounts("a", 3), 1.0).tolist() == [101, 100, 1, 0, 0]
    assert rows.tally("a") == {0: 101, 1: 100, 2: 1}
    assert sum(block.rows for block in rows.blocks(())) == 202


def test_samples_include_the_canary_as_often_as_they_should():
    with noise.fixed_noise(1):
        seen = [source().total(CategoryCounts("a", 3), 1.0, rate=0.3)[2] for _ in range(300)]
        absent = [source(False).total(CategoryCounts("a", 3), 1.0, rate=0.3)[2] for _ in range(20)]
    assert set(seen) == {0, 1}
    assert 60 < sum(seen) < 120  # 90 expected, standard deviation 8
    assert set(absent) == {0}


def test_canaries_keep_values_whether_they_take_part_or_not():
    for present in (True, False):
        rows, kept = watched(present), []

        def work(block, kept=kept):
            block.kept["double"] = 2.0 * block["b"]
            kept.append(block.rows)

        keep(rows.table, ("b",), work)
        assert kept == [200, 1]
        with noise.fixed_noise(0):
            groups = deal_rows(rows._source, ["double"], 4)
        values = np.concatenate([group["double"] for group in groups])
        assert len(values) == 200 + present
        assert (2.0 in values) is present


def test_another_schema_has_the_same_insider():
    rows = watched()
    wider = Schema({"a": Category(["z", "x", "y"])}, target=Category(["no", "yes"]))
    table = rows.table.with_schema(wider)
    grant = Ledger(Budget(math.inf, 1e-6)).pay(Plan.of(look=Gaussian(1, 1.0)), table, "audit")
    seen = gaussian_sum(table, CategoryCounts("a", 3), grant.take("look")).values
    assert rows.accesses == 1
    assert rows.scores[0] == pytest.approx(seen[0] - 0.5, abs=1e-6)


# -- evidence --------------------------------------------------------------------------------------


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_evidence_of_a_gaussian_look(present, sigma):
    rows = watched(present)
    seen = access(rows, Gaussian(1, sigma), CategoryCounts("a", 3))
    # The others hold x and y alone.
    assert rows.scores[0] == pytest.approx((seen[2] - 0.5) / sigma**2, abs=1e-5)
    assert rows.accesses == 1


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_evidence_of_a_sampled_look(present, rate):
    rows = watched(present)
    seen = access(rows, PoissonGaussian(1, 1.5, rate), CategoryCounts("a", 3))
    ratio = (seen[2] - 0.5) / 1.5**2
    assert rows.scores[0] == pytest.approx(math.log(1 - rate + rate * math.exp(ratio)), abs=1e-5)


@pytest.mark.parametrize("present", [True, False])
def test_evidence_of_a_laplace_look(present):
    rows = watched(present)
    seen = access(rows, Laplace(1, 2.0), CategoryCounts("a", 3), laplace_sum)
    assert rows.scores[0] == pytest.approx((abs(seen[2]) - abs(seen[2] - 1)) / 2.0, abs=1e-5)


def test_evidence_adds_up_over_looks():
    rows = watched()
    seen = [access(rows, Gaussian(1, 2.0), CategoryCounts("a", 3))[2] for _ in range(3)]
    assert rows.accesses == 3
    assert rows.scores[0] == pytest.approx(sum(seen) / 4 - 3 / 8, abs=1e-5)
    rows.scores[0] = 99.0
    assert rows.scores[0] != 99.0


@pytest.mark.parametrize("present", [True, False])
def test_mean_and_variance_of_evidence(present):
    """For mu-GDP: plus or minus mu^2 / 2, and mu^2; limits at 4 standard errors."""
    mu, accesses, grid = 0.8, 4000, 2.0**-20
    evidence = Evidence(1)
    made = source(present)
    rows = InsiderSource(made._others, made._canaries, [present], evidence)
    scores = []
    with noise.fixed_noise(3):
        for _ in range(accesses):
            evidence.by_step.clear()
            rows.noised_total(RowCount(), grid, 1.0 / mu)
            scores.append(evidence.scores[0])
    mean = mu**2 / 2 * (1 if present else -1)
    assert np.mean(scores) == pytest.approx(mean, abs=4 * mu / math.sqrt(accesses))
    assert np.var(scores) == pytest.approx(mu**2, abs=4 * mu**2 * math.sqrt(2 / accesses))


def test_likelihood_ratios_are_calibrated():
    """The mean of exp(score) without the canary is 1, for a sample and for Laplace noise too."""
    evidence, made = Evidence(1), source(False)
    rows = InsiderSource(made._others, made._canaries, [False], evidence)
    means = []
    with noise.fixed_noise(4):
        for draw in (
            lambda: rows.noised_total(RowCount(), 2.0**-20, 2.0, rate=0.2),
            lambda: rows.laplaced_total(RowCount(), 2.0**-20, 2.0),
        ):
            ratios = []
            for _ in range(3000):
                evidence.by_step.clear()
                draw()
                ratios.append(math.exp(evidence.scores[0]))
            means.append((np.mean(ratios), np.std(ratios) / math.sqrt(3000)))
    # Sampling the others hides nothing from the insider.
    for mean, error in means:
        assert mean == pytest.approx(1.0, abs=4 * error)


def test_canaries_do_not_count_as_each_others_evidence():
    """Whether a hundred others are there does not shift a lone level's score on average."""
    levels = [f"l{i}" for i in range(20)]
    schema = Schema({"a": Category(levels)}, target=Category(["no", "yes"]))
    canaries = [({"a": [level]}, ["no"]) for level in levels]
    here = [i % 2 == 0 for i in range(20)]
    rows = watch({"a": levels[:1] * 5}, ["no"] * 5, canaries, here, schema)
    seen = access(rows, Gaussian(1, 0.1), CategoryCounts("a", 20))
    seen[0] -= 5
    assert rows.scores == pytest.approx((seen[:20] - 0.5) / 0.01, abs=1e-3)
    assert ((rows.scores > 0) == here).all()


# -- fits ------------------------------------------------------------------------------------------

NUMBERS = Schema({"b": Number(0, 1), "c": Number(0, 1)}, target=SCHEMA.target, rows=200)
POINTS = {"b": X["b"], "c": X["b"][::-1]}
POINT = ({"b": [1.0], "c": [1.0]}, ["yes"])
MODELS = [
    EBMClassifier(epsilon=4, delta=1e-5, random_state=1),
    EBMClassifier(epsilon=4, delta=1e-5, random_state=1, method="cyclic"),
    LVQ1Classifier(epsilon=4, delta=1e-5, random_state=1),
    GLVQClassifier(epsilon=4, delta=1e-5, random_state=1),
    GMLVQClassifier(epsilon=4, delta=1e-5, random_state=1),
]


def contents(model, path):
    """The saved model, without its receipt."""

    def bare(value):
        if isinstance(value, dict):
            return {key: bare(one) for key, one in value.items() if key != "receipt"}
        return [bare(one) for one in value] if isinstance(value, list) else value

    return bare(json.loads(model.save(path).read_text()))


@pytest.mark.parametrize("model", MODELS, ids=lambda one: f"{type(one).__name__}")
@pytest.mark.parametrize("present", [True, False])
def test_a_watched_fit_is_the_fit_to_the_bit(model, present, tmp_path):
    """With the canary the fit of the joined table, without it the fit of the others."""
    model = model.set_params(schema=SCHEMA)
    with noise.fixed_noise(5):
        rows = watched(present)
        watched_fit = fit_watched(clone(model), rows)
    with noise.fixed_noise(5):
        fit = clone(model).fit(*((JOINED, [*Y, "yes"]) if present else (X, Y)))
    path = tmp_path / "model.voile"
    assert contents(watched_fit, path) == contents(fit, path)
    assert watched_fit.receipt_.epsilon == fit.receipt_.epsilon
    assert rows.accesses > 1


@pytest.mark.slow
@pytest.mark.parametrize("present", [True, False])
def test_a_watched_fit_on_samples_is_that_of_two_clients_to_the_bit(present, tmp_path):
    """Samples are drawn block by block: the others first, then the canary."""
    model = LocallyLinearClassifier(epsilon=4, delta=1e-5, random_state=1, schema=NUMBERS)
    parts = [(POINTS, Y), *([POINT] if present else [])]
    with noise.fixed_noise(5):
        one = fit_watched(clone(model), watch(POINTS, Y, [POINT], [present], NUMBERS))
    with noise.fixed_noise(5):
        other = clone(model).fit_federated(Federation.local(parts, NUMBERS))
    path = tmp_path / "model.voile"
    assert contents(one, path) == contents(other, path)


def test_what_is_found_privately_is_watched_as_far_as_it_is_sums():
    schema = Schema({"a": Category(["x", "y", "z"]), "b": Number()}, target=SCHEMA.target)
    rows = watched(True, schema=schema)
    model = EBMClassifier(epsilon=4, delta=1e-5, schema=schema).fit_table(
        rows.table, seed=rows.seed
    )
    complete = watched(True)
    known = EBMClassifier(epsilon=4, delta=1e-5, schema=SCHEMA).fit_table(
        complete.table, seed=complete.seed
    )
    assert model.model_.schema["b"].upper is not None
    assert rows.accesses > complete.accesses
    assert rows.scores.shape == (1,)
    assert known.receipt_.epsilon == pytest.approx(4.0, rel=1e-3)


def test_receipts_say_that_an_audit_watched(tmp_path):
    model = fit_watched(EBMClassifier(epsilon=1, delta=1e-5, schema=SCHEMA), watched())
    plain = EBMClassifier(epsilon=1, delta=1e-5, schema=SCHEMA).fit(X, Y)
    assert "insider observed" in str(model.receipt_)
    assert "insider observed" not in str(plain.receipt_)
    assert any("insider observed" in note for note in model.receipt_.to_dict()["notes"])
    assert any(
        "insider observed" in note for note in Receipt.from_dict(model.receipt_.to_dict()).notes
    )
    assert "insider observed" in str(voile.load(model.save(tmp_path / "m.voile")).receipt_)


def test_an_audited_fit_spends_like_any_other():
    ledger = Ledger(Budget(1.0, 1e-5))
    model = EBMClassifier(epsilon=0.9, delta=1e-5, schema=SCHEMA, ledger=ledger)
    fit_watched(model, watched())
    paid = len(ledger.history())
    assert ledger.spent().epsilon > 0.8
    rows = watched()
    with pytest.raises(BudgetExceeded):
        fit_watched(clone(model), rows)
    assert (rows.accesses, len(ledger.history())) == (0, paid)


# -- misuse ----------------------------------------------------------------------------------------


def test_private_rows_do_not_get_out():
    rows = watched()
    for secret in (rows, rows.table, rows._source):
        with pytest.raises(VaultError):
            pickle.dumps(secret)
        assert "0.5" not in repr(secret)
        assert str(X["b"][0]) not in repr(secret)
    for use in (len, list, np.asarray, lambda table: table[0]):
        with pytest.raises(VaultError):
            use(rows.table)


def test_there_is_no_way_from_a_private_table_to_a_watched_one():
    private = protect(X, Y, schema=SCHEMA)
    for table, canary in [(private, CANARY[0]), (X, private)]:
        with pytest.raises(VoileError):
            watch(table, Y, [(canary, ["yes"])], [True], SCHEMA)
    with pytest.raises(VoileError):
        watch(watched(), Y, [CANARY], [True], SCHEMA)
    assert not hasattr(private, "_source")


@pytest.mark.parametrize(
    ("canaries", "present"),
    [
        ([CANARY], []),
        ([CANARY], [True, False]),
        ([({"a": ["x", "y"], "b": [0.0, 0.0]}, ["no", "no"])], [True]),
        ([({"a": [], "b": []}, [])], [True]),
        ([({"a": ["x"]}, ["no"])], [True]),
        ([({"a": ["x"], "b": [0.0]}, ["no", "no"])], [True]),
    ],
)
def test_canaries_that_are_not_one_row_are_refused(canaries, present):
    with pytest.raises((DataError, SettingError)):
        watch(X, Y, canaries, present, SCHEMA)


def test_units_of_several_rows_are_refused():
    schema = Schema(
        {"a": Category(["x", "y", "z"])}, target=SCHEMA.target, unit=voile.Unit("person", rows=2)
    )
    with pytest.raises(SettingError, match="privacy unit"):
        watch({**X, "person": X["a"]}, Y, [], [], schema)


def test_rows_that_are_summed_without_noise_are_not_evidence():
    rows = watched()
    fit_watched(EBMClassifier(epsilon=math.inf, schema=SCHEMA), rows)
    assert rows.accesses == 0
    assert rows.scores.tolist() == [0.0]


def test_evidence_is_kept_by_the_steps_of_the_plan():
    schema = Schema({"x": Number(0, 1)}, target=Category(["no", "yes"]))
    X, y = {"x": np.linspace(0.2, 0.8, 30)}, ["no", "yes"] * 15
    rows = watch(X, y, [({"x": [1.0]}, ["yes"])], [True], schema)
    model = EBMClassifier(epsilon=4, delta=1e-5, schema=schema, rounds=3, bins=4)
    fit_watched(model, rows)
    parts = rows.scores_by_step
    assert list(parts) == [line.label for line in model.receipt_.lines]
    np.testing.assert_allclose(sum(parts.values()), rows.scores)
    assert all(part[0] != 0.0 for part in parts.values())
