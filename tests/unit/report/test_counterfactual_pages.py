"""Pages of counterfactuals show the record's own figures, need no network, and run no name."""

import math
from dataclasses import replace

import numpy as np
import pytest
from ebm_models import make_model, make_rows
from explained_models import make_receipt
from prototype_models import TUMOUR_ROWS, tumour_model
from test_report_pages import EVIL, WORSE
from test_report_prototypes import check_alone, text_of

from voile import Category, Number
from voile.explain.counterfactuals import text
from voile.explain.counterfactuals.record import (
    ColumnChange,
    Counterfactuals,
    RowSuggestions,
    Suggestion,
)
from voile.explaining import Wish, suggest_changes
from voile.report.counterfactuals.page import MOST_ROWS, draw_page, draw_ways


def change(column="hours", before="38", after="45", value=45, size=0.22):
    return ColumnChange(
        column=column, before=before, after=after, value=value, size=size, passes=True
    )


def suggestion(*changes, **more):
    settings = {
        "changes": changes or (change(),),
        "after": 0.54,
        "predicted": "yes",
        "usual": 0.34,
        "was_usual": 0.6,
        "steady": 0.95,
    }
    return Suggestion(**{**settings, **more})


def asked(*suggestions, **more):
    settings = {
        "given": ("38", "A"),
        "read_as": ("", "B"),
        "wanted": "'yes'",
        "told": "probability of 'yes'",
        "low": 0.5,
        "high": math.inf,
        "before": 0.31,
        "predicted": "no",
        "already": False,
        "suggestions": suggestions,
    }
    return RowSuggestions(**{**settings, **more})


def record_of(*rows, **more):
    settings = {
        "outputs": ("no", "yes"),
        "units": "probability",
        "receipt": make_receipt(),
        "columns": ("hours", "ward"),
        "changeable": ("hours (up only)",),
        "chosen": True,
        "unit": "probability",
        "ruler": "of the synthetic rows",
        "among": "the synthetic rows",
        "effective": 2000.0,
        "method": "Suggestions were searched for.",
        "rows": rows,
    }
    return Counterfactuals(**{**settings, **more})


TWICE = suggestion(change(), change("ward", "A", "B", "B", 0.5), after=0.7)
WARDS = make_rows(3) | {"job": ["clerk"] * 3}
CASES = [
    pytest.param(record_of(), id="no rows"),
    pytest.param(record_of(asked(suggestion(), TWICE)), id="two suggestions"),
    pytest.param(record_of(asked(already=True)), id="already"),
    pytest.param(record_of(asked(impossible=True)), id="impossible"),
    pytest.param(record_of(asked(nearest=suggestion(after=0.4, predicted="no"))), id="nearest"),
    pytest.param(record_of(asked(suggestion(steady=0.4), steady=0.3)), id="fragile"),
    pytest.param(record_of(asked(suggestion(usual=0.01, seldom=("a 1 with b 2",)))), id="odd"),
    pytest.param(record_of(asked(suggestion(usual=math.nan)), among=""), id="no others"),
    pytest.param(record_of(asked(suggestion(verdict="clear")), whole=True), id="clear"),
    pytest.param(record_of(asked(suggestion()), sure=True, chosen=False), id="sure"),
    pytest.param(record_of(asked(suggestion()), unit="label"), id="labels"),
    pytest.param(record_of(asked(low=-math.inf, predicted=""), unit="number"), id="number"),
    pytest.param(record_of(*[asked(suggestion())] * (MOST_ROWS + 3)), id="many rows"),
    pytest.param(suggest_changes(make_model(), WARDS, Wish(keep=["job"])), id="additive"),
    pytest.param(suggest_changes(tumour_model(), TUMOUR_ROWS, Wish()), id="prototypes"),
]


@pytest.mark.parametrize("record", CASES)
def test_a_page_stands_alone_and_holds_the_figures_of_the_record(record):
    page = draw_page(record)
    check_alone(page)
    told = text_of(page)
    assert text.NO_CAUSE in told
    assert text.NO_ROW in told
    for row in record.rows[:MOST_ROWS]:
        assert text.start_text(record, row) in told
        for one in row.suggestions:
            for part in (
                *map(text.change_text, one.changes),
                text.outcome_text(record, row, one),
                text.usual_text(record, one)[1:],
                text.verdict_text(record, one)[1:],
                text.steady_text(one)[1:],
            ):
                assert part in told
        assert text.nothing_text(record, row) in told


def test_a_record_is_shown_everywhere(tmp_path, capsys):
    record = record_of(asked(suggestion(), TWICE))
    page = record.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == draw_page(record)
    assert "iframe" in record._repr_html_()
    record.show()
    assert capsys.readouterr().out.strip() == str(record)


def test_figures_show_before_after_and_what_is_wanted():
    record = record_of(asked(suggestion(), TWICE))
    figure = draw_ways(record, record.rows[0])
    points = [trace for trace in figure.data if trace.mode == "markers"]
    assert points[0].x == pytest.approx([31, 31])
    assert points[1].x == pytest.approx([54, 70])
    assert figure.layout.shapes[0].x0 == pytest.approx(50)


def test_names_are_shown_as_they_are_and_run_nothing():
    columns = {EVIL: Number(0, 10), WORSE: Category([EVIL, WORSE, "plain"])}
    model = make_model("logit", columns=columns, target=Category([WORSE, EVIL]), seed=1)
    rows = {EVIL: np.linspace(1, 9, 6), WORSE: np.array([EVIL, WORSE] * 3, dtype=object)}
    record = suggest_changes(model, rows, Wish(want=EVIL))
    assert any(row.suggestions for row in record.rows)
    page = draw_page(record)
    check_alone(page)
    assert "<script>alert" not in page.split("</script>")[-1]
    assert "<img src=x" not in page
    assert EVIL in text_of(page)


def test_the_text_says_what_a_reader_must_know():
    told = str(
        record_of(asked(suggestion(verdict="cannot be told from nothing"), TWICE), chosen=False)
    )
    for part in (
        "hours 38 → 45: 31 % → 54 %, 'no' → 'yes'",
        "passes 22 % of the synthetic rows",
        "not unusual: 34 % of the synthetic rows are as far from others or farther (before: 60 %)",
        "cannot be told: it is within the error",
        "All columns were free to change",
        "not a claim about causes",
        "no private row is shown",
    ):
        assert part in " ".join(told.split())
    fragile = " ".join(str(record_of(asked(suggestion(steady=0.5), steady=0.4))).split())
    assert "fragile: 50 % of rows that hardly differ" in fragile
    assert "ask with sure=True" in fragile
    assert "fragile as it is: only 40 %" in fragile


def test_what_is_unusual_is_odd_unless_the_row_was_so_before():
    assert not suggestion().odd
    assert suggestion(usual=0.01).odd
    assert not suggestion(usual=0.01, was_usual=0.005).odd
    assert suggestion(seldom=("a with b",)).odd
    assert suggestion(steady=0.2).odd
    assert not replace(suggestion(), usual=math.nan, was_usual=math.nan, steady=math.nan).odd
