"""Influences of pixels as heat maps, beside the picture of the asked row."""

from __future__ import annotations

import numpy as np

from voile.explain.influences import Influences
from voile.explain.wording import short
from voile.report.kit.pictures import (
    Picture,
    Pixels,
    paint_over,
    paint_picture,
    place_card,
    place_cards,
)
from voile.report.locally_linear.pictures import paint_filter, sum_channels


def paint_asked(record: Influences, row: int) -> Pixels:
    """The asked row as a picture, between the bounds of its pixels."""
    assert record.picture is not None
    return paint_picture((record.strengths[row] + 1.0) / 2.0, record.picture)


def place_heat(record: Influences, row: int, output: int) -> str:
    """The row beside its heat map: alone, over the row, and without what may be noise."""
    shape, asked = record.picture, paint_asked(record, row)
    assert shape is not None
    values, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    about, flat = f"influences on '{record.outputs[output]}'", sum_channels(values, shape)
    pictures = [
        Picture(asked, "this row", "Picture of this row"),
        Picture(paint_filter(values, shape), "influence", f"Heat map of {about}"),
        Picture(paint_over(flat, asked), "over this row", f"Heat map over the row: {about}"),
    ]
    if np.isfinite(errors).all() and errors.max(initial=0.0) > 0:
        clear = paint_filter(values, shape, errors)
        told = f"Heat map, grey where it may be noise: {about}"
        pictures.append(Picture(clear, "beyond noise", told))
    top = short(float(np.abs(flat).max(initial=0.0)), digits=2)
    note = f"Orange raises the score, blue lowers it; full colour is {top} a pixel."
    return place_cards([place_card("", pictures, [note])])
