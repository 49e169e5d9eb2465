"""Heat maps of images as data: where a network found the reasons for its answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.explanation import Explanation
from voile.explain.heat_maps.map_text import maps_text
from voile.explain.plain_data import EXPLANATION, freeze
from voile.privacy.budget import Relation
from voile.privacy.receipt import Receipt

Floats = NDArray[np.float64]

COST = "costs nothing: computed from the released network and from images the caller holds"

_DIGITS = 6
"""Significant digits of numbers in JSON."""

NO_RECEIPT = Receipt(
    what="a network that came without a receipt",
    epsilon=math.inf,
    delta=0.0,
    relation=Relation.ADD_REMOVE,
    unit="row",
    lines=(),
    noise="nobody knows where",
    entry="unknown",
    dataset="unknown",
    at="at an unknown time",
    who="by an unknown hand",
    notes=("How the network was trained is not known here. If it has a receipt, give it.",),
)
"""What stands for the guarantee of a plain module: none is known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMaps(Explanation):
    """Where in each image a network found the reasons for a class; ``outputs`` are the classes.

    Attributes
    ----------
    maps : ndarray of shape (rows, height, width)
        Heat of each pixel. Grad-CAM and SmoothGrad: not negative. Integrated gradients: what the
        pixel added to the class's score, below 0 if it took away.
    pictures : ndarray of uint8, shape (rows, height, width)
        The images in grey, for drawing.
    method : {"grad_cam", "integrated_gradients", "smooth_grad"}
    how : str
        The method's settings in words.
    layer : str
        Name of the layer that Grad-CAM looked at, else empty.
    targets : ndarray of int, shape (rows,)
        Number of the class that each map is about.
    probabilities : ndarray of shape (rows, classes)
        What the network says of each image.
    """

    kind: ClassVar[str] = "heat maps"

    maps: Floats
    pictures: NDArray[np.uint8]
    method: str
    how: str
    layer: str
    targets: NDArray[np.int64]
    probabilities: Floats

    def __post_init__(self) -> None:
        shape, classes = _shape_of(self.maps), len(self.outputs)
        if len(shape) != 3 or 0 in shape[1:] or not classes:
            raise DataError(f"Heat maps must have shape (rows, height, width). Got {shape}.")
        given = {
            "maps": freeze(self.maps, shape, "maps"),
            "probabilities": freeze(self.probabilities, (shape[0], classes), "probabilities"),
        }
        for name, array in given.items():
            if not np.isfinite(array).all():
                raise DataError(f"The {name} of heat maps must be finite.")
            object.__setattr__(self, name, array)
        pictures = _whole(freeze(self.pictures, shape, "pictures"), 256, "pictures")
        targets = _whole(freeze(self.targets, shape[:1], "targets"), classes, "targets")
        object.__setattr__(self, "pictures", _closed(pictures.astype(np.uint8)))
        object.__setattr__(self, "targets", _closed(targets.astype(np.int64)))

    def __len__(self) -> int:
        return len(self.maps)

    def __getitem__(self, rows: int | slice) -> HeatMaps:
        """The maps of one image, or of several."""
        if not isinstance(rows, slice):
            first = range(len(self))[rows]  # IndexError, and negative numbers, as for a list
            rows = slice(first, first + 1)
        return replace(
            self,
            maps=self.maps[rows],
            pictures=self.pictures[rows],
            targets=self.targets[rows],
            probabilities=self.probabilities[rows],
        )

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Number of the class with the highest probability, shape (rows,)."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which maps are 0 everywhere, shape (rows,): the method found no reason in the image."""
        return np.asarray(~self.maps.any(axis=(1, 2)))

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which maps say the same of every pixel, shape (rows,); empty ones are among them."""
        return np.asarray(self.maps.max(axis=(1, 2)) == self.maps.min(axis=(1, 2)))

    @property
    def signed(self) -> bool:
        """Whether heat may also speak against a class."""
        return self.method == "integrated_gradients"

    # -- forms ----------------------------------------------------------------------------------

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per image, without its pixels: the rows of `to_frame`."""
        tops = np.abs(self.maps).max(axis=(1, 2), initial=0.0)
        empty, constant = self.empty, self.constant
        return [
            {
                "image": row,
                "predicted": self.outputs[predicted],
                "probability": float(self.probabilities[row, predicted]),
                "target": self.outputs[self.targets[row]],
                "target_probability": float(self.probabilities[row, self.targets[row]]),
                "strongest": float(tops[row]),
                "empty": bool(empty[row]),
                "constant": bool(constant[row]),
            }
            for row, predicted in enumerate(self.predicted.tolist())
        ]

    def to_json(self, *, indent: int | None = None) -> str:
        """As JSON text: numbers have six digits, maps are lists of lines of pixels."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the page of `to_html`, and return its path."""
        return self.to_html(path)

    def _facts(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "how": self.how,
            "layer": self.layer,
            "targets": self.targets.tolist(),
            "predicted": self.predicted.tolist(),
            "probabilities": _rounded(self.probabilities),
            "empty": self.empty.tolist(),
            "constant": self.constant.tolist(),
            "maps": _rounded(self.maps),
            "pictures": self.pictures.tolist(),
        }

    @classmethod
    def _read_facts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "maps": EXPLANATION.listed(data["maps"], "'maps'"),
            "pictures": data["pictures"],
            "method": EXPLANATION.text(data["method"], "'method'"),
            "how": EXPLANATION.text(data["how"], "'how'"),
            "layer": EXPLANATION.text(data["layer"], "'layer'"),
            "targets": data["targets"],
            "probabilities": data["probabilities"],
        }

    def __str__(self) -> str:
        return maps_text(self)


def _shape_of(maps: Any) -> tuple[int, ...]:
    try:
        return tuple(np.shape(maps))
    except ValueError:  # lines of different lengths
        return ()


def _whole(values: Floats, below: int, what: str) -> Floats:
    if not ((values >= 0) & (values < below) & (values == np.rint(values))).all():
        raise DataError(f"The {what} of heat maps must be whole numbers from 0 to {below - 1}.")
    return values


def _closed(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _rounded(values: Floats) -> list[Any]:
    """Nested lists of numbers with few digits."""
    flat = np.array([float(f"{one:.{_DIGITS}g}") for one in values.ravel().tolist()])
    return list(flat.reshape(values.shape).tolist())
