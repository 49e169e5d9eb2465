"""The page of a forecast: the choice of epsilon in pictures, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from voile.figure_request import FigureRequest
from voile.planning.attacker import best_rate, best_rate_gaussian, percent
from voile.planning.record import NOTHING_SPENT, Forecast, probability_points
from voile.planning.verdict import LIMITS, OF_THE_RANGE
from voile.rendering import draws, plots
from voile.report.kit import theme
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_document
from voile.report.kit.text import plot_text

TITLE = "Choosing epsilon"

# Tables scroll where the screen is narrow, so words need not be broken.
_STYLE = "  td, th { overflow-wrap: normal } td:nth-child(2) { min-width: 8rem }\n"

_html = Templates("plan/page.html", nothing_spent=NOTHING_SPENT)

MOST_KINDS = 6
"""More lines than this would hide each other: some between are left out."""

_ALARMS = np.geomspace(1e-3, 1.0, 61)


@draws(Forecast)
def draw_page(record: Forecast) -> str:
    """The whole page as HTML."""
    first, last = record.outlooks[0], record.outlooks[-1]
    inside = _html.page(
        record,
        TITLE,
        noise=draw_noise(record),
        noise_words=(
            f"Noise of the median column against epsilon: {record.rule.size(first.noise)} at "
            f"epsilon {first.epsilon:g}, {record.rule.size(last.noise)} at {last.epsilon:g}"
        ),
        attacker=draw_attacker(record),
        kinds=len(group_columns(record)),
        most=MOST_KINDS,
        outlooks=_tabulate(record),
        columns=_tabulate_columns(record),
        attacks=_tabulate_attacker(record),
    )
    return compose_document(TITLE, inside, style=_STYLE)


@plots(Forecast)
def plot(record: Forecast, request: FigureRequest) -> go.Figure:
    """How the noise falls as epsilon grows, or what an attacker would get."""
    request.refuse("row", "output")
    drawn = {"noise": draw_noise, "attacker": draw_attacker}
    return drawn[request.choose_name(list(drawn))](record)


def _tabulate(record: Forecast) -> list[list[str]]:
    """What each epsilon would give, under a line of heads."""
    noise, points = f"noise, 2 SE ({record.rule.units})", record.in_points
    pairs = bool(record.pair_words)
    head = ["epsilon", "what you will see", noise, *["50 % is off by"] * points]
    head += ["pairs from"] * pairs
    rows = [[*head, "attacker is at most", "guesses right at most"]]
    for one in record.outlooks:
        off = [f"{probability_points(one.noise):.2g} points"] if points else []
        guesses = percent(one.attacker.right_guesses(gaussian=record.gaussian))
        sure = f"{percent(one.attacker.belief)} sure"
        size = record.rule.number(one.noise)
        sizes = [record.pair_size(one)] * pairs
        rows.append([f"{one.epsilon:g}", one.verdict, size, *off, *sizes, sure, guesses])
    return rows


def _tabulate_attacker(record: Forecast) -> list[list[str]]:
    """How many an attacker finds, under a line of heads."""
    alarms = record.outlooks[0].attacker.false_alarms
    return [
        ["members recognised at most, at false alarms of", *map(percent, alarms)],
        *(
            [
                f"epsilon {one.epsilon:g}",
                *map(percent, one.attacker.rates(gaussian=record.gaussian)),
            ]
            for one in record.outlooks
        ),
    ]


def _tabulate_columns(record: Forecast) -> list[list[str]]:
    """Bins (of curves) and noise of each column, under a line of heads."""
    shown, curves = record.outlooks, record.rule.things == "curves"
    head = ["column", "kind", *(f"bins at {one.epsilon:g}" for one in shown if curves)]
    rows = [[*head, *(f"noise at {one.epsilon:g}" for one in shown)]]
    for k, column in enumerate(shown[0].columns):
        bins = [str(one.columns[k].bins) for one in shown if curves]
        noises = [f"{one.columns[k].noise:.3g}" for one in shown]
        rows.append([column.name, column.kind, *bins, *noises])
    return rows


def draw_noise(record: Forecast) -> go.Figure:
    """Two standard errors against epsilon, one line per kind of column, and the rule's limits."""
    figure = go.Figure()
    epsilons = [one.epsilon for one in record.outlooks]
    kinds = choose_kinds(record)
    for k, (noises, names) in enumerate(kinds):
        figure.add_scatter(
            x=epsilons,
            y=list(noises),
            mode="lines+markers",
            name=plot_text(tell_names(names), 34),
            line={"color": theme.series_colour(k), "dash": theme.series_dash(k), "width": 2},
            marker={"symbol": theme.series_symbol(k), "size": 7},
            hovertext=[
                f"<b>{plot_text(tell_names(names))}</b><br>epsilon {epsilon:g}: two standard "
                f"errors {plot_text(record.rule.size(noise))}"
                for epsilon, noise in zip(epsilons, noises, strict=True)
            ],
            hoverinfo="text",
        )
    visible = [one.visible for one in record.outlooks]
    figure.add_scatter(
        x=epsilons,
        y=visible,
        mode="lines",
        name="smallest visible effect, median column",
        line={"color": theme.WAS, "dash": "dot", "width": 3},
        hovertext=[
            f"epsilon {one.epsilon:g}: {plot_text(one.verdict)}<br>smallest visible effect "
            f"{plot_text(record.rule.size(one.visible))}"
            for one in record.outlooks
        ],
        hoverinfo="text",
    )
    levels = [limit * record.rule.worth_seeing for _, limit in LIMITS]
    for (level, _), height in zip(LIMITS, levels, strict=True):
        figure.add_hline(y=height, line={"color": "#999", "width": 1, "dash": "dash"})
        figure.add_annotation(
            text=f"{plot_text(record.rule.say(level))} below",
            # Positions on a logarithmic axis are logarithms.
            y=float(np.log10(height)),
            **theme.look("noise limit"),
        )
    shown = [value for noises, _ in kinds for value in noises] + visible + levels
    part = record.rule.units == OF_THE_RANGE
    return theme.dress(
        figure,
        400 + theme.legend_room(len(kinds) + 1),
        "noise",
        xaxis=_epsilon_axis(epsilons),
        yaxis={
            "title": f"noise ({'part ' * part}{plot_text(record.rule.units)})",
            "range": _log_range(shown),
            "dtick": 1 if max(shown) > 1e3 * min(shown) else "D2",
        },
    )


