"""The page of a locally linear model: what each class looks for, its linear maps, the receipt."""

from __future__ import annotations

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.locally_linear import overall_text as linear_map_text
from voile.explain.locally_linear.overall import MOST_SUMMARY, LocallyLinearExplanation
from voile.explain.locally_linear.overall_text import (
    noise_text,
    spread_text,
    strongest,
    strongest_text,
)
from voile.explain.wording import noisy, percent, short
from voile.figure_request import FigureRequest
from voile.models.verdict import error_bars_text, interval_text, nothing_text
from voile.rendering import draws, plots
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.kit.pictures import draw_pictures, is_coloured
from voile.report.kit.room import draw_some
from voile.report.locally_linear import pictures
from voile.report.locally_linear.bars import draw_contrast

MOST_CLASSES, MOST_PICTURES, MOST_CELLS = 40, 600, 40_000
"""Classes with a card, linear maps drawn at the end, numbers in a table: more would be slow."""

_html = Templates(
    "locally_linear/model.html",
    text=linear_map_text,
    error_bars_text=error_bars_text,
    interval_text=interval_text,
    nothing_text=nothing_text,
)


@draws(LocallyLinearExplanation)
def draw_page(bank: LocallyLinearExplanation) -> str:
    """The whole page as HTML."""
    body = draw_lead(bank) + parts.sections(draw_sections(bank))
    return compose_page("Typical pattern of each class", body, bank.receipt, cost=bank.cost)


@plots(LocallyLinearExplanation)
def plot(bank: LocallyLinearExplanation, request: FigureRequest) -> go.Figure:
    """What tells the class that is named apart from all others."""
    request.refuse("row", "output")
    k = bank.outputs.index(request.choose_name(bank.outputs))
    if bank.image_shape is not None:
        return draw_pictures(pictures.find_class(bank, k))
    return draw_contrast(bank, k)


def draw_lead(bank: LocallyLinearExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(bank, MOST_CLASSES)


def draw_sections(bank: LocallyLinearExplanation) -> list[Section]:
    """The classes, and the linear maps of each."""
    shown = range(min(len(bank.outputs), MOST_CLASSES))
    if bank.image_shape is None:
        drawn = draw_some(lambda k: _html.bar(_describe(bank, k), k), len(shown))
        bars = _html.bars(bank, MOST_BARS, drawn, _tabulate_nothing(bank, len(drawn)))
        return [Section("The classes", "classes", bars)]
    classes = _html.classes(
        whole=bank.whole,
        noisy=bank.standard_errors.max(initial=0.0) > 0,
        coloured=is_coloured(bank.image_shape),
        cards=draw_some(lambda k: pictures.place_class(bank, k), len(shown)),
    )
    sections = [Section("The classes", "classes", classes)]
    if bank.maps > 1:
        cards = draw_some(lambda k: pictures.place_summary(bank, k), len(shown))
        most = min(len(shown), MOST_PICTURES // bank.maps)
        drawn = draw_some(lambda k: pictures.place_all(bank, k), most)
        single = _html.single(bank, MOST_SUMMARY, cards, drawn)
        sections.append(Section("Single linear maps", "linear-maps", single))
    return sections


def _describe(bank: LocallyLinearExplanation, k: int) -> dict[str, object]:
    """What tells a class apart, as bars and numbers."""
    told = (spread_text(bank, k), noise_text(bank, k))
    return {
        "name": bank.outputs[k],
        "told": "; ".join(text for text in told if text),
        "figure": draw_contrast(bank, k) if strongest(bank, k) else None,
        "words": strongest_text(bank, k),
        "table": _tabulate(bank, k),
    }


def _tabulate(bank: LocallyLinearExplanation, k: int) -> Markup:
    maps = list(map(int, bank.ranked[k]))[: max(1, MOST_CELLS // max(len(bank.features), 1))]
    judged = bool(bank.verdicts)
    head = ["feature", *(["verdict"] if judged else []), "blend", "less the mean"]
    head += [f"no. {m + 1} ({percent(float(bank.shares[k, m]))})" for m in maps]
    rows = [
        [
            one.name,
            *([bank.verdict_of(one.column)] if judged else []),
            noisy(float(bank.typical[k, j]), float(bank.typical_errors[k, j])),
            noisy(float(bank.contrast[k, j]), float(bank.contrast_errors[k, j])),
            *(
                noisy(float(bank.linear_maps[k, m, j]), float(bank.standard_errors[k, m, j]))
                for m in maps
            ),
        ]
        for j, one in enumerate(bank.features)
        if one.column not in bank.nothing
    ]
    blend = float((bank.shares[k] * bank.offsets[k]).sum())
    offsets = [short(float(bank.offsets[k, m])) for m in maps]
    lead = ["(added without any input)", *([""] if judged else [])]
    rows.append([*lead, short(blend), "", *offsets])
    return parts.table(head, rows, len(head) - len(lead))


def _tabulate_nothing(bank: LocallyLinearExplanation, classes: int) -> list[list[str]]:
    """Features of columns that cannot be told from nothing: their weights, class by class."""
    return [
        [
            one.name,
            *(
                noisy(float(bank.contrast[k, j]), float(bank.contrast_errors[k, j]))
                for k in range(classes)
            ),
        ]
        for j, one in enumerate(bank.features)
        if one.column in bank.nothing
    ][: max(1, MOST_CELLS // max(classes, 1))]
