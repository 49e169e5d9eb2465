"""How much columns add on average over many rows: importances of a black box, with verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from voile.explain.blackbox.significance import Conclusion, judge_contributions

if TYPE_CHECKING:
    from voile.explain.blackbox.local import BlackBoxLocalExplanation


class ColumnImportance(NamedTuple):
    """The mean size of a column's contributions over the explained rows, and how sure it is."""

    column: str
    size: float
    standard_error: float
    verdict: Conclusion


def find_importances(record: BlackBoxLocalExplanation, output: int) -> list[ColumnImportance]:
    """Importances of all columns, the greatest first.

    All rows share the noise of one summary, so the standard error of the mean is taken to be the
    mean standard error: it does not shrink with the number of rows.
    """
    if not len(record):
        return []
    sizes = np.abs(record.values[:, :, output]).mean(axis=0)
    errors = record.standard_errors[:, :, output].mean(axis=0)
    verdicts = judge_contributions(sizes, errors)
    order = np.argsort(-sizes, kind="stable").tolist()
    return [
        ColumnImportance(record.columns[j], float(sizes[j]), float(errors[j]), verdicts[j])
        for j in order
    ]
