"""Pages of networks: heat maps."""

from voile.report.networks import page, terminal

__all__ = ["page", "terminal"]
