"""The page of a prototype model: its typical points, what the distance looks at, the receipt."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from voile.explain.lvq import text as prototype_text
from voile.explain.lvq.overall import LVQExplanation
from voile.explain.lvq.text import count_text, mean_share, prototype_name, value_text
from voile.explain.wording import short
from voile.rendering import draws
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.kit.pictures import Picture, paint_grey, paint_sizes
from voile.report.lvq import figures

MOST_CARDS = 60
MOST_CELLS = 40_000
"""Numbers in the table of all values; more would make the page slow."""

KINDS = {"lvq1": "LVQ1", "glvq": "GLVQ", "gmlvq": "GMLVQ"}

_html = Templates("lvq/model.html", text=prototype_text)


@draws(LVQExplanation)
def draw_page(record: LVQExplanation) -> str:
    """The whole page as HTML."""
    body = draw_lead(record) + parts.sections(draw_sections(record))
    return compose_page("What is typical", body, record.receipt, cost=record.cost)


def draw_lead(record: LVQExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(record, KINDS.get(record.model_kind, record.model_kind))


def draw_sections(record: LVQExplanation) -> list[Section]:
    """The typical points, and what the distance looks at."""
    points = _pictures(record) if record.image_shape else _profiles(record)
    return [
        Section("The typical points", "points", points),
        Section("What the distance looks at", "distance", _relevance(record)),
    ]


def _profiles(record: LVQExplanation) -> Markup:
    names, features = _names(record), record.features
    words = ""
    if record.ranked:
        first = record.ranked[0]
        values = ", ".join(
            f"{name} {value_text(features[first], float(record.values[p, first]))}"
            for p, name in enumerate(names[:10])
        )
        words = f" {features[first].name}: {values}"
    rows = [
        [
            features[j].name,
            *(
                value_text(features[j], float(value), float(error))
                for value, error in zip(
                    record.values[:, j], record.standard_errors[:, j], strict=True
                )
            ),
        ]
        for j in record.ranked[: max(1, MOST_CELLS // max(len(names), 1))]
    ]
    overview = [[name, *_facts(record, p)] for p, name in enumerate(names)]
    drawn = len(figures.choose_features(record))
    figure = figures.draw_profiles(record)
    return _html.profiles(record, figure, words, drawn, overview, names, rows)


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
    cards = [_card(record, p, name) for p, name in enumerate(_names(record)[:MOST_CARDS])]
    return _html.pictures(record, noise and short(noise, digits=2), cards)


def _card(record: LVQExplanation, p: int, name: str) -> Markup:
    shape = record.image_shape
    assert shape is not None
    lower = np.array([one.lower for one in record.features])
    width = np.array([one.upper for one in record.features]) - lower
    pictures = [
        Picture(
            paint_grey((values - lower) / width, shape), what, f"Picture of the {what} of {name}"
        )
        for values, what in (
            (record.values[p], "prototype"),
            (record.means[record.labels[p]], "class mean"),
        )
    ]
    count, share = _facts(record, p)
    return parts.card(name, pictures, [count, f"{share} off the mean"])


def _relevance(record: LVQExplanation) -> Markup:
    if not record.learned:
        return _html.same_distance(record.model_kind)
    if record.image_shape is not None:
        painted = paint_sizes(record.relevance, record.image_shape)
        about = "Picture of how much the distance looks at each pixel"
        return _html.relevant_pixels(Picture(painted, "relevance", about))
    pairs = figures.has_pairs(record)
    return _html.relevance(
        record,
        figures.draw_relevance(record),
        figures.MOST_COLUMNS,
        pairs=figures.draw_pairs(record) if pairs else None,
        pairs_words=figures.pairs_text(record) if pairs else "",
    )
