"""The page of a locally linear model: what each class looks for, its filters, the receipt."""

from __future__ import annotations

from voile.explain.filter_bank import MOST_SUMMARY, FilterBank
from voile.explain.filter_text import (
    no_rows_text,
    noise_text,
    ranking_text,
    size_text,
    spread_text,
    strongest_text,
    teacher_text,
)
from voile.explain.wording import noisy, percent, short
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table
from voile.report.kit.pictures import place_cards
from voile.report.kit.section import Section, place_plainly
from voile.report.locally_linear.bars import MOST_BARS, draw_contrast
from voile.report.locally_linear.pictures import is_coloured, place_all, place_class, place_summary

MOST_CLASSES, MOST_PICTURES, MOST_CELLS = 40, 600, 40_000
"""Classes with a card, filters drawn at the end, numbers in a table: more would be slow."""


def draw_page(bank: FilterBank) -> str:
    """The whole page as HTML."""
    body = [*draw_lead(bank), *place_plainly(draw_sections(bank))]
    return compose_page("What each class looks for", body, bank.receipt, cost=bank.cost)


def draw_sections(bank: FilterBank) -> list[Section]:
    """The classes, and the filters of each."""
    return _pictures(bank) if bank.image_shape else [_bars(bank)]


def draw_lead(bank: FilterBank) -> list[str]:
    """What the model is, in a few sentences, as HTML."""
    text = (
        f"A model of {size_text(bank)} (locally linear maps). A filter multiplies every input by a "
        f"weight and adds up. The score of a class is a blend of what its filters say, in which "
        f"those that fit a row best count most; the highest score gives the class. The filters are "
        f"the whole model."
    )
    told = (teacher_text(bank), no_rows_text(bank.receipt))
    parts = [paragraph(one) for one in (text, *told) if one]
    if len(bank.outputs) > MOST_CLASSES:
        note = f"Shown: {MOST_CLASSES} of {len(bank.outputs)} classes; to_frame() has all."
        parts.append(paragraph(note, note=True))
    return parts


# -- pictures -----------------------------------------------------------------------------------


def _pictures(bank: FilterBank) -> list[Section]:
    shape = bank.image_shape
    assert shape is not None
    shown = range(min(len(bank.outputs), MOST_CLASSES))
    note = (
        "Filter: the filters of a class, blended, less the mean of all classes. Orange pixels "
        "raise the score, blue ones lower it, the strongest with the full colour. "
    )
    if bank.standard_errors.max(initial=0.0) > 0:
        note += (
            "Beyond noise: the same, grey where two standard errors of the privacy noise reach 0 "
            "or hardly any weight is. "
        )
    if is_coloured(shape):
        note += "In colours: a channel above grey raises the score, below grey lowers it. "
    looks = (
        "Looks for: the average picture with what the filter responds to added to it, if inputs "
        "vary as pictures in general do. It is made of released values alone."
    )
    classes = (
        paragraph(looks, note=True),
        paragraph(note, note=True),
        place_cards(place_class(bank, k) for k in shown),
    )
    sections = [Section("The classes", "classes", classes)]
    if bank.maps == 1:
        return sections
    parts = [
        paragraph(
            f"Up to {MOST_SUMMARY} filters of each class that count most and differ from each "
            f"other, less the mean of all classes, with their share. {ranking_text(bank)}",
            note=True,
        ),
        place_cards(place_summary(bank, k) for k in shown),
    ]
    drawn = list(shown)[: MOST_PICTURES // bank.maps]
    if drawn:
        title = f"All {bank.maps} filters of " + (
            "all classes" if len(drawn) == len(bank.outputs) else f"{len(drawn)} classes"
        )
        parts.append(fold(title, place_cards(place_all(bank, k) for k in drawn)))
    return [*sections, Section("Single filters", "filters", tuple(parts))]


# -- tables -------------------------------------------------------------------------------------


def _bars(bank: FilterBank) -> Section:
    shown = range(min(len(bank.outputs), MOST_CLASSES))
    note = (
        "A bar is the weight of a feature in the blended filters of the class, less the mean of "
        "all classes: what one step adds to the score. A step is half the range of a number, and "
        "to have a level. Whiskers and ± are two standard errors of the privacy noise."
    )
    if len(bank.features) > MOST_BARS:
        note += f" Shown: the {MOST_BARS} strongest of {len(bank.features)} features."
    parts = [paragraph(note, note=True)]
    if ranking := ranking_text(bank):
        parts.append(paragraph(ranking, note=True))
    for k in shown:
        name = bank.outputs[k]
        told = "; ".join(text for text in (spread_text(bank, k), noise_text(bank, k)) if text)
        words = f"What tells '{name}' apart: {strongest_text(bank, k)}"
        parts += [
            heading(f"'{name}'", level=3),
            paragraph(f"{told[0].upper()}{told[1:]}.", note=True),
            place_figure(draw_contrast(bank, k), f"class-{k}", words),
            fold(f"Filters of '{name}'", _numbers(bank, k)),
        ]
    return Section("The classes", "classes", tuple(parts))


def _numbers(bank: FilterBank, k: int) -> str:
    maps = list(map(int, bank.ranked[k]))[: max(1, MOST_CELLS // max(len(bank.features), 1))]
    head = ["feature", "blend", "less the mean"]
    head += [f"no. {m + 1} ({percent(float(bank.shares[k, m]))})" for m in maps]
    rows = [
        [
            one.name,
            noisy(float(bank.typical[k, j]), float(bank.typical_errors[k, j])),
            noisy(float(bank.contrast[k, j]), float(bank.contrast_errors[k, j])),
            *(
                noisy(float(bank.filters[k, m, j]), float(bank.standard_errors[k, m, j]))
                for m in maps
            ),
        ]
        for j, one in enumerate(bank.features)
    ]
    blend = float((bank.shares[k] * bank.offsets[k]).sum())
    offsets = [short(float(bank.offsets[k, m])) for m in maps]
    rows.append(["(added without any input)", short(blend), "", *offsets])
    return place_table(head, rows, numbers=len(head) - 1)
