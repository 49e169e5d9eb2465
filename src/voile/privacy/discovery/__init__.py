"""Finding privately what the schema does not say: row count, bounds, levels, bins, quantiles."""

from voile.privacy.discovery.bounds import LogCells, find_bounds
from voile.privacy.discovery.histogram import Histogram
from voile.privacy.discovery.levels import find_levels
from voile.privacy.discovery.missing import (
    complete,
    complete_target,
    discovery_shape,
    target_part,
    warn_of_guesses,
)
from voile.privacy.discovery.tree import TreeCells, find_histogram

__all__ = [
    "Histogram",
    "LogCells",
    "TreeCells",
    "complete",
    "complete_target",
    "discovery_shape",
    "find_bounds",
    "find_histogram",
    "find_levels",
    "target_part",
    "warn_of_guesses",
]
