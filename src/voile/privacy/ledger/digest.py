"""Digests that bind each line of a ledger to all lines before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voile.privacy.ledger.facts import LedgerFacts

Stored = str | int | None
"""What a column of a stored line holds."""


def digest_of(before: str, fields: Mapping[str, Stored]) -> str:
    """SHA-256 of a line as it is stored, and of the digest of the line before it."""
    text = json.dumps([before, fields], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def beginning_of(facts: LedgerFacts) -> str:
    """The digest before the first entry: of what is true of the whole ledger."""
    return digest_of("voile ledger", {"dataset": facts.dataset, "facts": facts.to_json()})


def beginning_of_refusals(facts: LedgerFacts) -> str:
    """The digest before the first refusal."""
    return digest_of("voile refusals", {"ledger": beginning_of(facts)})
