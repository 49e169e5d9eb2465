"""Every record with pictures gives its figures away: those of its page, by name, row or output."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
import test_audit_pages
import test_heat_map_pages
import test_report_words
from drawn_figures import figures_of
from explained_models import CENSUS_ROWS, census_model, classes_model, make_receipt
from linear_map_models import WARD_ROWS, picture_linear_maps, picture_rows, ward_model
from prototype_models import MIXED_ROWS, mixed_model, picture_model, tumour_model
from surrogate_records import census_surrogate, picture_surrogate

from voile import Category, Number, Schema, forecast
from voile.audit.replaying.record import Replay
from voile.errors import SettingError
from voile.explaining import explain_global, explain_local
from voile.models.evaluation.record import Measure, Reliability
from voile.rendering import plot_record, plots
from voile.report.kit.pictures import Picture, draw_pictures
from voile.summary.summary import CategorySummary, NumberSummary, Summary


def summary():
    age = NumberSummary("age", 0, 1, (0, 0.5, 1), (40, 60), (2, 2), 0, (0.2, 0.5, 0.7), False)
    town = CategorySummary("town", ("a", "b", "(other)"), (5, 6, 7), 2, True)
    return Summary(100.0, 2.0, (age, town), make_receipt())


def evaluation():
    points = (Reliability(0.2, Measure("happened", 0.25, 0.2, 0.3, 0.02), 300.0),)
    return replace(test_report_words.evaluation_of(), reliability=points)


def plan():
    schema = Schema({"age": Number(17, 90)}, target=Category(["no", "yes"]))
    return forecast(schema, rows=30_000)


ON_PAGES = [
    (lambda: explain_global(census_model()), "importance", {}),
    (lambda: explain_global(census_model()), "term-3", {"name": "age"}),
    (lambda: explain_local(census_model(), CENSUS_ROWS), "row-0", {}),
    (lambda: explain_local(census_model(), CENSUS_ROWS), "row-2", {"row": 2}),
    (lambda: explain_global(tumour_model()), "profiles", {}),
    (lambda: explain_global(tumour_model()), "relevance", {"name": "relevance"}),
    (lambda: explain_global(tumour_model()), "pairs", {"name": "pairs"}),
    (lambda: explain_local(mixed_model(), MIXED_ROWS), "row-1", {"row": 1}),
    (lambda: explain_global(ward_model()), "class-1", {"name": "rehabilitation"}),
    (lambda: explain_local(ward_model(), WARD_ROWS), "row-0", {"row": 0}),
    (census_surrogate, "row-1-0", {"row": 1}),
    (summary, "column-1", {"name": "town"}),
    (evaluation, "reliability", {}),
    (plan, "noise", {}),
    (plan, "attacker", {"name": "attacker"}),
]


@pytest.mark.parametrize(("make", "name", "asked"), ON_PAGES)
def test_a_figure_is_that_of_the_page(make, name, asked, tmp_path):
    record = make()
    drawn = figures_of(record.to_html(tmp_path / "a.html").read_text(encoding="utf-8"))
    figure = record.plot(**asked)
    assert isinstance(figure, go.Figure)
    given = json.loads(figure.to_json())
    assert (given["data"], given["layout"]) == drawn[name]


PICTURES = [
    (lambda: explain_global(picture_model()), {}, 3),
    (lambda: explain_global(picture_model()), {"name": "'1'"}, 2),
    (lambda: explain_local(picture_model(), np.zeros((2, 64))), {"row": 1}, 6),
    (lambda: explain_global(picture_linear_maps((6, 5))), {}, 3),
    (
        lambda: explain_local(
            picture_linear_maps((6, 5)), picture_rows(picture_linear_maps((6, 5)))
        ),
        {"row": 1},
        8,
    ),
    (picture_surrogate, {}, 4),
    (test_heat_map_pages.make_record, {"row": 2}, 3),
]


@pytest.mark.parametrize(("make", "asked", "count"), PICTURES)
def test_pictures_are_figures_too(make, asked, count, tmp_path):
    figure = make().plot(**asked)
    assert [one.type for one in figure.data] == ["image"] * count
    assert all(note.text for note in figure.layout.annotations)
    path = make().save_figure(tmp_path / "a.svg", **asked, width=8)
    assert path.read_text().count("<image") == count


def test_a_class_may_be_drawn_alone():
    whole = explain_global(classes_model())
    figure = whole.plot("age", output="rehabilitation")
    (line,) = (one for one in figure.data if one.name == "now")
    assert list(line.y)[:-1] == whole["age"].scores[:-1, 1].tolist()
    assert figure.layout.yaxis.title.text == "score of rehabilitation"
    told = explain_local(classes_model(), {term.name: [None] for term in whole.terms})
    assert told.plot(output="home").data[1].x[1] == told.scores[0, 0]


def test_audits_have_figures():
    report = test_audit_pages.ALL
    figure = report.plot()
    drawn = sorted(y for bar in figure.data if bar.type == "bar" for y in bar.y)
    assert drawn == list(range(len(report.findings)))
    claims = figure.data[-1]
    assert len(claims.x) == sum(one.claimed not in (None, math.inf) for one in report.findings)
    broken = next(one for one in figure.data if one.name == "shown, guarantee BROKEN")
    assert list(broken.y) == [i for i, one in enumerate(report.findings) if one.broken]
    assert report.findings[0].plot().layout.yaxis.ticktext[0].startswith("EBM")
    members = test_audit_pages.OVER
    assert members.plot().data[0].name == "what the guarantee allows"
    assert members.plot("LiRA").layout.showlegend


def test_pictures_stand_in_rows_with_their_captions():
    pixels = np.zeros((4, 6, 3), np.uint8)
    figure = draw_pictures([Picture(pixels, f"a long caption {i} <b>", "x") for i in range(5)])
    assert [note.text for note in figure.layout.annotations] == [
        f"a long caption<br>{i} &lt;b&gt;" for i in range(5)
    ]
    assert len({axis.domain for axis in figure.select_yaxes()}) == 2


REPLAY = Replay("x", 1, "add_or_remove_one", (), (), 0.5, 1e-6, 1.0)

REFUSED = [
    (lambda: explain_global(census_model()), {"name": "agge"}, "did you mean 'age'"),
    (lambda: explain_global(census_model()), {"row": 1}, "no row"),
    (lambda: explain_global(census_model()), {"output": "x"}, "give one of '>50K'"),
    (lambda: explain_local(census_model(), CENSUS_ROWS), {"row": 9}, "from 0 to 3"),
    (lambda: explain_local(census_model(), CENSUS_ROWS), {"name": "age"}, "have no name"),
    (lambda: explain_global(census_model()), {"library": "bokeh"}, "'plotly' or 'matplotlib'"),
    (lambda: test_report_words.evaluation_of(), {}, "shows nothing"),
    (lambda: REPLAY, {}, "A Replay has no figure"),
]


@pytest.mark.parametrize(("make", "asked", "words"), REFUSED)
def test_what_there_is_not_is_said(make, asked, words):
    with pytest.raises(SettingError, match=words):
        make().plot(**asked)


def test_files_of_other_kinds_are_refused(tmp_path):
    whole = explain_global(census_model())
    for name in ("a.jpg", "figure", "a.svg.txt"):
        with pytest.raises(SettingError, match=r"end in \.svg, \.png or \.pdf"):
            whole.save_figure(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert whole.save_figure(str(tmp_path / "a.svg")) == Path(tmp_path / "a.svg")


def test_what_draws_a_figure_is_found_by_the_type(monkeypatch):
    from voile import rendering
    from voile.figure_request import FigureRequest

    class Thing:
        pass

    monkeypatch.setattr(rendering, "_PLOTS", {})
    plots(Thing)(lambda record, request: go.Figure(layout={"title": request.name}))
    figure = plot_record(Thing(), FigureRequest("a"), "plotly", None)
    assert figure.layout.title.text == "a"
