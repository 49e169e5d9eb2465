"""Sets of texts: reviews of films."""

from __future__ import annotations

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.facts import Facts
from voile.schema import Category, Schema


def entries() -> tuple[Entry, ...]:
    """Return the sets of texts."""
    reviews = Facts(
        name="imdb",
        title="Large movie review data set",
        task="text",
        rows=50_000,
        schema=Schema({}, target=Category([0, 1])),
        source="Reviews of the Internet Movie Database; Maas et al. (2011)",
        bounds="the two classes of its documentation; a text is no column of a schema",
        licence="not stated",
        citation=(
            "Maas, A. L. et al. (2011). Learning word vectors for sentiment analysis. ACL, 142-150."
        ),
        note=(
            "X has one column, 'text'. Turn it into features with a vocabulary that is public, or "
            "found privately: words counted in the reviews themselves are not. 1 is a good review."
        ),
        splits=("train", "test"),
    )
    return (Entry(reviews, StoredTable("sentiment", carried=("text",))),)
