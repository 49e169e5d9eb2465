"""The frame of all pages: one HTML file with everything inside, and the receipt at its end."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from voile.privacy.receipt import Receipt
from voile.report.budget_bar import budget_bar, budget_key

_STYLE = """
  body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
         padding: 0 1rem; color: #222; background: #fff; overflow-wrap: anywhere }
  h2 { margin: 2.2rem 0 .4rem } h3 { margin: 1.8rem 0 .2rem }
  figure { margin: .4rem 0 0; overflow-x: auto }
  pre { background: #f4f4f2; padding: 1rem; overflow-x: auto; font-size: .85rem;
        overflow-wrap: normal }
  .note { color: #555; font-size: .9rem; margin: .2rem 0 .6rem }
  .wide { overflow-x: auto }
  table { border-collapse: collapse; font-size: .85rem; overflow-wrap: normal }
  th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #ddd;
           vertical-align: top }
  td.number, th.number { text-align: right; white-space: nowrap }
  summary { cursor: pointer; color: #555; font-size: .9rem }
  .key { list-style: none; padding: 0; margin: 0; font-size: .9rem }
  .key li { display: inline-block; margin-right: 1.2rem }
  .key span { display: inline-block; width: .8em; height: .8em; margin-right: .4em }
  .cards { display: flex; flex-wrap: wrap; gap: 1.2rem 1.6rem; margin: .8rem 0 }
  .card { max-width: 100% } .card b { display: block; overflow-wrap: anywhere }
  .card .note { margin: .1rem 0; max-width: 16rem }
  .pictures { display: flex; flex-wrap: wrap; gap: .5rem }
  .picture { font-size: .8rem; color: #555; max-width: 7.6rem }
  .picture img { display: block; width: 7.6rem; image-rendering: pixelated;
                 border: 1px solid #ccc; box-sizing: border-box }
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style><script>{script}</script></head><body><main>
<h1>{title}</h1>
{body}
<h2>What it cost</h2>
{cost}
<h2>What this does not protect</h2>
<p>The guarantee hides whether any one {unit} was in the table. It does not hide facts about the
group as a whole, the names and kinds of columns, or anything said in the schema.</p>
</main></body></html>
"""


def compose_page(title: str, body: Iterable[str], receipt: Receipt, *, cost: str = "") -> str:
    """Put a page together.

    Parameters
    ----------
    title : str
        Plain text.
    body : iterable of str
        HTML, in order.
    receipt : Receipt
        Shown at the end, with its budget bar.
    cost : str
        A sentence on what this page itself cost, plain text.
    """
    return _PAGE.format(
        title=html.escape(title),
        style=_STYLE,
        script=get_plotlyjs(),
        body="\n".join(body),
        cost=_tell_cost(receipt, cost),
        unit=html.escape(receipt.unit),
    )


def frame_page(page: str, *, height: int = 720) -> str:
    """A page as part of another, such as a notebook: neither can disturb the other."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" title="Voile" loading="lazy" '
        f'style="width:100%;height:{height}px;border:1px solid #ddd"></iframe>'
    )


def place_figure(figure: go.Figure, name: str, description: str) -> str:
    """A figure as HTML.

    Parameters
    ----------
    figure : Figure
    name : str
        Unique in the page; letters, digits and hyphens.
    description : str
        What it shows, for those who do not see it; plain text.
    """
    drawn = figure.to_html(
        include_plotlyjs=False,
        full_html=False,
        div_id=name,
        # The bar of buttons has one that uploads the figure.
        config={"displayModeBar": False, "responsive": True, "showTips": False},
    )
    return f'<figure role="img" aria-label="{html.escape(description)}">{drawn}</figure>'


def place_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """A table of plain texts as HTML; its last ``numbers`` columns are aligned to the right."""
    first = len(head) - numbers

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if i >= first else ''}>{html.escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        )

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{line(head, "th")}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def fold(summary: str, inside: str) -> str:
    """HTML that is shown on request."""
    return f"<details><summary>{html.escape(summary)}</summary>{inside}</details>"


def paragraph(text: str, *, note: bool = False) -> str:
    """Plain text as a paragraph."""
    return f"<p{' class=note' if note else ''}>{html.escape(text)}</p>"


def heading(text: str, *, level: int = 2) -> str:
    """Plain text as a heading."""
    return f"<h{level}>{html.escape(text)}</h{level}>"


def _tell_cost(receipt: Receipt, cost: str) -> str:
    parts = [paragraph(f"{receipt.promise[0].upper()}{receipt.promise[1:]}.")]
    if cost:
        parts.append(paragraph(f"This page {cost}."))
    key = budget_key(receipt)
    if key:
        words = ", ".join(f"{text}" for _, text in key)
        parts.append(place_figure(budget_bar(receipt), "budget", f"Shares of the budget: {words}"))
        items = "".join(
            f'<li><span style="background:{colour}"></span>{html.escape(text)}</li>'
            for colour, text in key
        )
        parts.append(f'<ul class="key">{items}</ul>')
    parts.append(f"<pre>{html.escape(str(receipt))}</pre>")
    return "\n".join(parts)
