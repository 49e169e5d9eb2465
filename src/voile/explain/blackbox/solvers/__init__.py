"""From sums over rows to local linear models."""
