"""With what a model and its report were made, and how to make them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from voile.privacy.receipt import Receipt
from voile.report.kit.page import fold, paragraph, place_text
from voile.version import __version__

_STEPS = """import voile

model = voile.load("FILE")           # the file of the model
print(model.receipt_)                # the promise, and every look at the rows
model.report("report.html")          # this report, without what is not in the model

# With the estimate of quality and the ledger, where they are shown above:
#   voile report FILE --quality FILE.quality.json --ledger LEDGER -o report.html"""


def draw_reproduction(estimator: Any) -> list[str]:
    """Versions, settings and steps, as HTML."""
    receipt: Receipt = estimator.receipt_
    again = (
        "The report is made of the saved model, of the estimate of quality and the ledger where it "
        "shows them, and of no private row: whoever has these files can make it again, and it "
        "costs nothing. Training cannot be repeated to the same numbers, as its noise must not be "
        "known to anyone; a training with the same settings on the same rows gives another model "
        "with the same promise, and pays again."
    )
    settings = _settings(estimator.training_settings_)
    schema = json.dumps(estimator.model_.schema.to_dict(), indent=2, ensure_ascii=False)
    return [
        paragraph(f"Trained with voile {receipt.version}; this report by voile {__version__}."),
        place_text(_STEPS, "Steps to make this report again"),
        paragraph(again),
        fold("Settings of the training", place_text(settings, "Settings of the training")),
        fold("The schema, with what was found privately", place_text(schema, "The schema")),
    ]


def _settings(settings: Mapping[str, Any] | None) -> str:
    """As text; the schema stands by itself, the ledger in its section."""
    if settings is None:
        return "not recorded in this file"
    shown = {name: _shown(value) for name, value in sorted(settings.items())}
    return json.dumps(shown, indent=2, ensure_ascii=False)


def _shown(value: Any) -> Any:
    """A value in the form of `voile.models.training_settings`, for people."""
    if isinstance(value, Mapping):
        if "object" in value:
            # It may hold anything: only its kind is known.
            return f"{value['object']}, not recorded"
        return {str(name): _shown(one) for name, one in value["pairs"]}
    return value
