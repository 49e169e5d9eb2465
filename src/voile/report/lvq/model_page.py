"""The page of a prototype model: its typical points, what the distance looks at, the receipt."""

from __future__ import annotations

import numpy as np

from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import (
    count_text,
    empty_text,
    mean_share,
    no_rows_text,
    prototype_name,
    relevance_text,
    value_text,
)
from voile.explain.wording import short
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table
from voile.report.kit.pictures import Picture, paint_grey, paint_sizes, place_card, place_cards
from voile.report.kit.section import Section, place_plainly
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


def draw_page(explanation: PrototypeExplanation) -> str:
    """The whole page as HTML."""
    body = [*draw_lead(explanation), *place_plainly(draw_sections(explanation))]
    return compose_page("What is typical", body, explanation.receipt, cost=explanation.cost)


def draw_sections(explanation: PrototypeExplanation) -> list[Section]:
    """The typical points, and what the distance looks at."""
    points = _pictures(explanation) if explanation.image_shape else _profiles(explanation)
    return [
        Section("The typical points", "points", tuple(points)),
        Section("What the distance looks at", "distance", tuple(_relevance(explanation))),
    ]


def draw_lead(explanation: PrototypeExplanation) -> list[str]:
    """What the model is, in a few sentences, as HTML."""
    count, classes = len(explanation.labels), len(explanation.outputs)
    kind = KINDS.get(explanation.model_kind, explanation.model_kind)
    text = (
        f"A model of {count} typical {'point' if count == 1 else 'points'} (prototypes) for "
        f"{classes} {'class' if classes == 1 else 'classes'} ({kind}). A row gets the class of "
        f"the prototype nearest to it: these points and what the distance looks at are the whole "
        f"model."
    )
    parts = [paragraph(text), paragraph(no_rows_text(explanation.receipt))]
    if explanation.empty_classes:
        parts.append(paragraph(empty_text(explanation)))
    return parts


# -- prototypes ---------------------------------------------------------------------------------


def _profiles(explanation: PrototypeExplanation) -> list[str]:
    drawn, every = len(choose_features(explanation)), len(explanation.features)
    note = (
        "Each line runs from a feature's lower to its upper bound, which is also how the model "
        "measures. A dot is a prototype, its whisker two standard errors of the privacy noise, an "
        "upright stroke the private mean of its class. Levels of a category are shares of rows."
    )
    if drawn < every:
        note += f" Shown: {drawn} of {every} features, the most relevant; the table has all."
    names = [
        prototype_name(explanation.labels, explanation.outputs, p)
        for p in range(len(explanation.labels))
    ]
    first = explanation.ranked[0] if explanation.ranked else None
    words = (
        ""
        if first is None
        else ", ".join(
            f"{name} {value_text(explanation.features[first], float(explanation.values[p, first]))}"
            for p, name in enumerate(names[:10])
        )
    )
    about = "" if first is None else f" {explanation.features[first].name}: {words}"
    return [
        place_figure(draw_profiles(explanation), "profiles", f"Profiles of prototypes.{about}"),
        paragraph(note, note=True),
        _overview(explanation, names),
        paragraph(_mean_note(), note=True),
        *_beyond_note(explanation),
        _numbers(explanation, names),
    ]


def _overview(explanation: PrototypeExplanation, names: list[str]) -> str:
    rows = [
        [
            name,
            count_text(float(explanation.counts[label])),
            mean_share(float(explanation.distance_from_mean[p])),
        ]
        for p, (name, label) in enumerate(zip(names, explanation.labels, strict=True))
    ]
    return place_table(["prototype", "rows of its class", "off the class mean"], rows, numbers=2)


def _mean_note() -> str:
    return (
        "Off the class mean: how far a prototype is from the private mean of its class, as a part "
        "of the usual distance between two classes. At 0 % it is the mean itself; a large part "
        "tells that it stands for the border of a class, for a group within it, or for noise."
    )


def _beyond_note(explanation: PrototypeExplanation) -> list[str]:
    count = sum(explanation.beyond)
    if not count:
        return []
    every = explanation.values.size
    text = (
        f"{count:,} of {every:,} values of prototypes lie beyond the bounds, by the noise or by "
        f"training, and are shown at the bound."
    )
    return [paragraph(text, note=True)]


