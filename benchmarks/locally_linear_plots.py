"""The page of the benchmark of locally linear maps: accuracy by epsilon, maps and projections.

Not a script: see `locally_linear.py`.
"""

import html
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from locally_linear_entrants import PAPER, PAPER_MAPS, PAPER_NETWORK, PAPER_PROJECTION
from locally_linear_pictures import STYLE
from locally_linear_report import (
    Cell,
    Findings,
    SetResult,
    epsilon_text,
    epsilons_of,
    markdown,
)
from voile.report.kit.theme import SERIES

ACROSS = 3
LINES = {
    "accurate": (SERIES[0], "solid"),
    "no_copies": (SERIES[0], "dot"),
    "readable": (SERIES[2], "solid"),
    "readable_no_copies": (SERIES[2], "dot"),
    "logistic": (SERIES[6], "dash"),
}
"""Colours and dashes of presets and peers."""

PAPER_LOOK = {
    "mode": "markers",
    "marker": {"symbol": "diamond-open", "size": 11, "color": SERIES[1], "line": {"width": 2}},
}
NETWORK_LOOK = {
    "mode": "markers",
    "marker": {"symbol": "x-thin-open", "size": 9, "color": SERIES[6], "line": {"width": 2}},
}
PAPER_NAME, NETWORK_NAME = "locally linear maps, the paper's", "DP-SGD network, the paper's"


def panels(sets: list[SetResult], title: str) -> go.Figure:
    """Empty panels, one per set."""
    across = min(ACROSS, len(sets))
    down = math.ceil(len(sets) / across)
    plot = make_subplots(
        down,
        across,
        subplot_titles=[f"{one.name} ({one.rows:,} x {one.features})" for one in sets],
        vertical_spacing=0.35 / down,
        horizontal_spacing=0.07,
    )
    plot.update_yaxes(title_text="accuracy, %", col=1)
    plot.update_layout(template="plotly_white", height=170 + 330 * down, title=title)
    return plot


class Pen:
    """Draws on the panels, and names each line in the legend once."""

    def __init__(self, plot: go.Figure) -> None:
        self.plot, self.named = plot, set[str]()

    def draw(
        self, place: int, x: Iterable[float], y: list[float], name: str, **look: object
    ) -> None:
        across = len(self.plot._grid_ref[0])
        self.plot.add_trace(
            go.Scatter(
                x=list(x),
                y=y,
                name=name,
                legendgroup=name,
                showlegend=name not in self.named,
                **look,
            ),
            row=place // across + 1,
            col=place % across + 1,
        )
        self.named.add(name)

    def curve(
        self, place: int, x: Iterable[float], cells: list[Cell], name: str, colour: str, dash: str
    ) -> None:
        """Means in percent with their standard deviations, where there are several seeds."""
        several = all(len(cell.accuracies) > 1 for cell in cells)
        spreads = [100 * float(np.std(c.accuracies, ddof=1)) for c in cells] if several else []
        self.draw(
            place,
            x,
            [mean(cell) for cell in cells],
            name,
            mode="lines+markers",
            line={"color": colour, "dash": dash},
            error_y={"type": "data", "array": spreads, "visible": several},
        )


def mean(cell: Cell) -> float:
    return 100 * float(np.mean(cell.accuracies))


def by_epsilon(sets: list[SetResult]) -> go.Figure:
    """Presets, peers and the paper's points; no privacy stands at the right end."""
    plot = panels(sets, "Accuracy by epsilon: mean and standard deviation over seeds")
    pen = Pen(plot)
    known = {eps for one in sets for eps in PAPER.get(one.name, {})}
    finite = sorted({e for e in epsilons_of(sets, "preset") if math.isfinite(e)} | known) or [1.0]
    end = 2.5 * finite[-1]
    for place, one in enumerate(sets):
        for model, label in one.models("preset", "peer").items():
            cells = [c for c in one.cells if c.model == model and c.accuracies]
            cells.sort(key=lambda cell: cell.epsilon)
            x = [min(cell.epsilon, end) for cell in cells]
            if cells and cells[0].group == "peer":
                cells, x = cells * 2, [finite[0], end]
            colour, dash = LINES.get(model, (SERIES[3], "solid"))
            pen.curve(place, x, cells, label, colour, dash)
        for name, points, look in (
            (PAPER_NAME, PAPER.get(one.name, {}), PAPER_LOOK),
            (NETWORK_NAME, PAPER_NETWORK.get(one.name, {}), NETWORK_LOOK),
        ):
            if points:
                pen.draw(place, points, [100 * y for y in points.values()], name, **look)
    plot.update_xaxes(
        type="log",
        tickvals=[*finite, end],
        ticktext=[*(f"{eps:g}" for eps in finite), "no privacy"],
        title_text="epsilon",
    )
    return plot


