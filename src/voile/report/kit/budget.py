"""Bars of a budget: which purpose or job took which part of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from voile.privacy.receipt import Receipt
from voile.report.kit.text import plot_text
from voile.report.kit.theme import ROWS, SERIES, dress, series_colour, themed


@dataclass(frozen=True)
class BudgetPart:
    """A part of a budget: its name (plain text), its share from 0 to 1, and its access."""

    name: str
    share: float
    colour: str
    pattern: str = ""

    @property
    def told(self) -> str:
        """The name with the share in whole percent."""
        return f"{self.name} ({share_text(self.share)})"


@dataclass(frozen=True)
class ShownBudget:
    """A bar with what it says, as the template ``budget`` takes it."""

    name: str
    about: str
    parts: Sequence[BudgetPart]

    @property
    def drawing(self) -> go.Figure:
        """The bar itself."""
        return draw_budget(self.parts)

    @property
    def description(self) -> str:
        """For those who do not see it."""
        return f"{self.about}: {', '.join(one.told for one in self.parts)}"

    @property
    def key(self) -> list[tuple[str, str]]:
        """Colour (as CSS) and meaning of each part."""
        return [(themed(one.colour), one.told) for one in self.parts]


def share_text(share: float) -> str:
    """A share of a budget in whole percent; a little is not told as nothing, nor most as all.

    Examples
    --------
    >>> share_text(0.004), share_text(0.25), share_text(0.998), share_text(0.0)
    ('under 1 %', '25 %', 'over 99 %', '0 %')
    """
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def split_budget(receipt: Receipt) -> list[BudgetPart]:
    """The steps of a receipt by their share of the loss; without those that have none."""
    return [
        BudgetPart(line.label, line.share, _colour(i))
        for i, line in enumerate(receipt.lines)
        if not math.isnan(line.share)
    ]


def _colour(position: int) -> str:
    """Colour of a step: gamma and quantiles have one more than there are colours of series."""
    return ROWS if position == len(SERIES) else series_colour(position)


def show_budget(receipt: Receipt) -> ShownBudget | None:
    """The bar of a receipt; None if no part has a share."""
    parts = split_budget(receipt)
    return ShownBudget("budget", "Shares of the budget", parts) if parts else None


def draw_budget(parts: Sequence[BudgetPart]) -> go.Figure:
    """One stacked bar."""
    figure = go.Figure()
    for one in parts:
        marker = {"color": one.colour, "line": {"color": "white", "width": 1}}
        if one.pattern:
            marker["pattern"] = {"shape": one.pattern, "solidity": 0.3}
        figure.add_bar(
            x=[100 * one.share],
            y=[0],
            name=plot_text(one.name),
            orientation="h",
            marker=marker,
            hovertext=f"{plot_text(one.name)}: {100 * one.share:.1f} %",
            hoverinfo="text",
        )
    return dress(figure, 90, "budget")
