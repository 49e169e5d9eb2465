"""Fitting under the eye of an insider: the door through which audits watch the vault.

An estimator's ``fit_federated`` takes what `watch` gives, and trains as on any other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.privacy.sources.insider import Evidence, InsiderSource
from voile.privacy.sources.table import TableSource
from voile.privacy.vault import PrivateTable
from voile.schema import Schema, Unit


@dataclass(frozen=True, eq=False)
class InsiderFit:
    """Rows and canaries that one job may be trained on, and what the insider makes of it.

    Attributes
    ----------
    schema : Schema
    seed : int
        Public randomness for the job.
    """

    schema: Schema
    seed: int
    _source: InsiderSource
    _evidence: Evidence

    @property
    def table(self) -> PrivateTable:
        """The rows, to be summed over."""
        return PrivateTable(self._source, object())

    @property
    def scores(self) -> NDArray[np.float64]:
        """Log-likelihood ratio of "takes part" to "does not", of each canary."""
        return self._evidence.scores

    @property
    def scores_by_step(self) -> dict[str, NDArray[np.float64]]:
        """The same by the steps of the plan, in the order of their first accesses."""
        return dict(self._evidence.by_step)

    @property
    def accesses(self) -> int:
        """Noised sums that the insider has seen."""
        return self._evidence.accesses


def watch(
    X: object,
    y: object,
    canaries: Sequence[tuple[object, object]],
    present: Sequence[bool],
    schema: Schema,
    seed: int = 0,
) -> InsiderFit:
    """Put rows and canaries into a vault with an insider.

    Parameters
    ----------
    X, y : table of shape (rows, columns), and its target
        All other rows.
    canaries : sequence of (X, y)
        Tables of one row each, of the same kind as ``X``.
    present : sequence of bool
        Which canaries take part.
    schema : Schema
        With a target. Private units of several rows are not watched.
    seed : int
        Public randomness for the job.
    """
    if len(canaries) != len(present):
        raise SettingError("Say of every canary whether it is present.")
    if schema.privacy_unit != Unit():
        raise SettingError("Audits watch single rows: give a schema without a privacy unit.")
    evidence = Evidence(len(canaries))
    rows = TableSource(X, y, schema)
    lone = [TableSource(one, target, schema) for one, target in canaries]
    if any(sum(block.rows for block in one.blocks(())) != 1 for one in lone):
        raise DataError("A canary is one row: give tables of one row each.")
    return InsiderFit(schema, seed, InsiderSource(rows, lone, present, evidence), evidence)
