"""Colours as figures name them: letters apart from their opacity, and scales of colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.colors

_NAMES = {"black": "#000000", "grey": "#808080", "gray": "#808080"}
_RGB = re.compile(r"rgba?\(([^)]*)\)")


def split_colour(colour: str) -> tuple[str, float]:
    """A colour as #rrggbb (or #rgb), and its opacity; white is the page, and keeps its name.

    Examples
    --------
    >>> split_colour("rgba(0,114,178,0.25)"), split_colour("#222"), split_colour("white")
    (('#0072b2', 0.25), ('#222', 1.0), ('white', 1.0))
    """
    text = _NAMES.get(colour.lower(), colour.lower())
    found = _RGB.fullmatch(text)
    if not found:
        return text, 1.0
    red, green, blue, *alpha = (float(part) for part in found[1].split(","))
    return "#" + "".join(f"{round(one):02x}" for one in (red, green, blue)), (alpha or [1.0])[0]


@dataclass(frozen=True)
class ColourStop:
    """A place on a scale, from 0 to 1, with its colour and opacity."""

    at: float
    colour: str
    opacity: float = 1.0


def read_scale(given: Any) -> tuple[ColourStop, ...]:
    """Stops of a scale in plotly's form, or of one that plotly knows by name."""
    stops = plotly.colors.get_colorscale(given) if isinstance(given, str) else given
    found = ((float(at), *split_colour(colour)) for at, colour in stops)
    return tuple(
        ColourStop(at, colour.replace("white", "#ffffff"), opacity) for at, colour, opacity in found
    )


def sample_scale(stops: Sequence[ColourStop], share: float) -> tuple[str, float]:
    """The colour at a share from 0 to 1, and its opacity.

    Examples
    --------
    >>> sample_scale((ColourStop(0, "#000000", 0.0), ColourStop(1, "#ffffff")), 0.5)
    ('#808080', 0.5)
    """
    places = [one.at for one in stops]
    parts = np.array([[int(one.colour[i : i + 2], 16) for i in (1, 3, 5)] for one in stops])
    mixed = [round(float(np.interp(share, places, parts[:, i]))) for i in range(3)]
    opacity = float(np.interp(share, places, [one.opacity for one in stops]))
    return "#" + "".join(f"{one:02x}" for one in mixed), opacity