def _numbers(explanation: PrototypeExplanation, names: list[str]) -> str:
    ranked = explanation.ranked[: max(1, MOST_CELLS // max(len(names), 1))]
    rows = [
        [
            explanation.features[j].name,
            *(
                value_text(
                    explanation.features[j],
                    float(explanation.values[p, j]),
                    float(explanation.standard_errors[p, j]),
                )
                for p in range(len(names))
            ),
        ]
        for j in ranked
    ]
    every = len(explanation.features)
    title = "Numbers of all features" if len(rows) == every else f"{len(rows)} of {every} features"
    return fold(title, place_table(["feature", *names], rows, numbers=len(names)))


def _pictures(explanation: PrototypeExplanation) -> list[str]:
    assert explanation.image_shape is not None
    count = len(explanation.labels)
    note = (
        "Left the prototype, right the private mean of its class. Black is the lower bound of a "
        "pixel, white the upper one. "
    )
    errors = explanation.standard_errors
    if errors.max(initial=0.0) > 0:
        noise = 2 * float(np.median(errors))
        note += f"The privacy noise moves a pixel by about ± {short(noise, digits=2)} "
        note += "(two standard errors): what is fainter than that may be noise."
    if count > MOST_CARDS:
        note += f" Shown: {MOST_CARDS} of {count} prototypes."
    cards = [_card(explanation, p) for p in range(min(count, MOST_CARDS))]
    return [
        paragraph(note, note=True),
        place_cards(cards),
        paragraph(_mean_note(), note=True),
        *_beyond_note(explanation),
    ]


def _card(explanation: PrototypeExplanation, p: int) -> str:
    shape, label = explanation.image_shape, explanation.labels[p]
    assert shape is not None
    name = prototype_name(explanation.labels, explanation.outputs, p)
    lower = np.array([one.lower for one in explanation.features])
    width = np.array([one.upper for one in explanation.features]) - lower
    pictures = [
        Picture(
            paint_grey((values - lower) / width, shape),
            caption,
            f"Picture of the {caption} of {name}",
        )
        for values, caption in (
            (explanation.values[p], "prototype"),
            (explanation.means[label], "class mean"),
        )
    ]
    share = mean_share(float(explanation.distance_from_mean[p]))
    count = count_text(float(explanation.counts[label]))
    return place_card(name, pictures, [count, f"{share} off the mean"])


# -- the metric ---------------------------------------------------------------------------------


def _relevance(explanation: PrototypeExplanation) -> list[str]:
    if not explanation.learned:
        text = "At all features alike, each measured by its range"
        if explanation.model_kind == "gmlvq":
            return [paragraph(f"{text}: training ended without another distance.")]
        return [paragraph(f"{text}: this kind of model learns no distance of its own.")]
    if explanation.image_shape is not None:
        picture = Picture(
            paint_sizes(explanation.relevance, explanation.image_shape),
            "relevance",
            "Picture of how much the distance looks at each pixel",
        )
        note = "The darker a pixel, the more the distance looks at it; white is not at all."
        return [place_cards([place_card("", [picture])]), paragraph(note, note=True)]
    columns = len(explanation.columns)
    note = (
        "A bar is the part of a column (the levels of a category together) in the squared "
        "distance, if all features differ alike: the diagonal of the metric. The privacy noise of "
        "the metric is not known, so there are no whiskers."
    )
    if columns > MOST_COLUMNS:
        note += f" Shown: {MOST_COLUMNS} of {columns} columns."
    return [
        place_figure(draw_relevance(explanation), "relevance", relevance_text(explanation)),
        paragraph(note, note=True),
        *_pairs(explanation),
    ]


def _pairs(explanation: PrototypeExplanation) -> list[str]:
    if not has_pairs(explanation):
        return []
    shown, every = len(explanation.related), len(explanation.features)
    note = (
        "Orange: to differ in both features the same way counts more than each alone. Blue: it "
        "counts less, so that one can make up for the other. The diagonal is in the bars above. "
        "Numbers beneath are those of the lines."
    )
    if shown < every:
        note += f" Shown: {shown} of {every} features, the most relevant."
    description = (
        f"Map of how {shown} features count together, {pairs_text(explanation)}. "
        f"{relevance_text(explanation)}"
    )
    return [
        heading("Features that it looks at together", level=3),
        place_figure(draw_pairs(explanation), "pairs", description),
        paragraph(note, note=True),
    ]
