"""The page of a locally linear model: what each class looks for, its filters, the receipt."""

from __future__ import annotations

from markupsafe import Markup

from voile.explain.locally_linear import overall_text as filter_text
from voile.explain.locally_linear.overall import MOST_SUMMARY, LocallyLinearExplanation
from voile.explain.locally_linear.overall_text import noise_text, spread_text, strongest_text
from voile.explain.wording import noisy, percent, short
from voile.rendering import draws
from voile.report.kit.bars import MOST_BARS
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import Section, compose_page
from voile.report.locally_linear import pictures
from voile.report.locally_linear.bars import draw_contrast

MOST_CLASSES, MOST_PICTURES, MOST_CELLS = 40, 600, 40_000
"""Classes with a card, filters drawn at the end, numbers in a table: more would be slow."""

_html = Templates("locally_linear/model.html", text=filter_text)


@draws(LocallyLinearExplanation)
def draw_page(bank: LocallyLinearExplanation) -> str:
    """The whole page as HTML."""
    body = draw_lead(bank) + parts.sections(draw_sections(bank))
    return compose_page("What each class looks for", body, bank.receipt, cost=bank.cost)


def draw_lead(bank: LocallyLinearExplanation) -> Markup:
    """What the model is, in a few sentences."""
    return _html.lead(bank, MOST_CLASSES)


def draw_sections(bank: LocallyLinearExplanation) -> list[Section]:
    """The classes, and the filters of each."""
    shown = range(min(len(bank.outputs), MOST_CLASSES))
    if bank.image_shape is None:
        bars = _html.bars(bank, MOST_BARS, [_describe(bank, k) for k in shown])
        return [Section("The classes", "classes", bars)]
    classes = _html.classes(
        noisy=bank.standard_errors.max(initial=0.0) > 0,
        coloured=pictures.is_coloured(bank.image_shape),
        cards=[pictures.place_class(bank, k) for k in shown],
    )
    sections = [Section("The classes", "classes", classes)]
    if bank.maps > 1:
        cards = [pictures.place_summary(bank, k) for k in shown]
        drawn = [pictures.place_all(bank, k) for k in shown[: MOST_PICTURES // bank.maps]]
        single = _html.single(bank, MOST_SUMMARY, cards, drawn)
        sections.append(Section("Single filters", "filters", single))
    return sections


def _describe(bank: LocallyLinearExplanation, k: int) -> dict[str, object]:
    """What tells a class apart, as bars and numbers."""
    told = (spread_text(bank, k), noise_text(bank, k))
    return {
        "name": bank.outputs[k],
        "told": "; ".join(text for text in told if text),
        "figure": draw_contrast(bank, k),
        "words": strongest_text(bank, k),
        "table": _tabulate(bank, k),
    }


def _tabulate(bank: LocallyLinearExplanation, k: int) -> Markup:
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
    return parts.table(head, rows, len(head) - 1)
