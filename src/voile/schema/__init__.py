"""What is public about a table: columns, bounds, categories, classes, row count, privacy unit."""

from voile.schema.columns import Category, Column, Level, Number
from voile.schema.dates import Date
from voile.schema.schema import Schema
from voile.schema.unit import Unit

__all__ = ["Category", "Column", "Date", "Level", "Number", "Schema", "Unit"]
