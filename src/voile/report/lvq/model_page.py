"""The page of a prototype model: its typical points, what the distance looks at, the receipt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.lvq import text as prototype_text
from voile.explain.lvq.overall import LVQExplanation
from voile.explain.lvq.text import (
    count_text,
    feature_text,
    mean_share,
    mean_text,
    prototype_name,
    prototype_value_text,
)
from voile.explain.wording import short
from voile.figure_request import FigureRequest
from voile.models.verdict import error_bars_text, interval_text, nothing_text
from voile.rendering import draws, plots
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.kit.pictures import Picture, draw_pictures, paint_grey, paint_sizes
from voile.report.kit.room import draw_if_room, draw_some
from voile.report.lvq import figures

MOST_CARDS = 60
MOST_CELLS = 40_000
"""Numbers in the table of all values; more would make the page slow."""

KINDS = {"lvq1": "LVQ1", "glvq": "GLVQ", "gmlvq": "GMLVQ"}

_html = Templates(
    "lvq/model.html",
    text=prototype_text,
    error_bars_text=error_bars_text,
    interval_text=interval_text,
    nothing_text=nothing_text,
)


@draws(LVQExplanation)
def draw_page(record: LVQExplanation) -> str:
    """The whole page as HTML."""
    body = draw_lead(record) + parts.sections(draw_sections(record))
    return compose_page("What is typical", body, record.receipt, cost=record.cost)


@plots(LVQExplanation)
def plot(record: LVQExplanation, request: FigureRequest) -> go.Figure:
    """The profiles, the relevance of columns, or pairs of them; of pictures, the prototypes."""
    request.refuse("row", "output")
    if record.image_shape is not None:
        names = _names(record)
        if request.name is None:
            return draw_pictures([_picture(record, p, name) for p, name in enumerate(names[:12])])
        p = names.index(request.choose_name(names))
        return draw_pictures(_find_pictures(record, p, names[p]))
    drawn = {"profiles": figures.draw_profiles}
    if record.learned:
        drawn["relevance"] = figures.draw_relevance
        if figures.has_pairs(record):
            drawn["pairs"] = figures.draw_pairs
    return drawn[request.choose_name(list(drawn))](record)


def draw_lead(record: LVQExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(record, KINDS.get(record.model_kind, record.model_kind))


def draw_sections(record: LVQExplanation) -> list[Section]:
    """The typical points, and what the distance looks at."""
    points = _pictures(record) if record.image_shape else _profiles(record)
    return [
        Section("The typical points", "points", points),
        Section("What weighs in the distance", "distance", _relevance(record)),
    ]


def _profiles(record: LVQExplanation) -> Markup:
    names, features = _names(record), record.features
    words = ""
    if record.shown:
        first = record.shown[0]
        values = ", ".join(
            f"{name} {feature_text(features[first], float(record.values[p, first]))}"
            for p, name in enumerate(names[:10])
        )
        words = f" {features[first].name}: {values}"
    most = max(1, MOST_CELLS // max(len(names), 1))
    rows = [_line(record, j) for j in record.shown[:most]]
    nothing = [_line(record, j) for j in record.ranked if j not in record.shown]
    overview = [[name, *_facts(record, p)] for p, name in enumerate(names)]
    drawn = len(figures.choose_features(record))
    figure = figures.draw_profiles(record) if drawn else None
    profiles = _html.profiles(record, figure, words, drawn, overview)
    return profiles + draw_if_room(lambda: _html.all_numbers(record, names, rows, nothing[:most]))


def _line(record: LVQExplanation, j: int) -> list[str]:
    """A feature: its verdict, and each prototype with the mean of its class."""
    verdict = [record.verdict_of(record.features[j].column)] if record.verdicts else []
    cells = [
        "; ".join(filter(None, [prototype_value_text(record, p, j), mean_text(record, label, j)]))
        for p, label in enumerate(record.labels)
    ]
    return [record.features[j].name, *verdict, *cells]


def _names(record: LVQExplanation) -> list[str]:
    labels, outputs = record.labels, record.outputs
    return [prototype_name(labels, outputs, p) for p in range(len(labels))]


def _facts(record: LVQExplanation, p: int) -> tuple[str, str]:
    """Rows of a prototype's class, and how far it is off their mean."""
    count = float(record.counts[record.labels[p]])
    return count_text(count), mean_share(float(record.distance_from_mean[p]))


def _pictures(record: LVQExplanation) -> Markup:
    errors = record.standard_errors
    noise = 2 * float(np.median(errors)) if errors.max(initial=0.0) > 0 else None
    names = _names(record)
    cards = draw_some(lambda p: _card(record, p, names[p]), min(len(names), MOST_CARDS))
    return _html.pictures(record, noise and short(noise, digits=2), cards)


def _find_pictures(record: LVQExplanation, p: int, name: str) -> list[Picture]:
    """A prototype, and the mean of its class."""
    shape = record.image_shape
    assert shape is not None
    lower = np.array([one.lower for one in record.features])
    width = np.array([one.upper for one in record.features]) - lower
    return [
        Picture(
            paint_grey((values - lower) / width, shape), what, f"Picture of the {what} of {name}"
        )
        for values, what in (
            (record.values[p], "prototype"),
            (record.means[record.labels[p]], "class mean"),
        )
    ]


def _picture(record: LVQExplanation, p: int, name: str) -> Picture:
    """A prototype under its own name."""
    return replace(_find_pictures(record, p, name)[0], caption=name)


def _card(record: LVQExplanation, p: int, name: str) -> Markup:
    count, share = _facts(record, p)
    return parts.card(name, _find_pictures(record, p, name), [count, f"{share} off the mean"])


def _relevance(record: LVQExplanation) -> Markup:
    if not record.learned:
        return _html.same_distance(record.model_kind)
    if record.image_shape is not None:
        painted = paint_sizes(record.relevance, record.image_shape)
        about = "Picture of how much each pixel weighs in the distance"
        return _html.relevant_pixels(Picture(painted, "relevance", about))
    known = bool(np.isfinite(record.column_relevance_errors).all())
    drawn = figures.draw_relevance(record)
    columns = _html.relevance(record, drawn, figures.MOST_COLUMNS, known)
    if not figures.has_pairs(record):
        return columns
    words = figures.pairs_text(record)
    return columns + draw_if_room(lambda: _html.pairs(record, figures.draw_pairs(record), words))
