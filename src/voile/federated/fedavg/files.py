"""Networks from federated averaging as JSON files: those of `networks.files`, and the mode.

The format is that of a network with ``"kind": "voile fedavg"``, and ``"noise"``, the mode, in place
of ``"placement"``. Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from voile.errors import ModelError
from voile.federated.fedavg.settings import NOISES
from voile.federated.networks import files as networks
from voile.federated.networks.model import NetworkModel
from voile.models.json_files import read_json, write_json
from voile.models.training_settings import Settings, add_settings

KIND = "voile fedavg"


def to_dict(model: NetworkModel) -> dict[str, Any]:
    """Write a model as plain dictionaries, lists, text and numbers."""
    data = networks.to_dict(model)
    del data["placement"]
    return {**data, "kind": KIND, "noise": model.placement}


def from_dict(data: Any) -> NetworkModel:
    """Read a model back.

    Raises
    ------
    ModelError
        If it is not, or no longer, such a model, or its architecture is not registered here.
    """
    if not isinstance(data, Mapping) or data.get("kind") != KIND:
        raise ModelError(f"This is not a model: its 'kind' is not {KIND!r}. Give a saved model.")
    fields = dict(data)
    noise = fields.pop("noise", None)
    if noise not in NOISES or "placement" in fields:
        raise ModelError("In a model, 'noise' is unknown: use the version that wrote it.")
    plain = {**fields, "kind": networks.KIND, "placement": "uniform"}
    model = replace(networks.from_dict(plain), placement=str(noise))
    if model.receipt.guarantee and noise != "client":
        raise ModelError("In a model, the receipt promises what its mode cannot: use another copy.")
    return model


def write(model: NetworkModel, path: str | Path, settings: Settings | None = None) -> Path:
    """Write a model, and the settings of its training, to a JSON file, wholly or not at all."""
    data = to_dict(model)
    from_dict(data)  # what could not be read back is refused here
    return write_json(add_settings(data, settings), path)


def read(path: str | Path) -> NetworkModel:
    """Read a model back from a file; its architecture must be registered."""
    return read_json(path, from_dict)
