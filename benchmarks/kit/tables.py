"""Markdown tables, and numbers in them."""

import numpy as np


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def digits(value: float, count: int) -> str:
    """So many significant digits, never an exponent."""
    return str(np.format_float_positional(value, precision=count, fractional=False, trim="-"))
