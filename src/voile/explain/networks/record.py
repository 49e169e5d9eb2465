"""Heat maps of images as data: where a network found the reasons for its answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats
from voile.codec import Order
from voile.errors import DataError
from voile.explain.explanation import FOOT, HEAD, ExplainedRows
from voile.explain.networks.map_text import maps_text
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.receipt import Receipt

COST = "costs nothing: computed from the released network and from images the caller holds"

NO_RECEIPT = Receipt(
    what="a network that came without a receipt",
    epsilon=math.inf,
    delta=0.0,
    relation=NeighbouringRelation.ADD_REMOVE,
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
class HeatMaps(ExplainedRows):
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

    indent: ClassVar[int | None] = None
    of_rows: ClassVar[tuple[str, ...]] = ("maps", "pictures", "targets", "probabilities")
    file_order: ClassVar[Order] = (
        *HEAD,
        *("method", "how", "layer", "targets", "predicted", "probabilities", "empty", "constant"),
        *("maps", "pictures"),
        *FOOT,
    )

    maps: Annotated[Floats, Array("map_shape", digits=6)]
    pictures: Annotated[NDArray[np.uint8], Array("map_shape", least=0, most=255)]
    method: str
    how: str
    layer: str
    targets: Annotated[NDArray[np.int64], Array("maps", least=0)]
    probabilities: Annotated[Floats, Array("maps", "outputs", digits=6)]

    def __post_init__(self) -> None:
        super().__post_init__()
        shape, classes = self.map_shape, len(self.outputs)
        if len(shape) != 3 or 0 in shape[1:] or not classes:
            raise DataError(f"Heat maps must have shape (rows, height, width). Got {shape}.")
        if (self.targets >= classes).any():
            raise DataError(f"The targets of heat maps must be from 0 to {classes - 1}.")

    @property
    def map_shape(self) -> tuple[int, ...]:
        """Rows, height and width."""
        return self.maps.shape

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

    def save(self, path: str | Path) -> Path:
        """Write the page of `to_html`, and return its path."""
        return self.to_html(path)

    def __str__(self) -> str:
        return maps_text(self)
