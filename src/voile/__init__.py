"""Voile: models you can see through, trained on data nobody can."""

from voile.version import __version__

__all__ = ["__version__"]
