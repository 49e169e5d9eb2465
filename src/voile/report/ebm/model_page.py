"""The page of a whole model: what matters, every shape and map, edits, and the receipt."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.ebm import text as plain_text
from voile.explain.ebm.factors import LOG_UNIT, factor_range_text
from voile.explain.ebm.overall import EBMExplanation, Part
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import extremes, leading_output
from voile.explain.wording import noisy, p_text, short, signed, spread
from voile.figure_request import FigureRequest
from voile.models.ebm.pair_term import pair_name
from voile.models.history import Edit, tell_edits
from voile.rendering import draws, plots
from voile.report.ebm.pair_map import draw_pair
from voile.report.ebm.pair_part import draw_pair_part
from voile.report.ebm.shapes import MOST_BANDS, MULTIPLIES, draw_shape, uses_ranks
from voile.report.kit import theme
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.kit.room import draw_some
from voile.report.kit.text import plot_labels, plot_text

MOST_TERMS = 40

AnyPart = TypeVar("AnyPart", ExplainedTerm, ExplainedPair)

_html = Templates("ebm/model.html", text=plain_text, p_text=p_text)


@draws(EBMExplanation)
def draw_page(record: EBMExplanation) -> str:
    """The whole page as HTML."""
    history = record.history or record.edits
    changed = draw_history(history, record.edits) if history else ""
    body = _html.page(draw_lead(record), draw_sections(record), changed)
    return compose_page("What the model does", body, record.receipt, cost=record.cost)


@plots(EBMExplanation)
def plot(record: EBMExplanation, request: FigureRequest) -> go.Figure:
    """What matters, or the shape of the column, or the map of the pair, that is named."""
    request.refuse("row")
    k = request.choose_output(record.outputs)
    if k is not None:
        record = _only(record, k)
    if request.name is None:
        return draw_importance(record)
    turned = {pair_name(*pair.names[::-1]): pair.name for pair in record.pairs}
    if request.name in turned:
        request = replace(request, name=turned[request.name])
    name = request.choose_name([part.name for part in record.ranked_parts])
    part = record[name]
    if isinstance(part, ExplainedPair):
        return draw_pair(part, record.outputs, record.units)
    return draw_shape(part, record.outputs, record.units)


def _only(record: EBMExplanation, k: int) -> EBMExplanation:
    """The part of an explanation that is about one of several outputs."""
    own = slice(k, k + 1)
    return replace(
        record,
        outputs=record.outputs[own],
        intercept=record.intercept[own],
        intercept_errors=record.intercept_errors[own],
        terms=tuple(_only_of(replace(term, evidence=None), own) for term in record.terms),
        pairs=tuple(_only_of(pair, own) for pair in record.pairs),
    )


def _only_of(part: AnyPart, own: slice) -> AnyPart:
    return replace(
        part,
        scores=part.scores[..., own],
        standard_errors=part.standard_errors[..., own],
        importance=part.importance[own],
        original=None if part.original is None else part.original[..., own],
        noise_errors=None if part.noise_errors is None else part.noise_errors[..., own],
    )


def draw_lead(record: EBMExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(record)


def draw_sections(record: EBMExplanation, *, linked: bool = False) -> list[Section]:
    """What matters, and each shape and map; ``linked``, with an anchor at every one of them."""
    ranked = record.ranked_parts
    words = ", ".join(f"{part.name} {short(float(part.importance.sum()))}" for part in ranked[:10])
    left = len(ranked) - MOST_TERMS
    matters = _html.importance(record, draw_importance(record), words, left)
    terms = _html.reading(record, len(record.outputs) > MOST_BANDS)
    drawn = draw_some(lambda i: _draw_part(record, ranked[i], i, linked=linked), len(ranked))
    shown = len(record.shown_parts)
    terms += Markup("").join(drawn[:shown])
    if drawn[shown:]:
        terms += _html.nothing(record, Markup("").join(drawn[shown:]))
    terms += _html.left_out(record, [part.name for part in ranked[len(drawn) :]])
    anchors = tuple(
        (f"shape-{i}" if linked else "", part.name) for i, part in enumerate(ranked[: len(drawn)])
    )
    title = "Each term and pair" if record.pairs else "Each term"
    return [
        Section("What matters", "importance-of-terms", matters),
        Section(title, "terms", terms, anchors),
    ]


def _draw_part(record: EBMExplanation, part: Part, position: int, *, linked: bool) -> Markup:
    if isinstance(part, ExplainedPair):
        return draw_pair_part(record, part, position, linked=linked)
    return _draw_term(record, part, position, linked=linked)


def _draw_term(
    record: EBMExplanation, term: ExplainedTerm, position: int, *, linked: bool
) -> Markup:
    outputs = record.outputs
    low, high = extremes(term, factors=record.units == LOG_UNIT)
    about = f" (for {outputs[leading_output(term)]})" if len(outputs) > 1 else ""
    names = ["score"] if len(outputs) == 1 else [*outputs]
    head = ["bin", *names, "rows"]
    if term.original is not None:
        head[-1:-1] = [f"{name}, as trained" for name in names]
    alone, base = plain_text.has_probability_scale(record), float(record.intercept[0])
    if alone:
        head.insert(2, plain_text.alone_head(base))
    factors = record.units == LOG_UNIT
    if factors:
        head.insert(2, MULTIPLIES)
    rows = [
        [
            label,
            *map(noisy, term.scores[i].tolist(), term.standard_errors[i].tolist()),
            *([plain_text.alone_text(base, *_score_of(term, i))] if alone else []),
            *([factor_range_text(*_score_of(term, i))] if factors else []),
            *([] if term.original is None else map(signed, term.original[i].tolist())),
            f"{float(term.counts[i]):,.0f}{spread(float(term.count_errors[i]))}",
        ]
        for i, label in enumerate(term.labels)
    ]
    return _html.term(
        record,
        term,
        position,
        linked=linked,
        ranks=term.kind == "number" and uses_ranks(term),
        figure=draw_shape(term, outputs, record.units),
        description=f"Shape of {term.name}{about}: lowest {low}, highest {high}",
        head=head,
        rows=rows,
    )


def _score_of(term: ExplainedTerm, position: int) -> tuple[float, float]:
    """The one score of a bin, and its error."""
    return float(term.scores[position, 0]), float(term.standard_errors[position, 0])


def draw_history(history: tuple[Edit, ...], edits: tuple[Edit, ...]) -> Markup:
    """A table of what people did: who, when, what and why; ``edits`` are in force."""
    rows = [
        [edit.who, edit.when, edit.term, words, edit.why]
        for edit, words in tell_edits(history, edits)
    ]
    return parts.table(["who", "when", "term", "what", "why"], rows)


def draw_importance(record: EBMExplanation) -> go.Figure:
    """Draw a bar per term and pair (the first `MOST_TERMS`), with a mark at what errors would give.

    Several outputs are stacked: the length of a bar is the sum over outputs.
    """
    terms = record.ranked_parts[:MOST_TERMS]
    single = len(record.outputs) == 1
    heights = list(range(len(terms)))
    figure = go.Figure()
    for k, output in enumerate(record.outputs):
        about = "" if single else f" ({plot_text(output)})"
        sizes = [float(term.importance[k]) for term in terms]
        colour = theme.INK if single else theme.series_colour(k)
        figure.add_bar(
            x=sizes,
            y=heights,
            orientation="h",
            marker={
                "color": [theme.WAS if term.is_nothing else colour for term in terms],
                "pattern": {"shape": theme.series_pattern(k), "solidity": 0.4},
                "line": {"color": "white", "width": 0.5},
            },
            name="importance" if single else plot_text(output, 30),
            hovertext=[
                f"<b>{plot_text(term.name)}</b>{about}: {short(size)}"
                for term, size in zip(terms, sizes, strict=True)
            ],
            hoverinfo="text",
        )
    noises = [float(term.null_importance.sum()) for term in terms]
    alone = "noise and sampling error alone" if record.whole else "noise alone"
    figure.add_scatter(
        x=noises,
        y=heights,
        mode="markers",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": "#000"}},
        name=alone,
        hovertext=[f"{alone} would give about {short(noise)}" for noise in noises],
        hoverinfo="text",
    )
    units = plot_text(record.units) if single else "all scores together"
    if record.units == LOG_UNIT:
        units = plot_text(plain_text.score_text(record), 60)
    labels = plot_labels([term.name for term in terms], 22)
    return theme.dress(
        figure,
        24 * len(terms) + 110 + theme.legend_room(len(record.outputs)),
        "named bars",
        barmode="stack",
        xaxis_title=f"importance ({units})",
        yaxis=theme.names_axis(labels),
    )
