"""Figures and pages: what a person looks at."""
