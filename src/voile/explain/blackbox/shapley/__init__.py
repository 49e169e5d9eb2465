"""Shapley contributions: how a row's columns add up to its score, against released rows."""
