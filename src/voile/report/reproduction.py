"""With what a model and its report were made, and how to make them again."""

from __future__ import annotations

import json
from typing import Any

from voile.privacy.receipt import Receipt
from voile.report.page import fold, paragraph, place_text
from voile.version import __version__

_STEPS = """import voile

model = voile.load("model.json")     # written by model.save("model.json")
print(model.receipt_)                # the promise, and every look at the rows
model.report("report.html")          # this report"""


def draw_reproduction(estimator: Any) -> list[str]:
    """Versions, settings and steps, as HTML."""
    receipt: Receipt = estimator.receipt_
    again = (
        "The report is made of the model alone and costs nothing: from the saved model it can be "
        "made again, the same, by anyone. Training cannot be repeated to the same numbers, as its "
        "noise must not be known to anyone; a training with the same settings on the same rows "
        "gives another model with the same promise, and pays again."
    )
    settings = json.dumps(_settings(estimator), indent=2, ensure_ascii=False)
    schema = json.dumps(estimator.model_.schema.to_dict(), indent=2, ensure_ascii=False)
    return [
        paragraph(f"Trained with voile {receipt.version}; this report by voile {__version__}."),
        place_text(_STEPS, "Steps to make this report again"),
        paragraph(again),
        fold("Settings of the training", place_text(settings, "Settings of the training")),
        fold("The schema, with what was found privately", place_text(schema, "The schema")),
    ]


def _settings(estimator: Any) -> dict[str, Any]:
    """Parameters that are plain data; the schema stands by itself, the ledger in its section."""
    return {
        name: _plain(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in ("schema", "ledger")
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if abs(value) != float("inf") else str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    # An object (a teacher, perhaps) may hold anything: only its kind is told.
    return type(value).__name__
