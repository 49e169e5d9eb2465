"""The plots of the explainer benchmark: loss by questions, epsilon by questions, loss by density.

Not a script: see `quality.py`.
"""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.blackbox.bars import Findings
from voile.report.palette import SERIES

COLOURS = {
    "summary": SERIES[0],
    "release": SERIES[2],
    "interactive": SERIES[1],
    "adaptive": SERIES[3],
    "enhanced": SERIES[5],
}


def crossover(found: Findings) -> go.Figure | None:
    """Loss against the number of questions at equal total epsilon, one panel per epsilon."""
    panels = list(dict.fromkeys((one.set, one.epsilon) for one in found.crosses))
    if not panels:
        return None
    titles = [f"{name}, total epsilon {eps:g}" for name, eps in panels]
    plot = make_subplots(1, len(panels), subplot_titles=titles, shared_yaxes=True)
    for place, panel in enumerate(panels, 1):
        cells = [one for one in found.crosses if (one.set, one.epsilon) == panel]
        for strategy in dict.fromkeys(one.strategy for one in cells):
            line = sorted((c for c in cells if c.strategy == strategy), key=lambda c: c.queries)
            plot.add_trace(
                go.Scatter(
                    x=[one.queries for one in line],
                    y=[one.loss.value for one in line],
                    error_y={"type": "data", "array": [one.loss.error for one in line]},
                    name=strategy,
                    legendgroup=strategy,
                    showlegend=place == 1,
                    mode="lines+markers",
                    line={"color": COLOURS[strategy]},
                ),
                row=1,
                col=place,
            )
        level = cells[0].zero
        plot.add_hline(level, line_dash="dot", line_color=SERIES[6], row=1, col=place)
    plot.update_xaxes(type="log", title_text="questions that share the budget")
    plot.update_yaxes(type="log", exponentformat="power")
    plot.update_yaxes(title_text="mean utility loss", col=1)
    plot.update_layout(
        template="plotly_white",
        height=460,
        title="Loss of an explanation by the number of questions (dotted: phi = 0)",
    )
    return plot


def budget(found: Findings) -> go.Figure | None:
    if not found.curves:
        return None
    plot = go.Figure()
    for one in found.curves:
        plot.add_trace(
            go.Scatter(
                x=list(one.counts),
                y=list(one.epsilons),
                name=f"{one.strategy} ({one.steps:.0f} steps, loss {one.loss.value:.2g})",
                mode="lines+markers",
                line={"color": COLOURS[one.strategy]},
            )
        )
    plot.update_layout(
        template="plotly_white",
        height=460,
        title=f"Epsilon spent, {found.curves[0].set} (as Figures 2 and 3 of the paper)",
        xaxis_title="questions answered",
        yaxis_title="epsilon (delta 1e-6)",
    )
    return plot


def losses(found: Findings) -> go.Figure | None:
    """Bars of every strategy, per set, setting and epsilon."""
    if not found.losses:
        return None
    plot = go.Figure()
    for strategy in dict.fromkeys(one.strategy for one in found.losses):
        line = [one for one in found.losses if one.strategy == strategy]
        plot.add_trace(
            go.Bar(
                x=[f"{one.set}, {one.setting}, eps {one.epsilon:g}" for one in line],
                y=[one.loss.value for one in line],
                error_y={"type": "data", "array": [one.loss.error for one in line]},
                name=strategy,
                marker_color=COLOURS[strategy],
            )
        )
    plot.update_yaxes(type="log", title_text="mean utility loss", exponentformat="power")
    plot.update_layout(
        template="plotly_white", height=460, title="Utility loss at equal total epsilon"
    )
    return plot


def density(found: Findings) -> go.Figure | None:
    if not found.density:
        return None
    plot = go.Figure()
    for strategy, setting in dict.fromkeys((one.strategy, one.setting) for one in found.density):
        line = [c for c in found.density if (c.strategy, c.setting) == (strategy, setting)]
        dash = {"paper": "solid", "default": "dash"}.get(setting, "dot")
        plot.add_trace(
            go.Scatter(
                x=[one.effective for one in line],
                y=[one.loss.value for one in line],
                error_y={"type": "data", "array": [one.loss.error for one in line]},
                name=f"{strategy}, {setting}",
                mode="lines+markers",
                line={"color": COLOURS[strategy], "dash": dash},
            )
        )
    plot.update_yaxes(type="log", title_text="mean utility loss", exponentformat="power")
    plot.update_layout(
        template="plotly_white",
        height=460,
        title="Loss by density: quarters of the asked rows",
        xaxis_title="effective share of the private rows near an asked one",
    )
    return plot


def page(found: Findings) -> str:
    """All plots in one file that needs nothing beside it; empty if there is nothing to draw."""
    drawn = [draw(found) for draw in (losses, crossover, budget, density)]
    plots = [plot for plot in drawn if plot is not None]
    if not plots:
        return ""
    parts = [
        plot.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, plot in enumerate(plots)
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>Private explanations</title></head>"
        '<body style="font-family: sans-serif; max-width: 80rem; margin: auto">'
        f"<h1>Private explanations</h1>{''.join(parts)}</body></html>\n"
    )
