"""The plot of the explainer benchmark: loss by the number of questions.

Not a script: see `quality.py`.
"""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.blackbox.bars import Findings
from voile.report.kit.theme import SERIES

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


def page(found: Findings) -> str:
    """The plot in one file that needs nothing beside it; empty if there is nothing to draw."""
    plot = crossover(found)
    if plot is None:
        return ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>Private explanations</title></head>"
        '<body style="font-family: sans-serif; max-width: 80rem; margin: auto">'
        f"<h1>Private explanations</h1>{plot.to_html(full_html=False)}</body></html>\n"
    )
