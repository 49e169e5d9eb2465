"""Pages stay small enough to be sent by mail, and explanations small enough for a notebook."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import test_audit_pages
import test_heat_map_pages
from explained_models import (
    CENSUS_ROWS,
    category_term,
    census_model,
    classes_model,
    make_model,
    number_term,
)
from linear_map_models import (
    picture_linear_maps,
    picture_rows,
    ward_model,
    wide_linear_maps,
    wide_rows,
)
from paired_models import make_pair, number_side
from prototype_models import picture_model, tumour_model, wide_model
from surrogate_records import census_surrogate, picture_surrogate
from test_model_report import fitted, text_of
from test_plots import evaluation, plan, summary

from voile.explaining import explain_global, explain_local
from voile.report.kit.page import MOST_FRAMED
from voile.report.kit.room import draw_some, limited
from voile.report.model.report import draw_report
from voile.schema import Category

PAGE, NOTEBOOK = 700_000, 150_000


def many_columns(numbers, categories=0, bins=32, classes=3):
    """A model of numbers with as many bins as there are by default, and of categories."""
    rng = np.random.default_rng(0)
    terms = [
        number_term(
            f"measurement number {j}",
            np.sort(rng.uniform(0, 1000, bins - 1)),
            0,
            1000,
            lambda x, j=j: np.sin(x / 200 + j),
            rows=rng.integers(50, 5000, bins),
            outputs=classes,
        )
        for j in range(numbers)
    ]
    for j in range(categories):
        levels = [f"level {i} of column {j}" for i in range(12)]
        scores = rng.normal(size=(len(levels), classes))
        terms.append(category_term(f"category {j}", levels, scores, rng.integers(9, 999, 12)))
    names = ["no", "within 30 days", "later than 30 days"][:classes]
    return make_model(terms, Category(names), "softmax")


def with_pairs(model, count):
    """The same with pairs of its first numbers, each with as many cells as there may be."""
    sides = []
    for term in model.terms[:count]:
        cuts = np.quantile(term.edges, np.arange(1, 12) / 12)
        sides.append(number_side(term, cuts))
    pairs = [
        make_pair(one, other, model.outputs, rows=150, size=0.7, error=0.2, seed=i)
        for i, (one, other) in enumerate(itertools.pairwise(sides))
    ]
    return replace(model, pairs=tuple(pairs))


def size(page):
    return len(page.encode("utf-8"))


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(many_columns(44), id="44 numbers, 3 classes"),
        pytest.param(many_columns(8, 36), id="8 numbers, 36 categories, 3 classes"),
        pytest.param(with_pairs(many_columns(12), 12), id="12 numbers, 11 pairs, 3 classes"),
        pytest.param(with_pairs(many_columns(44), 20), id="44 numbers, 19 pairs, 3 classes"),
        pytest.param(wide_model(), id="prototypes of 60 features"),
        pytest.param(wide_linear_maps(), id="linear maps of 60 features"),
        pytest.param(picture_model(28, 28, classes=10), id="prototypes of pictures"),
        pytest.param(picture_linear_maps((28, 28), classes=10), id="linear maps of pictures"),
        pytest.param(picture_linear_maps((28, 28, 3), classes=10), id="linear maps of colours"),
    ],
)
@pytest.mark.slow
def test_reports_of_large_models_stay_small(model):
    assert size(draw_report(fitted(model))) <= PAGE


def heat_maps(rows=60, side=224):
    rng = np.random.default_rng(0)
    return test_heat_map_pages.make_record(
        rows,
        maps=np.abs(rng.normal(size=(rows, side, side))),
        pictures=rng.integers(0, 256, (rows, side, side)),
        targets=np.zeros(rows, dtype=np.int64),
        probabilities=np.tile([0.734, 0.2, 0.066], (rows, 1)),
    )


RECORDS = {
    "census": lambda: explain_global(census_model()),
    "classes": lambda: explain_global(classes_model()),
    "pairs": lambda: explain_global(with_pairs(many_columns(8, classes=1), 5)),
    "15 columns": lambda: explain_global(many_columns(10, 5)),
    "20 rows": lambda: explain_local(census_model(), {k: (v * 5) for k, v in CENSUS_ROWS.items()}),
    "prototypes": lambda: explain_global(tumour_model()),
    "wide prototypes": lambda: explain_global(wide_model()),
    "linear maps": lambda: explain_global(ward_model()),
    "rows of linear maps": lambda: explain_local(wide_linear_maps(), wide_rows(rows=20)),
    "pictures of linear maps": lambda: explain_global(picture_linear_maps((28, 28), classes=10)),
    "rows of pictures": lambda: explain_local(
        picture_linear_maps((12, 12)), picture_rows(picture_linear_maps((12, 12)), 20)
    ),
    "black box": lambda: census_surrogate(20),
    "black box of pictures": lambda: picture_surrogate((28, 28), 20),
    "heat maps": lambda: heat_maps(12),
    "summary": summary,
    "forecast": plan,
    "evaluation": evaluation,
    "audit": lambda: test_audit_pages.MANY,
    "members": lambda: test_audit_pages.OVER,
}


QUICK = {"classes", "prototypes", "linear maps", "summary", "forecast", "evaluation", "members"}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in RECORDS]
)
def test_explanations_fit_pages_and_notebooks(name, tmp_path):
    record = RECORDS[name]()
    assert size(record.to_html(tmp_path / "a.html").read_text(encoding="utf-8")) <= PAGE
    assert size(record._repr_html_()) <= NOTEBOOK == MOST_FRAMED


@pytest.mark.slow
def test_what_a_notebook_leaves_out_is_said():
    whole = explain_global(many_columns(15))
    framed = text_of(whole._repr_html_().replace("&lt;", "<").replace("&amp;", "&"))
    names = [term.name for term in whole.ranked]
    shown = [name for name in names if f"Numbers of {name}" in framed]
    assert names[: len(shown)] == shown
    left = len(names) - len(shown)
    assert left > 0
    assert f"Left out here, for this page would be too large: {left} less important terms" in framed
    assert 'to_html("page.html") writes a page with more' in framed
    whole_page = explain_global(census_model())._repr_html_()
    assert "Left out" not in whole_page


@pytest.mark.slow
def test_rows_that_are_left_out_are_counted():
    rows = {name: values * 5 for name, values in CENSUS_ROWS.items()}
    framed = explain_local(census_model(), rows)._repr_html_()
    found = framed.count("&lt;h2>Row ")
    assert 1 <= found < 20
    assert f"The first {found} of 20 rows" in framed


def test_one_piece_at_least_is_drawn_whatever_the_room():
    with limited(3):
        assert draw_some(lambda i: "abcd" * (i + 1), 5) == ["abcd"]
    with limited(13):
        assert draw_some(lambda i: "abcd", 5) == ["abcd"] * 3
        assert draw_some(lambda i: "abcd", 5) == ["abcd"]  # what is left is shared
    assert len(draw_some(lambda i: "abcd", 5)) == 5
