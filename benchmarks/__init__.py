"""Benchmarks: a folder per family, each with the figures that pages quote in its results/."""
