"""What is public about a table: columns, bounds, categories, classes, row count."""

from voile.schema.columns import Category, Column, Level, Number
from voile.schema.schema import Schema

__all__ = ["Category", "Column", "Level", "Number", "Schema"]
