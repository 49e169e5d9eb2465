"""Explanations that read a model and nothing else: they cost nothing."""
