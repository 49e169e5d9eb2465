"""Linear maps and inputs that are pictures, as cards of a page."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from voile.explain.locally_linear.likeness import draw_likeness
from voile.explain.locally_linear.local import LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.locally_linear.overall_text import noise_text, spread_text
from voile.explain.wording import percent, short
from voile.report.kit import pictures as kit
from voile.report.kit.html import parts
from voile.report.kit.pictures import Picture, Pixels

MOST_LINEAR_MAPS = 4
"""Linear maps of a row that are drawn, those that counted most."""


def find_class(bank: LocallyLinearExplanation, k: int) -> list[Picture]:
    """What a class looks for: its likeness, its blended map, and the linear map without noise."""
    shape, likeness = bank.image_shape, bank.likeness
    assert shape is not None
    assert likeness is not None
    name, errors = f"'{bank.outputs[k]}'", bank.contrast_errors[k]
    pictures = [
        Picture(
            kit.paint_picture(likeness[k], shape), "typical pattern", f"Typical pattern of {name}"
        ),
        Picture(kit.paint_weights(bank.contrast[k], shape), "linear map", f"Blended map of {name}"),
    ]
    if kit.is_coloured(shape):
        tints = kit.paint_tints(bank.contrast[k], shape)
        pictures.append(Picture(tints, "in colours", f"Blended map of {name} in colours"))
    if errors.max(initial=0.0) > 0:
        clear = kit.paint_weights(bank.contrast[k], shape, errors)
        pictures.append(
            Picture(clear, "beyond noise", f"Linear map of {name}, grey where it may be noise")
        )
    return pictures


def place_class(bank: LocallyLinearExplanation, k: int) -> Markup:
    """What a class looks for, as a card."""
    notes = [text for text in (spread_text(bank, k), noise_text(bank, k)) if text]
    return parts.card(f"'{bank.outputs[k]}'", find_class(bank, k), notes)


def place_summary(bank: LocallyLinearExplanation, k: int) -> Markup:
    """The linear maps of a class that count most and differ, each beside what it looks for."""
    shape, likeness = bank.image_shape, bank.linear_map_likeness
    assert shape is not None
    assert likeness is not None
    pictures = []
    for m in bank.summary[k]:
        about = f"linear map {m + 1} of '{bank.outputs[k]}'"
        share = percent(float(bank.shares[k, m]))
        looks = kit.paint_picture(likeness[k, m], shape)
        drawn = kit.paint_weights(bank.distinct[k, m], shape)
        pictures.append(Picture(looks, f"no. {m + 1}, {share}", f"Typical pattern of {about}"))
        pictures.append(Picture(drawn, f"its linear map no. {m + 1}", f"Picture of {about}"))
    return parts.card(f"'{bank.outputs[k]}'", pictures)


def place_all(bank: LocallyLinearExplanation, k: int) -> Markup:
    """All linear maps of a class, those that count most first."""
    shape = bank.image_shape
    assert shape is not None
    pictures = [
        Picture(
            kit.paint_weights(bank.distinct[k, m], shape),
            f"no. {m + 1}, {percent(float(bank.shares[k, m]))}",
            f"Picture of linear map {m + 1} of '{bank.outputs[k]}'",
        )
        for m in map(int, bank.ranked[k])
    ]
    return parts.card(f"'{bank.outputs[k]}'", pictures)


def paint_row(record: LocallyLinearLocalExplanation, row: int) -> Pixels:
    """The row itself as a picture, between the bounds of its pixels."""
    assert record.image_shape is not None
    lower = np.array([one.lower for one in record.features])
    width = np.array([one.upper for one in record.features]) - lower
    shares = (record.decisions[row].values - lower) / width
    return kit.paint_picture(shares, record.image_shape)


def find_row(record: LocallyLinearLocalExplanation, row: int) -> dict[str, list[Picture]]:
    """The row beside what its class and the runner-up looked for, and what decided, by titles."""
    shape, likeness = record.image_shape, record.likeness(row)
    assert shape is not None
    assert likeness is not None
    one, input_picture = record.decisions[row], paint_row(record, row)
    linear_maps, added = record.distinct(row), record.contributions(row)
    # Without what it adds to every class alike, which decides nothing.
    own = added - added.mean(axis=0) if len(added) > 1 else added
    cards = {"": [Picture(input_picture, "this row", "Picture of this row")]}
    for k in (one.predicted, one.runner_up):
        if k < 0:
            continue
        name = f"'{record.outputs[k]}'"
        painted = kit.paint_over(kit.sum_channels(own[k], shape), input_picture)
        cards[f"{name}: score {short(float(one.scores[k]))}"] = [
            Picture(
                kit.paint_picture(likeness[k], shape),
                "typical pattern",
                f"Typical pattern of {name}",
            ),
            Picture(
                kit.paint_weights(linear_maps[k], shape), "blended map", f"Linear map of {name}"
            ),
            Picture(painted, "what pixels added", f"What the pixels added to {name}"),
        ]
    if one.runner_up >= 0:
        lead = kit.sum_channels(record.against(row), shape)
        caption = "orange speaks for the first, blue for the second"
        drawn = Picture(kit.paint_over(lead, input_picture), caption, f"Picture: {caption}")
        right, wrong = (record.outputs[k] for k in (one.predicted, one.runner_up))
        cards[f"'{right}' or '{wrong}'"] = [drawn]
    return cards


def place_row(record: LocallyLinearLocalExplanation, row: int) -> list[Markup]:
    """The pictures of a row as cards."""
    return [parts.card(title, pictures) for title, pictures in find_row(record, row).items()]


def place_ranked(record: LocallyLinearLocalExplanation, row: int, output: int) -> Markup:
    """The linear maps of a class that counted most for the row, with their weights."""
    shape, one = record.image_shape, record.decisions[row]
    assert shape is not None
    common = record.linear_maps.mean(axis=0) if len(record.outputs) > 1 else 0.0
    ranked = list(one.ranked(output)[:MOST_LINEAR_MAPS])
    linear_maps = (record.linear_maps[output] - common)[ranked]
    likeness = draw_likeness(linear_maps, record.average, shape)
    pictures = []
    for n, m in enumerate(ranked):
        about = f"linear map {m + 1} of '{record.outputs[output]}'"
        share, says = float(one.shares[output, m]), float(one.map_scores[output, m])
        caption = f"no. {m + 1}: {percent(share)}, says {short(says)}"
        looks = kit.paint_picture(likeness[n], shape)
        pictures.append(Picture(looks, caption, f"Typical pattern of {about}"))
        drawn = kit.paint_weights(linear_maps[n], shape)
        pictures.append(Picture(drawn, f"its linear map no. {m + 1}", f"Picture of {about}"))
    title = f"Linear maps of '{record.outputs[output]}' that counted most"
    return parts.card(title, pictures)
