"""The page of heat maps: each image, where its heat lies, and what the network said of it."""

from __future__ import annotations

from voile.explain.heat_maps.map_text import CAUTION, flat_text, method_text
from voile.explain.heat_maps.record import HeatMaps
from voile.explain.wording import percent
from voile.report.kit.page import compose_page, fold, paragraph, place_table
from voile.report.kit.pictures import place_cards
from voile.report.networks.pictures import place_legend, place_map

MOST_ROWS, MOST_CLASSES = 60, 12


def draw_page(record: HeatMaps) -> str:
    """The whole page as HTML."""
    count = len(record)
    lead = (
        f"Where a network found the reasons for its answer in "
        f"{'one image' if count == 1 else f'{count} images'}. {method_text(record)}"
    )
    rows = (
        "The images on this page are those you gave; no other image is shown. Guarantee of the "
        f"network: {record.receipt.promise}."
    )
    body = [paragraph(lead), paragraph(CAUTION, note=True), paragraph(rows, note=True)]
    if text := flat_text(record):
        body.append(paragraph(text))
    if count > MOST_ROWS:
        text = f"The first {MOST_ROWS} of {count} images; to_frame() has all."
        body.append(paragraph(text, note=True))
    body.append(place_cards([place_legend(record)]))
    body.append(place_cards(place_map(record, row) for row in range(min(count, MOST_ROWS))))
    body.append(fold("What the network said of each image", _answers(record)))
    return compose_page(
        "Where the network looked", body, record.receipt, cost=record.cost, holds_rows=True
    )


def _answers(record: HeatMaps) -> str:
    classes = range(min(len(record.outputs), MOST_CLASSES))
    head = ["image", "predicted", "heat for", *(f"'{record.outputs[k]}'" for k in classes)]
    rows = [
        [
            f"{row + 1}",
            record.outputs[record.predicted[row]],
            record.outputs[record.targets[row]],
            *(percent(float(record.probabilities[row, k])) for k in classes),
        ]
        for row in range(min(len(record), MOST_ROWS))
    ]
    table = place_table(head, rows, numbers=len(classes))
    left = len(record.outputs) - len(classes)
    return table + (paragraph(f"And {left} more classes.", note=True) if left else "")
