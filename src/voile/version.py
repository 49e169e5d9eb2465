"""The version of Voile, written into every receipt and saved model."""

__version__ = "0.1.0.dev0"
