"""Mechanisms: the only ways a value leaves the vault."""

from voile.privacy.mechanisms.aggregate import aggregate_mean, center_of_attention
from voile.privacy.mechanisms.attention import attention_groups
from voile.privacy.mechanisms.release import Release
from voile.privacy.mechanisms.selection import exponential, permute_and_flip, top_k
from voile.privacy.mechanisms.slopes import PrivateSlopes
from voile.privacy.mechanisms.sums import gaussian_sum, laplace_sum

__all__ = [
    "PrivateSlopes",
    "Release",
    "aggregate_mean",
    "attention_groups",
    "center_of_attention",
    "exponential",
    "gaussian_sum",
    "laplace_sum",
    "permute_and_flip",
    "top_k",
]