def draw_attacker(record: Forecast) -> go.Figure:
    """How often a person who is in the table is found, against the rate of false alarms."""
    figure = go.Figure()
    for k, one in enumerate(record.outlooks):
        attacker = one.attacker
        if record.gaussian:
            found = best_rate_gaussian(attacker.mu, _ALARMS)
        else:
            found = best_rate(attacker.epsilon, attacker.delta, _ALARMS)
        figure.add_scatter(
            x=_ALARMS.tolist(),
            y=found.tolist(),
            mode="lines",
            name=f"epsilon {one.epsilon:g}",
            line={"color": theme.series_colour(k), "dash": theme.series_dash(k), "width": 2},
            hovertext=[
                f"epsilon {one.epsilon:g}: at {percent(float(a))} false alarms, at most "
                f"{percent(float(b))} are recognised"
                for a, b in zip(_ALARMS, found, strict=True)
            ],
            hoverinfo="text",
        )
    figure.add_scatter(
        x=_ALARMS.tolist(),
        y=_ALARMS.tolist(),
        mode="lines",
        name="guessing without the model",
        line={"color": theme.WAS, "dash": "dot", "width": 2},
        hoverinfo="skip",
    )
    return theme.dress(figure, 400 + theme.legend_room(len(record.outlooks) + 1), "attacker")


def group_columns(record: Forecast) -> Mapping[tuple[float, ...], list[str]]:
    """Columns that have the same noise at every epsilon, by that noise."""
    groups: dict[tuple[float, ...], list[str]] = {}
    for k, column in enumerate(record.outlooks[0].columns):
        noises = tuple(one.columns[k].noise for one in record.outlooks)
        groups.setdefault(noises, []).append(column.name)
    return groups


def choose_kinds(record: Forecast) -> list[tuple[tuple[float, ...], list[str]]]:
    """At most `MOST_KINDS` groups of columns alike in their noise, with the names of each.

    The quietest and the loudest, for they say within what range the others are; at least one
    number and one category, if there are.
    """
    groups = list(group_columns(record).items())
    if len(groups) <= MOST_KINDS:
        return groups
    groups.sort(key=lambda group: group[0][0])
    chosen = np.linspace(0, len(groups) - 1, MOST_KINDS).round().astype(int).tolist()
    kind_of = {column.name: column.kind for column in record.outlooks[0].columns}
    for kind in sorted(set(kind_of.values())):
        having = [
            i for i, (_, names) in enumerate(groups) if any(kind_of[n] == kind for n in names)
        ]
        if not set(having) & set(chosen):
            middle = having[len(having) // 2]
            # All that are chosen are of another kind, so any but the ends can make room.
            least = min(range(1, MOST_KINDS - 1), key=lambda k: abs(chosen[k] - middle))
            chosen[least] = middle
    return [groups[i] for i in sorted(chosen)]


def tell_names(names: list[str]) -> str:
    """The first names of a group, and how many more there are."""
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} like it"


def _epsilon_axis(epsilons: list[float]) -> dict[str, object]:
    axis: dict[str, object] = {"tickvals": epsilons, "ticktext": [f"{one:g}" for one in epsilons]}
    if len(epsilons) == 1:
        # A single point has no width to draw.
        axis["range"] = [float(np.log10(epsilons[0])) - 0.5, float(np.log10(epsilons[0])) + 0.5]
    return axis


def _log_range(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [float(np.log10(max(low, 1e-300))) - 0.1, float(np.log10(max(high, 1e-300))) + 0.1]