def by_maps(sets: list[SetResult]) -> go.Figure:
    plot = panels(sets, "Accuracy by the number of maps per class, without copies")
    pen = Pen(plot)
    for place, one in enumerate(sets):
        for number, epsilon in enumerate(epsilons_of([one], "maps")):
            cells = [c for c in one.curve("maps", epsilon) if c.accuracies]
            colour = SERIES[6] if math.isinf(epsilon) else SERIES[number]
            places = [cell.at or 0 for cell in cells]
            pen.curve(place, places, cells, epsilon_text(epsilon), colour, "solid")
            paper = PAPER.get(one.name, {}).get(epsilon)
            if paper:
                name = f"{PAPER_NAME}, {epsilon_text(epsilon)}"
                pen.draw(place, [PAPER_MAPS], [100 * paper], name, **PAPER_LOOK)
    return _with_ticks(plot, sets, ("maps",), "maps per class (M)", (PAPER_MAPS,))


def by_projection(sets: list[SetResult]) -> go.Figure:
    """A projection for each map, one for all, and the smooth basis as a level line."""
    plot = panels(sets, "Accuracy by the size of random projections, without copies")
    pen = Pen(plot)
    for place, one in enumerate(sets):
        for number, epsilon in enumerate(epsilons_of([one], "projection", "shared")):
            colour = SERIES[6] if math.isinf(epsilon) else SERIES[number]
            paper = PAPER.get(one.name, {}).get(epsilon)
            spots: list[float] = [PAPER_PROJECTION] if paper else []
            for group, words, dash in (
                ("projection", "one for each map", "solid"),
                ("shared", "one for all maps", "dash"),
            ):
                cells = [c for c in one.curve(group, epsilon) if c.accuracies]
                spots += [cell.at or 0 for cell in cells]
                name = f"{epsilon_text(epsilon)}, {words}"
                if cells:
                    pen.curve(place, [cell.at or 0 for cell in cells], cells, name, colour, dash)
            basis = (
                one.cell("no_copies", epsilon) if one.pictures else one.cell("accurate", epsilon)
            )
            if basis and basis.accuracies and spots:
                name = f"{epsilon_text(epsilon)}, {'smooth basis' if one.pictures else 'none'}"
                level = {"mode": "lines", "line": {"color": colour, "dash": "dot"}}
                pen.draw(place, [min(spots), max(spots)], [mean(basis)] * 2, name, **level)
            if paper:
                name = f"{PAPER_NAME}, {epsilon_text(epsilon)}"
                pen.draw(place, [PAPER_PROJECTION], [100 * paper], name, **PAPER_LOOK)
    groups = ("projection", "shared")
    return _with_ticks(plot, sets, groups, "coordinates (D')", (PAPER_PROJECTION,))


def _with_ticks(
    plot: go.Figure,
    sets: list[SetResult],
    groups: tuple[str, ...],
    title: str,
    more: tuple[int, ...],
) -> go.Figure:
    found = {c.at for one in sets for c in one.cells if c.group in groups and c.at} | {*more}
    ticks = sorted(found)
    plot.update_xaxes(type="log", tickvals=ticks, ticktext=list(map(str, ticks)), title_text=title)
    return plot


def figures(sets: list[SetResult]) -> list[go.Figure]:
    found = []
    for draw, groups in (
        (by_epsilon, ("preset", "peer")),
        (by_maps, ("maps",)),
        (by_projection, ("projection", "shared")),
    ):
        some = [one for one in sets if any(c.group in groups and c.accuracies for c in one.cells)]
        if some:
            found.append(draw(some))
    return found


def page(found: Findings) -> str:
    """All plots and galleries, in one file that needs nothing beside it."""
    drawn = [
        plot.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, plot in enumerate(figures(found.sets))
    ]
    shown = [one.html() for one in found.galleries]
    if shown:
        words = (
            "Orange raises the score of a class, blue lowers it (in colour pictures: around grey). "
            "First the typical filter, less the mean over the classes; then filters that count "
            "most and differ, with their share. Found without any row; the noise is in the filters."
        )
        shown = [f"<h2>Filters</h2><p>{html.escape(words)}</p>", *shown]
    facts = ", ".join(f"{name} {value}" for name, value in found.settings.items() if value)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Locally linear maps</title><style>{STYLE}</style></head><body>"
        f"<h1>Private locally linear maps</h1><p class=note>{html.escape(facts)}</p>"
        f"{''.join(drawn)}{''.join(shown)}</body></html>\n"
    )


def write(found: Findings, folder: Path) -> None:
    """Write `locally_linear.json`, `.md` and, if sets were run, `.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "locally_linear.json").write_text(found.to_json())
    (folder / "locally_linear.md").write_text(markdown(found))
    if found.sets:
        (folder / "locally_linear.html").write_text(page(found))
