"""The frame of all pages: one HTML file with everything inside, and the receipt at its end."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from voile.privacy.receipt import Receipt
from voile.report.kit.budget import budget_bar, budget_key
from voile.report.kit.theme import page_style, theme_script, themed

_DOCUMENT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style><script>{plotly}</script><script>{theme}</script></head><body>
{before}<header class="scheme">
<button type="button" id="scheme">Colours: automatic</button></header>
{inside}
</body></html>
"""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'"
)
"""The browser itself keeps the page from asking for anything, or sending anything, anywhere."""

_INSIDE = """<main>
<h1>{title}</h1>
{notes}
{body}
<h2>What it cost</h2>
{cost}
<h2>What this does not protect</h2>
<p>The guarantee hides whether any one {unit} was in the table. It does not hide facts about the
group as a whole, the names and kinds of columns, or anything said in the schema.</p>
{shown}
{limits}
</main>"""


_SHOWN = (
    "This page holds the rows that were asked about, as they are: the guarantee is for the rows "
    "behind the model, not for these. Share it with those who may see them."
)


def compose_page(
    title: str,
    body: Iterable[str],
    receipt: Receipt,
    *,
    cost: str = "",
    holds_rows: bool = False,
) -> str:
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
    holds_rows : bool
        Whether rows that a caller asked about can be read on the page.
    """
    inside = _INSIDE.format(
        title=html.escape(title),
        notes=place_notes(receipt.notes),
        shown=paragraph(_SHOWN) if holds_rows else "",
        limits=place_list(receipt.notes),
        body="\n".join(body),
        cost="\n".join(place_cost(receipt, cost)),
        unit=html.escape(receipt.unit),
    )
    return compose_document(title, inside)


def compose_document(title: str, inside: str, *, before: str = "", style: str = "") -> str:
    """Put the parts of any page into one HTML document, which needs nothing but itself.

    Parameters
    ----------
    title : str
        Plain text.
    inside : str
        HTML: the page from its first heading on.
    before : str
        HTML that comes first of all: a link to skip what is repeated.
    style : str
        CSS beside that of all pages.
    """
    return _DOCUMENT.format(
        policy=_POLICY,
        title=html.escape(title),
        style=page_style() + style,
        plotly=get_plotlyjs(),
        theme=theme_script(),
        before=before,
        inside=inside,
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
        scope = " scope=col" if tag == "th" else ""
        return "".join(
            f"<{tag}{scope}{' class=number' if i >= first else ''}>{html.escape(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        )

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    about = html.escape(f"Table: {', '.join(head[:6])}")
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{about}">'
        f"<table><thead><tr>{line(head, 'th')}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def fold(summary: str, inside: str) -> str:
    """HTML that is shown on request."""
    return f"<details><summary>{html.escape(summary)}</summary>{inside}</details>"


def paragraph(text: str, *, note: bool = False) -> str:
    """Plain text as a paragraph."""
    return f"<p{' class=note' if note else ''}>{html.escape(text)}</p>"


def heading(text: str, *, level: int = 2, anchor: str = "") -> str:
    """Plain text as a heading; with an anchor, a link can find it."""
    found = f' id="{anchor}"' if anchor else ""
    return f"<h{level}{found}>{html.escape(text)}</h{level}>"


def place_notes(notes: Sequence[str]) -> str:
    """What must be known beside a guarantee, in a box that nobody overlooks, as HTML."""
    if not notes:
        return ""
    return f'<div class="alarm">{paragraph("What must be known:")}{place_list(notes)}</div>'


def place_list(texts: Iterable[str], *, style: str = "") -> str:
    """Plain texts as a list, as HTML, of a class of the style sheet; nothing if there are none."""
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    kind = f' class="{style}"' if style else ""
    return f"<ul{kind}>{items}</ul>" if items else ""


def place_cost(receipt: Receipt, cost: str = "") -> list[str]:
    """The promise, the budget by purpose, and the receipt, as HTML.

    Parameters
    ----------
    receipt : Receipt
    cost : str
        A sentence on what the page itself cost, plain text.
    """
    parts = [paragraph(f"{receipt.promise[0].upper()}{receipt.promise[1:]}.")]
    if cost:
        parts.append(paragraph(f"This page {cost}."))
    return [*parts, *place_budget(receipt), place_text(str(receipt), "The receipt")]


def place_budget(receipt: Receipt) -> list[str]:
    """The budget bar with its key, as HTML; nothing if no part has a share."""
    key = budget_key(receipt)
    if not key:
        return []
    words = ", ".join(f"{text}" for _, text in key)
    return [
        place_figure(budget_bar(receipt), "budget", f"Shares of the budget: {words}"),
        place_key(key),
    ]


def place_key(key: Iterable[tuple[str, str]]) -> str:
    """Colours and what they stand for (plain text), as HTML."""
    items = "".join(
        f'<li><span style="background:{themed(colour)}"></span>{html.escape(text)}</li>'
        for colour, text in key
    )
    return f'<ul class="key">{items}</ul>'


def place_text(text: str, name: str) -> str:
    """Plain text as it stands, line by line; ``name`` tells what it is to who does not see it."""
    # What scrolls must be within reach of the keyboard.
    return (
        f'<pre tabindex="0" role="group" aria-label="{html.escape(name)}">{html.escape(text)}</pre>'
    )
