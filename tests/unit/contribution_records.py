"""Contributions made by hand, for tests: no black box was asked."""

import numpy as np
from explained_models import make_receipt

from voile.explain import BlackBoxLocalExplanation

COLUMNS = ("age", "ward", "dose", "sex")


def make_contributions(rows=2, columns=COLUMNS, outputs=("ill",), *, error=0.01, **changed):
    """An explanation whose numbers are drawn at random and add up."""
    rng = np.random.default_rng(3)
    shape = (rows, len(columns), len(outputs))
    values = rng.normal(0, 0.1, shape)
    values[:, -1] = 0.001 if error else 0.0
    base = np.full(len(outputs), 0.4)
    given = tuple(
        tuple(("A", "B")[(i + j) % 2] if j % 2 else str(20 + 3 * i + j) for j in range(shape[1]))
        for i in range(rows)
    )
    made = {
        "columns": tuple(columns),
        "given": given,
        "read_as": (("",) * shape[1],) * rows,
        "values": values,
        "standard_errors": np.full(shape, error),
        "sampling_errors": np.full(shape, error / 2 if np.isfinite(error) else 0.001),
        "base_values": base,
        "base_errors": np.full(len(outputs), error),
        "scores": base + values.sum(axis=1),
        "background": (1024,) * rows,
        "calls": (0,) * rows,
        "exact": True,
        "pixels": np.zeros((rows, 0)),
        "outputs": tuple(outputs),
        "units": "probability",
        "receipt": make_receipt(),
    }
    return BlackBoxLocalExplanation(**{**made, **changed})


def text_contributions(**changed):
    """Of one text, whose words have contributions."""
    words = ("brilliant", "awful", "film", "plot")
    empty = {"given": ((),), "read_as": ((),), "words": True}
    return make_contributions(
        1, words, texts=("A brilliant film <b>with</b> an awful plot.",), **empty, **changed
    )


def picture_contributions(rows=1):
    """Of pictures of 4 x 6 pixels in patches of 2 x 2."""
    return make_contributions(
        rows,
        tuple(f"patch {j}" for j in range(6)),
        picture=(4, 6),
        patch=(2, 2),
        pixels=np.linspace(0, 1, rows * 24).reshape(rows, 24),
        given=((),) * rows,
        read_as=((),) * rows,
    )
