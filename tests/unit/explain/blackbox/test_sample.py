"""Synthetic rows for anyone: their form, their distribution, their note."""

import numpy as np
import pandas as pd
import pytest

from voile import Category, Number, PrivateExplainer, Schema
from voile.errors import SettingError
from voile.explain.blackbox.synthetic.sampling import NOTE
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

SCHEMA = Schema(
    {
        "age": Number(18, 90, whole=True, missing=False),
        "pay": Number(0, 100),
        "ward": Category(["A", "B", "C"]),
    }
)


def people(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    ward = rng.choice(["A", "B", "C"], count, p=[0.6, 0.3, 0.1])
    pay = np.where(ward == "C", 80.0, 30.0) + rng.normal(0, 8, count)
    pay[rng.random(count) < 0.2] = np.nan
    age = rng.integers(18, 91, count)
    return pd.DataFrame({"age": age, "pay": pay.clip(0, 100), "ward": ward})


def nothing(rows):
    return np.zeros(len(rows))


@pytest.fixture(scope="module")
def paid():
    with fixed_noise(3):
        return PrivateExplainer(nothing, people(), schema=SCHEMA, epsilon=3)


@pytest.fixture
def explainer(paid):
    """The same for all tests: nothing about it changes."""
    return paid


def test_rows_have_the_form_of_the_table_and_what_was_measured(explainer):
    table, true = explainer.sample(4000), people()
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["age", "pay", "ward"]
    assert table["age"].dtype == np.int64
    assert len(table) == 4000
    assert table["age"].between(18, 90).all()
    assert set(table["ward"]) <= {"A", "B", "C"}
    assert table["pay"].isna().mean() == pytest.approx(0.2, abs=0.04)
    for level in "ABC":
        own = (table["ward"] == level).mean()
        assert own == pytest.approx((true["ward"] == level).mean(), abs=0.03)
    # A pair of columns: those of ward C are paid more.
    assert table["pay"][table["ward"] == "C"].median() > 65
    assert table["pay"][table["ward"] == "A"].median() < 45


def test_a_frame_says_what_it_is_good_for_and_what_guarantees_it(explainer):
    attributes = explainer.sample(5).attrs
    assert attributes["note"] == NOTE
    assert attributes["guarantee"] == explainer.receipt_.guarantee
    for word in ("Synthetic", "Good for", "Not good for", "rare groups"):
        assert word in NOTE


def test_the_same_seed_gives_the_same_rows_and_another_others(explainer):
    first = explainer.sample(50)
    pd.testing.assert_frame_equal(first, explainer.sample(50))
    assert not first.equals(explainer.sample(50, random_state=1))


def test_rows_differ_within_cells_even_where_one_weighs_much(explainer):
    table = explainer.sample(6000)  # three times as many as were drawn
    assert table["pay"].nunique() > 4000


def test_it_is_free_and_asks_no_model(explainer):
    before = explainer.receipt_.to_dict()
    asked = []
    other = explainer.with_model(lambda rows: asked.append(len(rows)) or np.zeros(len(rows)))
    asked.clear()
    other.sample(10)
    assert asked == []
    assert explainer.receipt_.to_dict() == before


@pytest.mark.parametrize(
    ("n", "random_state"),
    [(0, 0), (-1, 0), (2.0, 0), ("5", 0), (True, 0), (10**7, 0), (5, -1), (5, None), (5, 2**32)],
)
def test_odd_counts_are_refused_in_one_line(explainer, n, random_state):
    with pytest.raises(SettingError) as told:
        explainer.sample(n, random_state=random_state)
    assert "\n" not in str(told.value)


def test_numpy_counts_and_arrays():
    rows = np.random.default_rng(0).uniform(0, 1, (400, 2))
    schema = Schema({"a": Number(0, 1), "b": Number(0, 1)})
    explainer = PrivateExplainer(nothing, rows, schema=schema)
    sample = explainer.sample(np.int64(7), random_state=np.int64(2))
    assert isinstance(sample, np.ndarray)
    assert sample.shape == (7, 2)
    listed = PrivateExplainer(nothing, rows.tolist(), schema=schema)
    assert isinstance(listed.sample(3), list)


def test_public_rows_that_stand_in_are_never_handed_out():
    with fixed_noise(3):
        explainer = PrivateExplainer(
            nothing, people(), schema=SCHEMA, epsilon=3, public=people(500, 8)
        )
    public = set(people(500, 8)["pay"].dropna())
    assert not public & set(explainer.sample(500)["pay"].dropna())
