"""Locally linear maps: several linear maps per class, blended by how well each fits the row."""
