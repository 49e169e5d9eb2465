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
from voile.explain.blackbox.answers.opening import DISCOVERY
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
from voile.explain.blackbox.synthetic.marginals import BinCounts, Maps, PairProducts, SignProducts
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
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.mechanisms import Release, gaussian_sum
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Number, Schema

Floats = NDArray[np.float64]

SYNTHETIC_ROWS = 20_000

_WIDE = 100
"""Tables of more columns have two bins a column."""

_CELL_ACCESS, _BIN_ACCESS = "cells of columns", "bins of columns"
_PAIR_ACCESS, _AGAIN_ACCESS = "pairs of columns", "strongest pairs again"
_SHARES = {_CELL_ACCESS: 0.15, _BIN_ACCESS: 0.15, _PAIR_ACCESS: 0.45, _AGAIN_ACCESS: 0.25}
_WIDE_SHARES = {_CELL_ACCESS: 0.2, _PAIR_ACCESS: 0.8}

_KEY, _FORMAT = "summary", 1


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (rows,)
        Encoded.
    weights : ndarray of shape (rows,)
    reweightings : ndarray of shape (rows, draws)
        See `Reweighted`.
    """

    columns: dict[str, NDArray[Any]]
    weights: Floats
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
        return [np.array(part) for part in np.split(self.released[_CELL_ACCESS], ends)]

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
            self.cells, self._noised_cells, self.errors[_CELL_ACCESS], self.never_missing
        )

    @cached_property
    def bins(self) -> Bins:
        """Bins of every column."""
        error = self.errors[_CELL_ACCESS]
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
            self.errors[_CELL_ACCESS],
            self.second_maps,
            self.released[_BIN_ACCESS],
            self.errors[_BIN_ACCESS],
            self.unseen,
        )

    @cached_property
    def cell_counts(self) -> list[Floats]:
        """Rows in each cell as they are drawn from: as even within a bin as the noise allows."""
        if self.wide or len(self.schema) < 2:
            return self.counts
        margins = self._margins
        return even_out(self.bins, margins.cells, margins.cell_variances, self.unseen)

    @cached_property
    def _first_tables(self) -> PairTables:
        margins, variances = self._margins.counts, self._margins.variances
        centred = PairProducts(self.bins.maps).split(self.released[_PAIR_ACCESS])
        return estimate_tables(
            self.bins, self.rows, margins, variances, centred, self.errors[_PAIR_ACCESS]
        )

    @cached_property
    def edges(self) -> Edges:
        """The strongest pairs of columns, as a tree."""
        return strongest_tree(self._first_tables)

    @cached_property
    def tables(self) -> PairTables:
        """Estimated counts of all pairs of bins."""
        centred = PairProducts(self.bins.maps, self.edges).split(self.released[_AGAIN_ACCESS])
        return refine_tables(self._first_tables, self.edges, centred, self.errors[_AGAIN_ACCESS])

    @property
    def wide(self) -> bool:
        """Whether there are too many columns for tables of pairs."""
        return len(self.schema) > _WIDE

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
        reweighted = self._reweight(drawn, rng)
        return SyntheticRows(columns, reweighted.weights, reweighted.reweightings)

    def _draw_wide(self, rows: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        count = len(self.schema)
        scores = Scores(np.zeros((count, count)), np.zeros((count, count)), np.ones(count))
        if count > 1:
            signs = SignProducts(self.halves).split(self.released[_PAIR_ACCESS])
            upper = [
                float(mass[own == 1].sum())
                for mass, own in zip(self.counts, self.halves, strict=True)
            ]
            high = np.clip(np.array(upper) / self.rows, 1e-3, 1.0 - 1e-3)
            doubt = (self.errors[_PAIR_ACCESS] / self.rows) ** 2
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
            return Reweighted(np.full(count, 1.0 / count), np.zeros((count, 0)))
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


# -- buying it -----------------------------------------------------------------------------------


def plan_summary(schema: Schema, budget: Budget, allowance: Allowance) -> Plan:
    """Every access to the rows, fixed in advance."""
    steps: list[Step] = list(discovery_shape(schema, DISCOVERY, budget.delta))
    left = 1.0 - (DISCOVERY if steps else 0.0)
    shares = _WIDE_SHARES if len(schema) > _WIDE else _SHARES
    if len(schema) < 2:
        shares = {_CELL_ACCESS: 1.0}
    steps += [gaussian_step(label, left * share) for label, share in shares.items()]
    return calibrate(budget, Plan(tuple(steps)), allowance.ledger.relation)


def find_summary(allowance: Allowance, book: AnswerBook, budget: Budget) -> PaidSummary:
    """The summary that was bought under this name before, or a new one.

    Raises
    ------
    BudgetExceeded
        If it does not fit the ledger; nothing was spent.
    """
    stored = book.find([_KEY]).get(_KEY)
    if stored is None:
        bought = _buy(allowance, budget)
        stored = book.store({_KEY: bought.to_dict()})[_KEY]
    return PaidSummary.from_dict(stored)


def _buy(allowance: Allowance, budget: Budget) -> PaidSummary:
    plan = plan_summary(allowance.table.schema, budget, allowance)
    with allowance.reserve(plan, whole=True) as payment:
        assert payment is not None
        grant = payment.pay(plan)
        table = complete(allowance.table, grant)
        summary = _measure(table, grant)
    return PaidSummary(
        summary.schema,
        summary.whole,
        summary.never_missing,
        summary.released,
        summary.errors,
        write_receipt(grant, budget),
    )


def _measure(table: PrivateTable, grant: Grant) -> PaidSummary:
    """Carry the plan out: each access uses what the ones before it released."""
    schema = table.schema
    released: dict[str, Floats] = {}
    errors: dict[str, float] = {}
    blank = write_receipt(grant, Budget(1.0, 0.5))  # replaced when all accesses are done
    numbers = {name: one for name, one in schema.items() if isinstance(one, Number)}
    whole = frozenset(name for name, one in numbers.items() if one.whole)
    never = frozenset(name for name, one in numbers.items() if not one.missing)
    found = PaidSummary(schema, whole, never, released, errors, blank)
    keep(table, list(schema), CellKeeper(found.cells).prepare)

    def take(release: Release) -> None:
        released[release.label] = release.values
        errors[release.label] = release.standard_error

    fine = BinCounts(tuple(np.arange(one.count) for one in found.cells))
    take(gaussian_sum(table, fine, grant.take(_CELL_ACCESS)))
    if found.wide:
        take(gaussian_sum(table, SignProducts(found.halves), grant.take(_PAIR_ACCESS)))
    elif len(schema) > 1:
        take(gaussian_sum(table, BinCounts(found.second_maps), grant.take(_BIN_ACCESS)))
        take(gaussian_sum(table, PairProducts(found.bins.maps), grant.take(_PAIR_ACCESS)))
        again = PairProducts(found.bins.maps, found.edges)
        take(gaussian_sum(table, again, grant.take(_AGAIN_ACCESS)))
    return found
