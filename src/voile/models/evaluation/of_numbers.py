"""The quality of a regression: root mean square, mean size and mean of its errors, by group too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from voile.models.evaluation import measures as m
from voile.models.evaluation.looks import LEAST_ROWS, level_names, look, of_group, pay
from voile.models.evaluation.queries import ERROR_CUTS, ErrorSizes, ErrorSums, GroupErrors
from voile.models.evaluation.record import Evaluation, GroupScores, Measure, digest_of_edits
from voile.privacy.budget import Budget
from voile.privacy.calibrate import gaussian_share
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Schema

_SIZES, _SUMS = "sizes of errors", "errors"


def evaluate_numbers(
    table: PrivateTable,
    model: Any,
    kind: str,
    budget: Budget,
    book: Ledger,
    groups: tuple[str, ...],
    confidence: float,
) -> Evaluation:
    """Measure a regression on protected rows."""
    target = model.schema.target
    width = float(target.upper) - float(target.lower)
    shape = [gaussian_share(_SIZES, 0.2), gaussian_share(_SUMS, 0.6)]
    shape += [gaussian_share(of_group(name), 0.4) for name in groups]
    grant = pay(table, model, kind, groups, Plan(tuple(shape)), budget, book)
    sizes = look(table, ErrorSizes(width), grant, _SIZES)
    clip, beyond = _choose_clip(sizes, width)
    sums = look(table, ErrorSums(clip), grant, _SUMS)
    rows = float(sums.values[0])
    told, notes = _group_errors(table, grant, model.schema, groups, sizes, clip, width, confidence)
    if beyond > 0:
        notes.append(
            f"Errors beyond {clip:.4g} (at most about {100 * beyond:.1f} % of the rows) count as "
            "that much."
        )
    return Evaluation(
        model=kind,
        target="regression",
        rows=rows,
        confidence=confidence,
        measures=tuple(_of_errors(sizes, sums, clip, width, confidence)),
        classes=(),
        confusion=(),
        reliability=(),
        groups=tuple(told),
        receipt=write_receipt(grant, budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _group_errors(
    table: PrivateTable,
    grant: Grant,
    schema: Schema,
    groups: tuple[str, ...],
    sizes: m.Counted,
    clip: float,
    width: float,
    confidence: float,
) -> tuple[list[GroupScores], list[str]]:
    told, notes = [], []
    for name in groups:
        levels = level_names(schema, name)
        sums = look(table, GroupErrors(clip, name, len(levels) - 2), grant, of_group(name))
        silent = []
        for level, values in zip(levels, sums.values.reshape(len(levels), 4), strict=True):
            if values[0] < LEAST_ROWS * sums.noise or values[0] < 1.0:
                silent.append(level)
                continue
            mine = m.Counted(values, sums.noise)
            found = _of_errors(sizes, mine, clip, width, confidence)
            told.append(GroupScores(name, level, float(values[0]), tuple(found)))
        if silent:
            notes.append(f"Too few rows to tell, by {name}: {', '.join(silent)}.")
    return told, notes


def _choose_clip(sizes: m.Counted, width: float) -> tuple[float, float]:
    """The largest size of errors that stands clear of the noise, and what may lie beyond it."""
    counts = sizes.values[:-1]
    # Thirty cells: noise alone passes four standard errors once in a thousand evaluations.
    clear = max(4.0 * sizes.noise, 0.5)
    filled = np.flatnonzero(counts > clear)
    if not len(filled) or filled[-1] >= len(ERROR_CUTS):
        return width, 0.0
    last = int(filled[-1])
    beyond = float(np.maximum(counts[last + 1 :], 0.0).sum() / max(counts.sum(), 1.0))
    return float(ERROR_CUTS[last]) * width, beyond


def _of_errors(
    sizes: m.Counted, sums: m.Counted, clip: float, width: float, confidence: float
) -> list[Measure]:
    rows, first, second, absolute = (float(one) for one in sums.values)
    if rows < 3.0 * max(sums.noise, 1e-9) or rows < 1.0:
        return [
            Measure(name, math.nan, low, width, math.nan, "units of the target")
            for name, low in (("RMSE", 0.0), ("MAE", 0.0), ("bias", -width))
        ]
    # Fourth moments, for the chance of which rows were there: from the sizes that were counted.
    edges = np.minimum(np.concatenate([[0.0], ERROR_CUTS]) * width / clip, 1.0)
    middles = np.append((edges[1:] + edges[:-1]) / 2, 1.0)
    weights = np.maximum(sizes.values[:-1], 0.0)
    fourth = float((weights * middles**4).sum() / max(weights.sum(), 1.0))
    mean, square, size = first / rows, max(second / rows, 0.0), max(absolute / rows, 0.0)
    reach = float(-ndtri((1.0 - confidence) / 2.0))
    noise = sums.noise / rows

    def measure(name: str, value: float, low: float, spread: float, slope: float) -> Measure:
        # Noise of the sum and of the row count it is divided by.
        own = slope * noise * math.sqrt(1.0 + value**2)
        total = reach * math.sqrt(own**2 + slope**2 * max(spread, 0.0) / rows)
        return Measure(
            name,
            value * clip,
            max((value - total) * clip, low),
            (value + total) * clip,
            own * clip,
            "units of the target",
        )

    root = math.sqrt(square)
    slope = 1.0 / (2.0 * max(root, math.sqrt(noise), 1e-12))
    return [
        measure("RMSE", root, 0.0, fourth - square**2, slope),
        measure("MAE", size, 0.0, square - size**2, 1.0),
        measure("bias", mean, -width, square - mean**2, 1.0),
    ]
