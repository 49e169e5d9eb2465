"""Attacks on the core itself: low bits of numbers, errors and messages, copies, and refusals."""

from voile.audit.core_attacks.copies import Copies, find_secrets, read_copies
from voile.audit.core_attacks.least_bits import LeastBits, least_bits_test
from voile.audit.core_attacks.messages import Difference, Outcome, compare_outcomes, observe
from voile.audit.core_attacks.odd_values import odd_values
from voile.audit.core_attacks.refusals import CountedColumn, RefusalTiming, refusal_timing

__all__ = [
    "Copies",
    "CountedColumn",
    "Difference",
    "LeastBits",
    "Outcome",
    "RefusalTiming",
    "compare_outcomes",
    "find_secrets",
    "least_bits_test",
    "observe",
    "odd_values",
    "read_copies",
    "refusal_timing",
]
