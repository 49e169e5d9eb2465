"""The only names from inside the library that stored results need: all others are public."""

from voile.errors import NoLedgerWarning
from voile.privacy.noise import fixed_noise

try:
    import torch
except ImportError:
    torch = None

__all__ = ["NoLedgerWarning", "explain_images", "fixed_noise", "leakage", "tiny_network", "torch"]


def explain_images(*given, **more):
    from voile.explain.networks.making import explain_images as explain

    return explain(*given, **more)


def leakage():
    """The package of attacks on gradients."""
    import voile.audit.gradient_leakage

    return voile.audit.gradient_leakage


def tiny_network():
    """The name of a small network, which files of models tell; it must be known to load them."""
    name = "tiny network of stored results"
    if name not in _registered:
        from voile.models.networks.architectures import register

        register(name, _make_tiny)
        _registered.add(name)
    return name


_registered: set[str] = set()


def _make_tiny(image_shape, classes):
    nn = torch.nn
    height, width = (image_shape[1] + 1) // 2, (image_shape[2] + 1) // 2
    return nn.Sequential(
        nn.Conv2d(image_shape[0], 4, 3, stride=2, padding=1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(4 * height * width, classes),
    )
