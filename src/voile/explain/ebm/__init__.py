"""Explanations of additive models: terms, and what they add for single rows."""
