"""The private summary of a table: bought once, and every explanation after it is free.

Looks, all Gaussian and fixed in advance: counts of fine cells of every column; counts of bins
chosen from them; all pairs of columns; the strongest pairs again. Tables of more than a hundred
columns have two bins a column and no second access to pairs. The model takes no part in it, so one
summary serves any number of models. Such summaries are a field of their own (McKenna, Miklau &
Sheldon, "Winning the NIST contest", 2021); its inference libraries bring JAX and fit few chosen
tables, while explanations need all pairs a little: hence own code.
Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import LedgerMismatch
from voile.explain.blackbox.synthetic.bins import (
    Bins,
    believe,
    cell_order,
    choose_bins,
    count_rows,
    even_out,
    find_unseen,
    split_in_two,
)
from voile.explain.blackbox.synthetic.cells import CellKeeper, Cells, cells_of
from voile.explain.blackbox.synthetic.copula import (
    Scores,
    draw_ordered,
    order_bins,
    score_bins,
    score_sides,
)
from voile.explain.blackbox.synthetic.marginals import Maps, PairProducts, SignProducts
from voile.explain.blackbox.synthetic.pair_tables import (
    Edges,
    Margins,
    PairTables,
    estimate_margins,
    estimate_tables,
    refine_tables,
    strongest_tree,
)
from voile.explain.blackbox.synthetic.reweighting import Reweighted, disagreement, reweight_rows
from voile.explain.blackbox.synthetic.tree_rows import draw_bins, draw_cells, draw_values
from voile.privacy.receipt import Receipt
from voile.schema import Schema

Floats = NDArray[np.float64]

SYNTHETIC_ROWS = 20_000

WIDE = 100
"""Tables of more columns have two bins a column."""

CELL_ACCESS, BIN_ACCESS = "cells of columns", "bins of columns"
PAIR_ACCESS, AGAIN_ACCESS = "pairs of columns", "strongest pairs again"

_FORMAT = 2


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (rows,)
        Encoded.
    weights : ndarray of shape (rows,)
    noise, reweightings : ndarray of shape (rows, draws)
        See `Reweighted`.
    """

    columns: dict[str, NDArray[Any]]
    weights: Floats
    noise: Floats
    reweightings: Floats

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class PaidSummary:
    """What was released about a table: private output, free to keep and to publish.

    Attributes
    ----------
    schema : Schema
        Complete.
    whole, never_missing : frozenset of str
        Numbers that are whole, and that cannot be missing, as the schema says; in summaries of
        earlier versions as types said, because that is how they were counted.
    released : dict of str to ndarray
        Noised sums by access.
    errors : dict of str to float
        Standard deviation of their noise.
    receipt : Receipt
    """

    schema: Schema
    whole: frozenset[str]
    never_missing: frozenset[str]
    released: dict[str, Floats]
    errors: dict[str, float]
    receipt: Receipt

    # -- what follows from it, in the order in which it was released -----------------------------

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """Cells of every column."""
        return cells_of(self.schema, self.whole)

    @cached_property
    def _noised_cells(self) -> list[Floats]:
        ends = np.cumsum([one.count for one in self.cells])[:-1]
        return [np.array(part) for part in np.split(self.released[CELL_ACCESS], ends)]

    @cached_property
    def rows(self) -> float:
        """Estimated number of rows."""
        return count_rows(self._noised_cells)

    @cached_property
    def counts(self) -> list[Floats]:
        """Estimated rows in each cell of each column, without negative ones."""
        return believe(self._noised_cells, self.unseen, self.rows)

    @cached_property
    def unseen(self) -> list[NDArray[np.bool_]]:
        """Cells for missing and unlisted values that are believed to be empty."""
        return find_unseen(
            self.cells, self._noised_cells, self.errors[CELL_ACCESS], self.never_missing
        )

    @cached_property
    def bins(self) -> Bins:
        """Bins of every column."""
        error = self.errors[CELL_ACCESS]
        return choose_bins(self.cells, self.counts, self.unseen, self.rows, error)

    @cached_property
    def halves(self) -> Maps:
        """Two sides of every column, for wide tables."""
        return split_in_two(self.cells, self.counts)

    @cached_property
    def second_maps(self) -> Maps:
        """What is counted a second time: bins of numbers, and every level of a category."""
        return tuple(
            own if one.is_number else np.arange(one.count)
            for one, own in zip(self.cells, self.bins.maps, strict=True)
        )

    @cached_property
    def _margins(self) -> Margins:
        return estimate_margins(
            self.bins,
            self.rows,
            self._noised_cells,
            self.errors[CELL_ACCESS],
            self.second_maps,
            self.released[BIN_ACCESS],
            self.errors[BIN_ACCESS],
            self.unseen,
        )

    @cached_property
    def cell_counts(self) -> list[Floats]:
        """Rows in each cell as they are drawn from: as even within a bin as the noise allows."""
        if self.wide or len(self.schema) < 2:
            return self.counts
        margins = self._margins
        return even_out(self.cells, self.bins, margins.cells, margins.cell_variances, self.unseen)

    @cached_property
    def _first_tables(self) -> PairTables:
        margins, variances = self._margins.counts, self._margins.variances
        centred = PairProducts(self.bins.maps).split(self.released[PAIR_ACCESS])
        return estimate_tables(
            self.bins, self.rows, margins, variances, centred, self.errors[PAIR_ACCESS]
        )

    @cached_property
    def edges(self) -> Edges:
        """The strongest pairs of columns, as a tree."""
        return strongest_tree(self._first_tables)

    @cached_property
    def tables(self) -> PairTables:
        """Estimated counts of all pairs of bins."""
        centred = PairProducts(self.bins.maps, self.edges).split(self.released[AGAIN_ACCESS])
        return refine_tables(self._first_tables, self.edges, centred, self.errors[AGAIN_ACCESS])

    @property
    def wide(self) -> bool:
        """Whether there are too many columns for tables of pairs."""
        return len(self.schema) > WIDE

    # -- synthetic rows --------------------------------------------------------------------------

    def draw(
        self,
        random_state: int,
        public: Mapping[str, NDArray[Any]] | None = None,
        rows: int = SYNTHETIC_ROWS,
    ) -> SyntheticRows:
        """Draw synthetic rows, and weight them to agree with what was released.

        Parameters
        ----------
        random_state : int
            Of public randomness.
        public : mapping of str to ndarray of shape (rows,), optional
            Encoded public rows that stand in for drawn ones.
        rows : int
            How many to draw.
        """
        rng = np.random.default_rng(random_state)
        if public is not None:
            columns = dict(public)
            codes = CellKeeper(self.cells).place(columns, len(next(iter(columns.values()))))
            drawn = [codes[:, j].astype(np.int64) for j in range(len(self.cells))]
        elif self.wide or len(self.schema) < 2:
            drawn = self._draw_wide(rows, rng)
            columns = draw_values(self.cells, drawn, rng)
        else:
            binned = self._draw_bins(rows, rng)
            drawn = draw_cells(binned, self.bins, self.cell_counts, rng)
            columns = draw_values(self.cells, drawn, rng)
        found = self._reweight(drawn, rng)
        return SyntheticRows(columns, found.weights, found.noise, found.reweightings)

    def _draw_wide(self, rows: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        count = len(self.schema)
        scores = Scores(np.zeros((count, count)), np.zeros((count, count)), np.ones(count))
        if count > 1:
            signs = SignProducts(self.halves).split(self.released[PAIR_ACCESS])
            upper = [
                float(mass[own == 1].sum())
                for mass, own in zip(self.counts, self.halves, strict=True)
            ]
            high = np.clip(np.array(upper) / self.rows, 1e-3, 1.0 - 1e-3)
            doubt = (self.errors[PAIR_ACCESS] / self.rows) ** 2
            scores = score_sides(high, signs / self.rows, doubt)
        orders = [cell_order(a, b) for a, b in zip(self.cells, self.counts, strict=True)]
        return draw_ordered(self.counts, orders, scores, rows, rng)

    def _draw_bins(self, rows: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Rows of bins, along a tree or from latent variables: what agrees better is taken."""
        tables = self.tables
        along = draw_bins(tables, self.edges, rows, rng)
        orders = order_bins(tables, self.cells)
        shares = [tables.margins[tables.bins.of(j)] for j in range(len(self.cells))]
        latent = draw_ordered(shares, orders, score_bins(tables, orders), rows, rng)
        lines = (self.cells, self.counts)
        return min((along, latent), key=lambda drawn: disagreement(drawn, tables, *lines))

    def _reweight(self, drawn: list[NDArray[np.int64]], rng: np.random.Generator) -> Reweighted:
        count = len(drawn[0])
        if self.wide or len(self.schema) < 2:
            unknown = np.zeros((count, 0))
            return Reweighted(np.full(count, 1.0 / count), unknown, unknown)
        binned = [own[codes] for own, codes in zip(self.bins.maps, drawn, strict=True)]
        return reweight_rows(binned, self.tables, self.cells, self.counts, rng)

    # -- forms -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return {
            "format": _FORMAT,
            "schema": self.schema.to_dict(),
            "whole": sorted(self.whole),
            "never_missing": sorted(self.never_missing),
            "released": {name: _pack(values) for name, values in self.released.items()},
            "errors": self.errors,
            "receipt": self.receipt.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PaidSummary:
        """Read back what `to_dict` gave."""
        if data.get("format") != _FORMAT:
            raise LedgerMismatch(
                f"The stored summary has format {data.get('format')!r}, this version of voile "
                f"reads format {_FORMAT}: use the version that wrote it."
            )
        return cls(
            Schema.from_dict(data["schema"]),
            frozenset(data["whole"]),
            frozenset(data["never_missing"]),
            {name: _unpack(text) for name, text in data["released"].items()},
            {name: float(value) for name, value in data["errors"].items()},
            Receipt.from_dict(data["receipt"]),
        )


def _pack(values: Floats) -> str:
    return base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")


def _unpack(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
