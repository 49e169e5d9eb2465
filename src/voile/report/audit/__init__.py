"""Pages of attacks and replays."""

from voile.report.audit import leakage, membership, page, replay, terminal

__all__ = ["leakage", "membership", "page", "replay", "terminal"]
