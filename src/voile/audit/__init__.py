"""Attacks on released models, and how far they get beside what the promise allows."""
