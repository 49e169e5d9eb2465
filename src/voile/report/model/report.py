"""The report of a model: one file for who decides about its use, with everything inside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.text import edits_text
from voile.explain.explained_feature import ExplainedFeature
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.lvq.overall import LVQExplanation
from voile.explain.lvq.text import prototype_name
from voile.models.estimator import PrivateEstimator
from voile.models.history import Edit
from voile.privacy.ledger import Ledger
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.rendering import reports
from voile.report import ebm, locally_linear, lvq
from voile.report.ebm.chooser import MOST_ROWS as MOST_OFFERED
from voile.report.ebm.chooser import draw_chooser
from voile.report.kit.budget import show_budget
from voile.report.kit.html import read_asset
from voile.report.kit.page import Section, compose_document
from voile.report.model.facts import FAMILIES, draw_facts, guarantee_text, html
from voile.report.model.ledger import draw_ledger
from voile.report.quality import evaluation as quality
from voile.schema import Category, Schema
from voile.schema.columns import Column
from voile.version import __version__

Whole = EBMExplanation | LocallyLinearExplanation | LVQExplanation

MOST_EXPLAINED = 20
"""Rows that are explained in one page, of a model that is no sum."""

Floats = NDArray[np.float64]


@reports(PrivateEstimator)
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
    lead, shown = _draw_model(whole)
    facts = lead + draw_facts(estimator, whole.kind, edits_text(whole))
    sections = [Section("What this model is", "model", facts)]
    if evaluation is not None:
        figures = _draw_mismatch(evaluation, estimator.model_) + quality.draw_section(evaluation)
        sections.append(Section("How good it is", "quality", figures))
    cost = "" if ledger is None else draw_ledger(ledger, receipt.entry)
    sections += [
        *shown,
        Section("Why a row gets its answer", "rows", _draw_rows(estimator, whole, rows)),
        Section("What it cost", "cost", html.cost(receipt, show_budget(receipt), cost)),
    ]
    if isinstance(whole, EBMExplanation):
        sections.append(Section("What people changed", "edits", _draw_edits(estimator.model_)))
    schema = estimator.model_.schema
    limits = html.limits(receipt, schema.unit is not None)
    written = json.dumps(schema.to_dict(), indent=2, ensure_ascii=False)
    again = html.again(receipt, __version__, _settings(estimator.training_settings_), written)
    sections += [
        Section("What this does not protect", "limits", limits),
        Section("Versions, and how to make this again", "again", again),
    ]
    name = title if title is not None else f"Report on {FAMILIES[whole.kind].split(' (')[0]}"
    inside = _draw_inside(name, receipt, getattr(evaluation, "receipt", None), ledger, sections)
    return compose_document(name, inside, before=html.skip(), style=read_asset("model/report.css"))


def _draw_inside(
    title: str,
    receipt: Receipt,
    measured: Receipt | None,
    ledger: Ledger | None,
    sections: list[Section],
) -> Markup:
    """The guarantee, the contents, and the sections."""
    delta = None if ledger is None else ledger.budget.delta
    notes = dict.fromkeys((*receipt.notes, *(() if measured is None else measured.notes)))
    sound = receipt.has_guarantee and (measured is None or measured.has_guarantee)
    guarantee = guarantee_text(receipt, measured, delta=delta)
    return html.inside(title, guarantee, sound, list(notes), sections)


def _draw_mismatch(evaluation: Any, model: Any) -> Markup:
    """A warning, if the estimate of quality is not of the model as it is now."""
    text = ""
    if getattr(evaluation, "entry", None) is not None and not evaluation.fits(model):
        text = (
            "These figures were measured before the latest edits: they are of the model as it was "
            "then. Measure again to know how good it is now."
            if evaluation.entry == model.receipt.entry
            else "These figures are of another model, not of the one in this report."
        )
    return html.warning(text)


def _draw_model(whole: Whole) -> tuple[Markup, list[Section]]:
    """What the model is, and its parts."""
    match whole:
        case EBMExplanation():
            page = ebm.model_page
            return page.draw_lead(whole), page.draw_sections(whole, linked=True)
        case LocallyLinearExplanation():
            maps = locally_linear.model_page
            return maps.draw_lead(whole), maps.draw_sections(whole)
        case LVQExplanation():
            return lvq.model_page.draw_lead(whole), lvq.model_page.draw_sections(whole)


def _draw_rows(estimator: Any, whole: Whole, rows: Any) -> Markup:
    model = estimator.model_
    if isinstance(whole, EBMExplanation):
        if rows is None:
            return draw_chooser(model, whole, None, None)
        columns = encode_public(rows, model.schema, may_lack=getattr(model, "unused", ()))
        told = estimator.explain_local(rows)
        return html.given(len(told), MOST_OFFERED) + draw_chooser(model, whole, columns, told)
    page: Any = (
        locally_linear.rows_page if isinstance(whole, LocallyLinearExplanation) else lvq.rows_page
    )
    if rows is None:
        typical = (
            typical_of_filters(whole, model.schema, MOST_EXPLAINED)
            if isinstance(whole, LocallyLinearExplanation)
            else typical_of_prototypes(whole, model.schema, MOST_EXPLAINED)
        )
        if not typical.names:
            return html.no_prototypes()
        told, intro, names = estimator.explain_local(typical.table), html.typical(), typical.names
    else:
        told = estimator.explain_local(rows)
        intro = html.given(len(told), MOST_EXPLAINED)
        names = tuple(f"Row {i + 1}" for i in range(len(told)))
    count = min(len(told), MOST_EXPLAINED)
    drawn = [page.draw_row(told, i, level=3) for i in range(count)]
    lead: Markup = page.draw_reading(told)
    return lead + intro + html.chooser(names[:count], drawn)


def _draw_edits(model: Any) -> Markup:
    history: tuple[Edit, ...] = getattr(model, "history", ())
    edits: tuple[Edit, ...] = getattr(model, "edits", ())
    return html.edits(ebm.model_page.draw_history(history, edits) if history else "")


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


@dataclass(frozen=True, eq=False)
class TypicalRows:
    """Rows to explain, and what each is.

    Attributes
    ----------
    table : mapping of str to list, or ndarray of shape (rows, ...)
        Columns by name, or pictures.
    names : tuple of str
    """

    table: Mapping[str, list[Any]] | NDArray[Any]
    names: tuple[str, ...]


def typical_of_prototypes(record: LVQExplanation, schema: Schema, most: int) -> TypicalRows:
    """Every prototype as a row: of a category the level with the greatest share."""
    count = min(len(record.labels), most)
    table: dict[str, list[Any]] = {}
    for name, column in schema.items():
        places = [j for j, one in enumerate(record.features) if one.column == name]
        values = record.values[:count, places]
        table[name] = _read(column, [record.features[j] for j in places], values)
    names = tuple(
        f"the typical {prototype_name(record.labels, record.outputs, p)}" for p in range(count)
    )
    return TypicalRows(table, names)


def typical_of_filters(bank: LocallyLinearExplanation, schema: Schema, most: int) -> TypicalRows:
    """Pictures of what each class looks for; of other columns, the middle of the schema."""
    if bank.image_shape is not None and bank.likeness is not None:
        lower = np.array([one.lower for one in bank.features])
        upper = np.array([one.upper for one in bank.features])
        pictures = lower + bank.likeness[:most] * (upper - lower)
        names = tuple(f"what '{name}' looks for" for name in bank.outputs[:most])
        return TypicalRows(pictures.reshape(len(pictures), *bank.image_shape), names)
    middle = {name: [_middle(column)] for name, column in schema.items()}
    return TypicalRows(middle, ("the middle of every number, and first levels",))


def _read(column: Column, features: Sequence[ExplainedFeature], values: Floats) -> list[Any]:
    if not isinstance(column, Category):
        lower, upper = features[0].lower, features[0].upper
        return [_rounded(float(value), lower, upper) for value in values[:, 0]]
    levels = column.levels or ()
    if not features or not levels:
        return [None] * len(values)
    return [levels[int(np.argmax(row))] for row in values]


def _rounded(value: float, lower: float, upper: float) -> float:
    """As many digits as people write, within the bounds."""
    return min(max(float(f"{value:.4g}"), lower), upper)


def _middle(column: Column) -> Any:
    if isinstance(column, Category):
        return (column.levels or (None,))[0]
    if column.lower is None or column.upper is None:
        return None
    return column.lower / 2 + column.upper / 2
