"""The report of a model: one file for who decides about its use, with everything inside."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from voile.errors import SettingError
from voile.explain.filter_bank import FilterBank
from voile.explain.global_explanation import GlobalExplanation
from voile.explain.plain_text import edits_text
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.models.ebm.history import Edit
from voile.privacy.ledger import Ledger
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.report.ebm import model_page as global_page
from voile.report.ebm.chooser import MOST_ROWS as MOST_OFFERED
from voile.report.ebm.chooser import draw_chooser
from voile.report.kit.page import (
    compose_document,
    fold,
    heading,
    paragraph,
    place_budget,
    place_notes,
    place_text,
)
from voile.report.kit.section import Section, place_contents, place_linked
from voile.report.kit.theme import read_asset
from voile.report.locally_linear import model_page as filter_page
from voile.report.locally_linear import rows_page as filter_decision_page
from voile.report.lvq import model_page as prototype_page
from voile.report.lvq import rows_page as decision_page
from voile.report.model.facts import FAMILIES, draw_facts, promise_text
from voile.report.model.ledger import draw_ledger
from voile.report.model.limits import draw_limits
from voile.report.model.reproduction import draw_reproduction
from voile.report.model.row_chooser import MOST_ROWS as MOST_EXPLAINED
from voile.report.model.row_chooser import place_chooser
from voile.report.model.typical_rows import typical_of_filters, typical_of_prototypes

Whole = GlobalExplanation | FilterBank | PrototypeExplanation

_SKIP = '<a class="skip" href="#content">Skip to the content</a>'
_INSIDE = """<main id="content">
<h1>{title}</h1>
{lead}
{contents}
{body}
</main>"""


def draw_report(
    estimator: Any,
    *,
    title: str | None = None,
    evaluation: Any = None,
    ledger: Ledger | None = None,
    rows: Any = None,
) -> str:
    """Draw the report of a fitted estimator as one HTML page that needs nothing beside it.

    Parameters
    ----------
    estimator : EBMClassifier, EBMRegressor, LocallyLinearClassifier or one of the LVQ classifiers
        Fitted, or read by `voile.load`.
    title : str, optional
    evaluation : Evaluation, optional
        How good the model is, as a record.
    ledger : Ledger, optional
        Of the data set: the report then tells everything that was ever done with it.
    rows : table of shape (rows, columns), optional
        Rows that the caller holds, to be explained. They stand in the page for all to read.

    Returns
    -------
    str
    """
    whole = estimator.explain_global()
    if not isinstance(whole, Whole):
        raise SettingError(
            f"No report can be drawn of a {type(estimator).__name__}: give an additive, a locally "
            f"linear or a prototype model."
        )
    receipt: Receipt = estimator.receipt_
    edits: tuple[Edit, ...] = getattr(estimator.model_, "edits", ())
    history: tuple[Edit, ...] = getattr(estimator.model_, "history", ())
    lead, shown = _draw_model(whole)
    facts = (*lead, *draw_facts(estimator, whole.kind, edits_text(whole)))
    sections = [Section("What this model is", "model", facts)]
    if evaluation is not None:
        drawn = import_module("voile.report.quality.section").draw_section(evaluation)
        warned = _draw_mismatch(evaluation, estimator.model_)
        sections.append(Section("How good it is", "quality", (*warned, *drawn)))
    sections += shown
    sections.append(
        Section("Why a row gets its answer", "rows", _draw_rows(estimator, whole, rows))
    )
    sections.append(Section("What it cost", "cost", _draw_cost(receipt, ledger)))
    if isinstance(whole, GlobalExplanation):
        sections.append(Section("What people changed", "edits", _draw_edits(history, edits)))
    limits = draw_limits(receipt, estimator.model_.schema)
    sections.append(Section("What this does not protect", "limits", tuple(limits)))
    again = tuple(draw_reproduction(estimator))
    sections.append(Section("Versions, and how to make this again", "again", again))
    name = title if title is not None else f"Report on {FAMILIES[whole.kind].split(' (')[0]}"
    inside = _INSIDE.format(
        title=heading(name, level=1)[4:-5],
        lead=_draw_promise(receipt, getattr(evaluation, "receipt", None), ledger),
        contents=place_contents(sections),
        body="\n".join(place_linked(sections)),
    )
    return compose_document(name, inside, before=_SKIP, style=read_asset("report.css"))


def _draw_promise(receipt: Receipt, quality: Receipt | None, ledger: Ledger | None) -> str:
    delta = None if ledger is None else ledger.budget.delta
    text = paragraph(promise_text(receipt, quality, delta=delta))
    notes = dict.fromkeys((*receipt.notes, *(() if quality is None else quality.notes)))
    sound = receipt.guarantee and (quality is None or quality.guarantee)
    return f'<div class="{"lead" if sound else "alarm"}">{text}</div>{place_notes(tuple(notes))}'


def _draw_mismatch(evaluation: Any, model: Any) -> tuple[str, ...]:
    """A warning, if the estimate of quality is not of the model as it is now."""
    if getattr(evaluation, "entry", None) is None or evaluation.fits(model):
        return ()
    if evaluation.entry != model.receipt.entry:
        text = "These figures are of another model, not of the one in this report."
    else:
        text = (
            "These figures were measured before the latest edits: they are of the model as it was "
            "then. Measure again to know how good it is now."
        )
    return (f'<div class="alarm">{paragraph(text)}</div>',)


def _draw_model(whole: Whole) -> tuple[list[str], list[Section]]:
    """What the model is, and its parts."""
    match whole:
        case GlobalExplanation():
            return global_page.draw_lead(whole), global_page.draw_sections(whole, linked=True)
        case FilterBank():
            return filter_page.draw_lead(whole), filter_page.draw_sections(whole)
        case PrototypeExplanation():
            return prototype_page.draw_lead(whole), prototype_page.draw_sections(whole)


def _draw_rows(estimator: Any, whole: Whole, rows: Any) -> tuple[str, ...]:
    if isinstance(whole, GlobalExplanation):
        model = estimator.model_
        columns = (
            None
            if rows is None
            else encode_public(rows, model.schema, may_lack=getattr(model, "unused", ()))
        )
        told = None if rows is None else estimator.explain_local(rows)
        parts = draw_chooser(model, whole, columns, told)
        count = 0 if told is None else len(told)
        return (*_draw_given(count, MOST_OFFERED), *parts)
    schema, names, given = estimator.model_.schema, None, rows
    if rows is None:
        typical = (
            typical_of_filters(whole, schema, MOST_EXPLAINED)
            if isinstance(whole, FilterBank)
            else typical_of_prototypes(whole, schema, MOST_EXPLAINED)
        )
        names, given = typical.names, typical.table
        if not names:
            return (paragraph("The model has no prototypes, so there is no row to explain."),)
    told = estimator.explain_local(given)
    page = filter_decision_page if isinstance(whole, FilterBank) else decision_page
    count = min(len(told), MOST_EXPLAINED)
    if names is None:
        intro = _draw_given(len(told), MOST_EXPLAINED)
        names = tuple(f"Row {i + 1}" for i in range(count))
    else:
        intro = [paragraph("No rows were given: these are made of released values.", note=True)]
    parts = place_chooser(names[:count], lambda i: page.draw_row(told, i, level=3))
    return (*page.draw_reading(told), *intro, *parts)


def _draw_given(count: int, most: int) -> list[str]:
    """Who shares the page must know that rows are in it."""
    if not count:
        return []
    some = f"the first {most} of the {count}" if count > most else f"the {count}"
    text = (
        f"This file holds {some} rows that were given for this part, as they are: nothing hides "
        f"them. Share it with those who may see them."
    )
    return [f'<div class="alarm">{paragraph(text)}</div>']


def _draw_cost(receipt: Receipt, ledger: Ledger | None) -> tuple[str, ...]:
    parts = [paragraph(f"{receipt.promise[0].upper()}{receipt.promise[1:]}.")]
    budget = place_budget(receipt)
    if budget:
        parts += [heading("The model's own budget, by purpose", level=3), *budget]
    if ledger is not None:
        parts += [heading("Everything done with this data", level=3)]
        parts += draw_ledger(ledger, receipt.entry)
    parts += [heading("The receipt", level=3), place_text(str(receipt), "The receipt")]
    parts.append(fold("The receipt as JSON", place_text(receipt.to_json(), "The receipt as JSON")))
    return tuple(parts)


def _draw_edits(history: tuple[Edit, ...], edits: tuple[Edit, ...]) -> tuple[str, ...]:
    if not history:
        return (paragraph("Nothing: the model is as it was trained."),)
    note = "Edits look at no row: they cost nothing, and the promise stays as it is."
    return (global_page.draw_history(history, edits), paragraph(note, note=True))
