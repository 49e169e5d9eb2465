"""The page of a prototype model: its typical points, what the distance looks at, the receipt."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from voile.explain import prototype_text
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import count_text, mean_share, prototype_name, value_text
from voile.explain.wording import short
from voile.rendering import draws
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.kit.pictures import Picture, paint_grey, paint_sizes
from voile.report.lvq.profiles import choose_features, draw_profiles
from voile.report.lvq.relevance import (
    MOST_COLUMNS,
    draw_pairs,
    draw_relevance,
    has_pairs,
    pairs_text,
)

MOST_CARDS = 60
MOST_CELLS = 40_000
"""Numbers in the table of all values; more would make the page slow."""

KINDS = {"lvq1": "LVQ1", "glvq": "GLVQ", "gmlvq": "GMLVQ"}

_html = Templates("lvq/model.html", text=prototype_text)


@draws(PrototypeExplanation)
def draw_page(explanation: PrototypeExplanation) -> str:
    """The whole page as HTML."""
    body = draw_lead(explanation) + parts.sections(draw_sections(explanation))
    return compose_page("What is typical", body, explanation.receipt, cost=explanation.cost)


def draw_lead(explanation: PrototypeExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(explanation, KINDS.get(explanation.model_kind, explanation.model_kind))


def draw_sections(explanation: PrototypeExplanation) -> list[Section]:
    """The typical points, and what the distance looks at."""
    points = _pictures(explanation) if explanation.image_shape else _profiles(explanation)
    return [
        Section("The typical points", "points", points),
        Section("What the distance looks at", "distance", _relevance(explanation)),
    ]


def _profiles(explanation: PrototypeExplanation) -> Markup:
    names, features = _names(explanation), explanation.features
    words = ""
    if explanation.ranked:
        first = explanation.ranked[0]
        values = ", ".join(
            f"{name} {value_text(features[first], float(explanation.values[p, first]))}"
            for p, name in enumerate(names[:10])
        )
        words = f" {features[first].name}: {values}"
    rows = [
        [
            features[j].name,
            *(
                value_text(features[j], float(value), float(error))
                for value, error in zip(
                    explanation.values[:, j], explanation.standard_errors[:, j], strict=True
                )
            ),
        ]
        for j in explanation.ranked[: max(1, MOST_CELLS // max(len(names), 1))]
    ]
    overview = [[name, *_facts(explanation, p)] for p, name in enumerate(names)]
    drawn = len(choose_features(explanation))
    figure = draw_profiles(explanation)
    return _html.profiles(explanation, figure, words, drawn, overview, names, rows)


def _names(explanation: PrototypeExplanation) -> list[str]:
    labels, outputs = explanation.labels, explanation.outputs
    return [prototype_name(labels, outputs, p) for p in range(len(labels))]


def _facts(explanation: PrototypeExplanation, p: int) -> tuple[str, str]:
    """Rows of a prototype's class, and how far it is off their mean."""
    count = float(explanation.counts[explanation.labels[p]])
    return count_text(count), mean_share(float(explanation.distance_from_mean[p]))


def _pictures(explanation: PrototypeExplanation) -> Markup:
    errors = explanation.standard_errors
    noise = 2 * float(np.median(errors)) if errors.max(initial=0.0) > 0 else None
    cards = [_card(explanation, p, name) for p, name in enumerate(_names(explanation)[:MOST_CARDS])]
    return _html.pictures(explanation, noise and short(noise, digits=2), cards)


def _card(explanation: PrototypeExplanation, p: int, name: str) -> Markup:
    shape = explanation.image_shape
    assert shape is not None
    lower = np.array([one.lower for one in explanation.features])
    width = np.array([one.upper for one in explanation.features]) - lower
    pictures = [
        Picture(
            paint_grey((values - lower) / width, shape), what, f"Picture of the {what} of {name}"
        )
        for values, what in (
            (explanation.values[p], "prototype"),
            (explanation.means[explanation.labels[p]], "class mean"),
        )
    ]
    count, share = _facts(explanation, p)
    return parts.card(name, pictures, [count, f"{share} off the mean"])


def _relevance(explanation: PrototypeExplanation) -> Markup:
    if not explanation.learned:
        return _html.same_distance(explanation.model_kind)
    if explanation.image_shape is not None:
        painted = paint_sizes(explanation.relevance, explanation.image_shape)
        about = "Picture of how much the distance looks at each pixel"
        return _html.relevant_pixels(Picture(painted, "relevance", about))
    pairs = has_pairs(explanation)
    return _html.relevance(
        explanation,
        draw_relevance(explanation),
        MOST_COLUMNS,
        pairs=draw_pairs(explanation) if pairs else None,
        pairs_words=pairs_text(explanation) if pairs else "",
    )
