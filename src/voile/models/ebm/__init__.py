"""Explainable boosting: a private additive model of tables, one readable curve per column."""
