"""Federated averaging: as published, with its published noise, or with a guarantee for clients."""

from voile.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra("torch", "federated") from error
