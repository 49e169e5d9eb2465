"""Private neural networks, trained by noised sums of clipped gradients over rows."""

from voile.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra("torch", "federated") from error
