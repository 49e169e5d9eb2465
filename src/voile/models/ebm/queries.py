"""What the training of an additive model asks of the rows: two sums, each with its bound.

Sensitivities and proofs: docs/proofs/ebm.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.kernels import mix, residual_sizes, residual_totals
from voile.models.ebm.model import Link
from voile.models.ebm.objective_kernels import objective_totals
from voile.models.ebm.objectives import LINK_OF, SQUARED, Aim, Residual, check_aim, residual_of
from voile.models.ebm.pair_cells import PairCells, all_offsets, check_pairs, with_pairs
from voile.models.public_numbers import (
    check_classes,
    check_number,
    check_numbers,
    check_wholes,
    class_count,
)
from voile.privacy.cut_kernels import place
from voile.privacy.queries import TARGET, Block, CellQuery, Preparation, Query, last_kept
from voile.privacy.wire import lasting, sendable
from voile.schema import Category, Number, Schema

MIXING_BITS = 12
"""Mixing matrices are whole numbers of 2^-12, so that a mixed sum of integers is exact."""

BINS, SCALED_TARGET, LOG_EXPOSURE = "ebm bins", "ebm target", "ebm log exposure"

_PAIRED_ROWS = 8192
"""Rows whose cells of pairs are held at once: they stay in the processor's cache."""

LARGEST_SCORE = 1e100
"""Sums of scores must be numbers, too, and so must their products with a cap."""

SIZE_CUTS: NDArray[np.float64] = 2.0 ** (np.arange(-18, 2) / 2.0)
"""Cut points of the histogram of absolute residuals: two per doubling, from 2^-9 to sqrt(2)."""


