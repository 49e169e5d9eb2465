"""Networks from federated averaging as JSON files: those of `networks.files`, and the mode.

The format is that of a network with ``"kind": "voile fedavg"``, and ``"noise"``, the mode, in place
of ``"placement"``. Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from voile.codec import Order
from voile.errors import ModelError
from voile.federated.fedavg.settings import NOISES
from voile.models.networks.files import SavedNetwork
from voile.models.networks.model import NetworkModel
from voile.stored import Stored


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedAverage(SavedNetwork):
    """What stands in the file of a network from federated averaging."""

    kind: ClassVar[str] = "voile fedavg"
    file_order: ClassVar[Order] = (
        *("format", "kind", "voile", "architecture", ..., "schema", "receipt", "placement"),
        "settings",
    )

    placement: Annotated[str, Stored(name="noise")]

    @property
    def placements(self) -> tuple[str, ...]:
        """Where noise may have gone."""
        return tuple(NOISES)

    def build(self) -> NetworkModel:
        """The network, if its receipt does not guarantee more than its mode can."""
        if self.receipt.has_guarantee and self.placement != "client":
            raise ModelError(
                "In a model, the receipt guarantees what its mode cannot: use another copy."
            )
        return super().build()
