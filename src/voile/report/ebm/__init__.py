"""Pages of additive models."""
