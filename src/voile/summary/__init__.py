"""A private description of a table: row count, distributions, frequencies, with error bars."""

from voile.summary.summarize import summarize
from voile.summary.summary import CategorySummary, NumberSummary, Summary

__all__ = ["CategorySummary", "NumberSummary", "Summary", "summarize"]
