"""Row sources: where private rows lie, and how a query is added up over them."""

from voile.privacy.sources.block import Block
from voile.privacy.sources.source import RowSource

__all__ = ["Block", "RowSource"]
