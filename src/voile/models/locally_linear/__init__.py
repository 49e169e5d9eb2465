"""Locally linear maps: several linear filters per class, blended by how well each fits the row."""
