"""What the promise of a model does not cover, in words for who decides about its use."""

from __future__ import annotations

import html

from voile.privacy.receipt import Receipt
from voile.schema import Schema


def draw_limits(receipt: Receipt, schema: Schema) -> list[str]:
    """The limits as a list, with what is true of this model, as HTML."""
    unit = receipt.unit
    if schema.unit is None:
        people = (
            "The promise is for one row. A person with ten rows in the table is protected about "
            "ten times less."
        )
    else:
        people = (
            f"Here the promise is for one {unit}, as named when the data was protected. Two tables "
            f"about the same people need one ledger, or each makes a promise of its own."
        )
    limits = [
        (
            "Facts about groups.",
            "What is true of many people is learned on purpose. If smoking goes with cancer in the "
            "data, the model says so, also about people who were never in the table.",
        ),
        (
            "Being wrong.",
            "Noise bands and ± show the privacy noise only: not chance or bias in the sample, and "
            "not whether the kind of model suits the question.",
        ),
        (
            "Names and kinds.",
            "Names and types of columns, bounds, levels, classes and everything else in the schema "
            "are taken as public. Whoever reads them off the rows has published them.",
        ),
        ("People with several rows.", people),
        (
            "Timing and memory.",
            "How long training took and how much memory it used may depend on the rows. Nor does "
            "the promise bind anyone who already has the rows or can run code beside them.",
        ),
        (
            "An old copy of the ledger.",
            "Whoever restores one can spend the same budget twice.",
        ),
    ]
    items = "".join(
        f"<li><strong>{html.escape(title)}</strong> {html.escape(text)}</li>"
        for title, text in limits
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in receipt.notes)
    return [f"<ul>{items}{notes}</ul>"]
