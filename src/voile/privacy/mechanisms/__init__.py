"""Mechanisms: the only ways a value leaves the vault."""

from voile.privacy.mechanisms.release import Release
from voile.privacy.mechanisms.selection import exponential, permute_and_flip, top_k
from voile.privacy.mechanisms.sums import gaussian_sum, laplace_sum

__all__ = [
    "Release",
    "exponential",
    "gaussian_sum",
    "laplace_sum",
    "permute_and_flip",
    "top_k",
]
