"""Pages of locally linear models."""