@lasting
@dataclass(frozen=True, eq=False)
class BinLayout(Preparation):
    """Where each column's bins lie among the cells of a model.

    Attributes
    ----------
    schema : Schema
        Complete.
    link : Link
    cuts : tuple of ndarray
        Inner cut points per column; empty for categories.
    offsets : ndarray of shape (terms + 1,)
        First cell of each term, and the number of cells.
    aim : Aim
        What a regression is to tell; its exposure is a column of the schema, and no term.
    """

    schema: Schema
    link: Link
    cuts: tuple[NDArray[np.float64], ...]
    offsets: NDArray[np.int64]
    aim: Aim = SQUARED

    def __post_init__(self) -> None:
        self._check_target()
        terms = len(self.features)
        # Kernels trust these numbers: bins that overlap or lie outside would be added up there.
        check_wholes(self.offsets, (terms + 1,), "offsets of a layout", 0, terms * 2**16)
        widths = np.diff(self.offsets)
        if not (
            terms
            and self.offsets[0] == 0
            and (widths > 0).all()
            and (widths <= 2**16).all()
            and len(self.cuts) == terms
        ):
            raise SettingError("The bins of a layout must lie side by side, with room for all.")
        features = self.features.items()
        for (name, column), cuts, width in zip(features, self.cuts, widths, strict=True):
            check_numbers(cuts, (None,), f"cuts of column {name!r}")
            if len(cuts) >= width or (len(cuts) and isinstance(column, Category)):
                raise SettingError(f"The bins of column {name!r} have no room for all of its cuts.")
            if not (cuts[1:] > cuts[:-1]).all():
                raise SettingError(f"The cuts of column {name!r} must increase.")

    def _check_target(self) -> None:
        """Kernels read as many scores as the link has, and take the target for what it needs."""
        target = self.schema.target
        if self.link in ("identity", "log"):
            if not (isinstance(target, Number) and target.known and self.schema.known):
                raise SettingError("A regression needs a number with bounds as its target.")
            if LINK_OF[self.aim.objective] != self.link:
                raise SettingError(f"No {self.aim.objective!r} has the link {self.link!r}.")
            check_aim(self.aim, self.schema)
            return
        check_classes(self.schema)
        if self.aim != SQUARED:
            raise SettingError("Classes are learned without an objective or an exposure.")
        classes = class_count(self.schema)
        if self.link not in ("logit", "softmax"):
            raise SettingError(f"No model has the link {self.link!r}.")
        if classes < 2 or (self.link == "logit" and classes != 2):
            raise SettingError(f"The link {self.link!r} is not for {classes} classes.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `prepare` reads."""
        return (*self.schema, TARGET)

    @cached_property
    def features(self) -> Schema:
        """The columns that are terms."""
        return self.aim.features(self.schema) if self.aim.exposure else self.schema

    @property
    def residual(self) -> Residual:
        """How a row's residual is computed."""
        return residual_of(self.link, self.aim)

    @property
    def exposes_counts(self) -> bool:
        """Whether rows keep the log of their exposure."""
        return self.aim.exposure is not None and self.residual == "poisson"

    @property
    def outputs(self) -> int:
        """Scores per row."""
        return class_count(self.schema) if self.link == "softmax" else 1

    def part(self, k: int) -> slice:
        """Cells of a term."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def prepare(self, block: Block) -> None:
        """Keep each row's bins (one or two bytes per column) and scaled target in the vault."""
        widest = int(np.diff(self.offsets).max())
        kind = np.uint8 if widest <= 256 else np.uint16
        bins = np.empty((block.rows, len(self.features)), dtype=kind)
        for k, (name, column) in enumerate(self.features.items()):
            last = int(self.offsets[k + 1] - self.offsets[k]) - 1
            values = block[name]
            if values.dtype.kind != ("i" if isinstance(column, Category) else "f"):
                raise SettingError(f"Column {name!r} is of another kind than the layout says.")
            if isinstance(column, Category):
                bins[:, k] = np.minimum(values, last)
            else:
                place(values, self.cuts[k], last, bins[:, k])
        block.kept[BINS] = bins
        target = self.scaled_target(block[TARGET])
        if self.aim.exposure is not None:
            logs = np.log(block[self.aim.exposure]).astype(np.float32)
            if self.exposes_counts:
                block.kept[LOG_EXPOSURE] = logs
                target[np.isnan(logs)] = np.nan
            else:
                target = target - logs
        block.kept[SCALED_TARGET] = target

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether the rows are encoded by just its schema."""
        return self.schema == schema

    def scaled_target(self, values: NDArray[np.float64] | NDArray[np.int32]) -> NDArray[np.float32]:
        """Class indices (-1: not a listed class); numbers scaled to [-1, 1], or of their own kind.

        NaN: missing. Counts are what they are, of amounts it is the log.
        """
        target = self.schema.target
        if self.link == "log":
            with np.errstate(all="ignore"):  # the log of 0 is minus infinity, and may be
                own = values if self.residual == "poisson" else np.log(values)
                return np.asarray(own, dtype=np.float32)
        if isinstance(target, Number):
            assert target.lower is not None
            assert target.upper is not None
            half = target.upper / 2 - target.lower / 2
            with np.errstate(all="ignore"):
                scaled = (values / 2 - (target.upper / 4 + target.lower / 4)) / (half / 2)
            return np.clip(scaled, -1.0, 1.0).astype(np.float32)
        assert target is not None
        listed = len(target.levels or ())
        return np.where(values < listed, values, -1).astype(np.float32)


@sendable
@dataclass(frozen=True, eq=False)
class ResidualSums(Query):
    """Mixed sums of bounded residuals over the bins of every term, at the scores released so far.

    A row with residual r (norm <= ``cap``) in bin b_k of term k adds, for each term, column b_k of
    the term's mixing matrix times r. The columns of all matrices that one row can meet have
    squared norms that sum to at most 1, so the share has norm <= cap.

    Parameters
    ----------
    layout : BinLayout
    scores : ndarray of shape (cells, outputs)
    intercept : ndarray of shape (outputs,)
    cap : float
    mixing : tuple of ndarray of int64
        Per term and then per pair, shape (sums, bins), or (bins,) for a diagonal, in units of
        2^-MIXING_BITS.
    pairs : tuple of PairCells
        Grids whose cells stand behind those of the layout, and are bins of terms like any other.
    width : float
        Of the window that counts are clipped to (`voile.models.ebm.count_tables`).
    """

    layout: BinLayout
    scores: NDArray[np.float64]
    intercept: NDArray[np.float64]
    cap: float
    mixing: tuple[NDArray[np.int64], ...]
    pairs: tuple[PairCells, ...] = ()
    width: float = 1.0

    columns = ()

    def __post_init__(self) -> None:
        check_state(self.scores, self.intercept, self.cap)
        check_number(self.width, "width of a round", 0.5, 1e6)
        check_shapes(self.layout, self.scores, self.intercept, self.pairs)
        check_mixing(self.mixing)
        widths = np.diff(all_offsets(self.layout.offsets, self.pairs)).tolist()
        # None at all: for the bound alone.
        if len(self.mixing) not in (0, len(widths)) or any(
            m.shape[-1:] != (n,) or m.ndim > 2 or len(m) > n
            for m, n in zip(self.mixing, widths, strict=False)
        ):
            raise SettingError("Each term needs a mixing matrix of its bins.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    fineness = 6  # residuals of rare classes are far below the noise: a finer grid keeps them

    @property
    def size(self) -> int:
        """Mixed sums times outputs."""
        return sum(map(len, self.mixing)) * self.layout.outputs

    @property
    def bound(self) -> float:
        """Norm of a row's share."""
        return self.cap

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """One row at a time, for tests and small blocks."""
        unit = 2.0**-40
        return np.stack(
            [
                self.total(block.part(i, i + 1), unit).astype(np.float64) * unit
                for i in range(block.rows)
            ]
        ).reshape(block.rows, self.size)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: residuals in units of 2^MIXING_BITS grid steps, then whole-number mixing."""
        units = 1.0 / (grid * 2.0**MIXING_BITS)
        offsets = all_offsets(self.layout.offsets, self.pairs)
        sums = np.zeros_like(self.scores, dtype=np.int64)
        for part in parts_of(block, self.pairs):
            sums += self._residual_totals(part, offsets, units)
        mixed = [
            mix(matrix, sums[start:stop])
            for matrix, start, stop in zip(self.mixing, offsets[:-1], offsets[1:], strict=False)
        ]
        return np.concatenate(mixed).ravel() if mixed else np.zeros(0, dtype=np.int64)

    def _residual_totals(
        self, part: Block, offsets: NDArray[np.int64], units: float
    ) -> NDArray[np.int64]:
        """Sums of residuals over the bins of every term, in whole units."""
        bins, target = with_pairs(part.kept[BINS], self.pairs), part.kept[SCALED_TARGET]
        state = (offsets, self.scores, self.intercept, self.cap)
        if self.layout.residual in ("poisson", "gamma", "quantile"):
            logs = part.kept[LOG_EXPOSURE] if self.layout.exposes_counts else None
            rest = (self.width, units, part.weights)
            return objective_totals(self.layout.aim, bins, target, logs, *state, *rest)
        return residual_totals(self.layout.link, bins, target, *state, units, part.weights)


@sendable
@dataclass(frozen=True, eq=False)
class ResidualSizes(CellQuery):
    """How many rows have an absolute residual between the cuts of `SIZE_CUTS` (regression)."""

    layout: BinLayout
    scores: NDArray[np.float64]
    intercept: NDArray[np.float64]
    pairs: tuple[PairCells, ...] = ()

    columns = ()
    size = len(SIZE_CUTS) + 2

    def __post_init__(self) -> None:
        if self.layout.residual != "identity":
            raise SettingError("Sizes of residuals are for regression by squared loss alone.")
        check_state(self.scores, self.intercept, 1.0)
        check_shapes(self.layout, self.scores, self.intercept, self.pairs)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Cell of each row's residual; rows without a target fall into the last."""
        offsets = all_offsets(self.layout.offsets, self.pairs)
        parts = [
            residual_sizes(
                with_pairs(part.kept[BINS], self.pairs),
                part.kept[SCALED_TARGET],
                offsets,
                self.scores,
                self.intercept,
            )
            for part in parts_of(block, self.pairs)
        ]
        sizes = np.concatenate(parts) if parts else np.zeros(0)
        found = np.empty(len(sizes), dtype=np.int64)
        place(sizes, SIZE_CUTS, self.size - 1, found)
        return [found]


def keeps(prepared: Sequence[Preparation], layout: BinLayout) -> bool:
    """Whether these preparations leave rows with the bins of just this layout."""
    return last_kept(prepared, BinLayout) is layout


def parts_of(block: Block, pairs: Sequence[PairCells]) -> Iterator[Block]:
    """The rows in parts, where cells of pairs are made for each part anew and not kept."""
    step = _PAIRED_ROWS if pairs else max(block.rows, 1)
    for start in range(0, block.rows, step):
        yield block.part(start, start + step) if pairs else block


def check_shapes(
    layout: BinLayout,
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    pairs: Sequence[PairCells] = (),
) -> None:
    """Refuse scores for other cells than the layout's: kernels would read beyond their end."""
    outputs = layout.outputs
    check_pairs(pairs, layout.offsets)
    cells = int(all_offsets(layout.offsets, pairs)[-1])
    if scores.shape != (cells, outputs) or intercept.shape != (outputs,):
        raise SettingError("The scores of a round must be those of the layout's cells.")


def whole_mixing(matrix: NDArray[np.float64], weight: float) -> NDArray[np.int64]:
    """A mixing matrix in whole units, cut towards zero: no column is longer than ``weight``.

    Parameters
    ----------
    matrix : ndarray of shape (bins, bins) or (bins,)
        Columns (or entries) of norm at most 1.
    weight : float
        Square root of the term's share of the round; the squares sum to at most 1.
    """
    # The factor gives away more than the rounding of norms and square roots can add.
    factor = math.ldexp(weight * (1.0 - 1e-9), MIXING_BITS)
    return np.trunc(matrix * factor).astype(np.int64)


def check_mixing(mixing: Sequence[NDArray[np.int64]]) -> None:
    """Refuse matrices through which one row could add more than its residual.

    The longest column of each, squared, must sum to at most 1. The squares are added in integers:
    the bound that the noise relies on is checked here, whoever made the matrices.
    """
    total = 0
    for matrix in mixing:
        # An entry beyond the unit could wrap when it is squared.
        unit = 2**MIXING_BITS
        if matrix.dtype != np.int64:
            raise SettingError("A mixing matrix must be of whole numbers (int64).")
        if matrix.min(initial=0) < -unit or matrix.max(initial=0) > unit:
            raise SettingError("An entry of a mixing matrix is larger than 1.")
        columns = matrix**2 if matrix.ndim == 1 else (matrix**2).sum(axis=0)
        total += int(columns.max(initial=0))
    if total > 4**MIXING_BITS:
        raise SettingError("The columns of the mixing matrices are too long: scale them down.")


def check_state(scores: NDArray[np.float64], intercept: NDArray[np.float64], cap: float) -> None:
    """Refuse what is no number: a kernel would turn it into an integer of any size."""
    check_numbers(scores, (None, None), "scores of a round", LARGEST_SCORE)
    check_numbers(intercept, (None,), "intercept of a round", LARGEST_SCORE)
    check_number(cap, "cap of a round", 1e-140, 1e140)
