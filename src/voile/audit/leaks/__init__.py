"""Demonstrations of leaks: what low bits, step counts and plain prototypes give away."""
