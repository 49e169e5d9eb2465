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
from voile.report.kit.assets import read_asset
from voile.report.kit.budget import show_budget
from voile.report.kit.page import Section, compose_document
from voile.report.kit.room import PAGE, draw_some, limited
from voile.report.model.facts import FAMILIES, draw_facts, html
from voile.report.model.guarantee import draw_guarantee
from voile.report.model.ledger import draw_ledger
from voile.report.quality import evaluation as quality
from voile.schema import Category, Date, Number, Schema
from voile.schema.columns import Column
from voile.schema.scale import on_scale
from voile.schema.value_texts import value_text
from voile.version import __version__

Whole = EBMExplanation | LocallyLinearExplanation | LVQExplanation

MOST_EXPLAINED = 20
"""Rows that are explained in one page, of a model that is no sum."""

MOST_OF_ROWS = 360_000
"""Characters of those."""

MOST_OF_MODEL, LEAST_OF_SHAPES = 620_000, 100_000
"""Characters of a form and of shapes together, and of shapes at least."""

MOST_COLUMNS = 200
"""Columns of the schema that are written out."""

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
    answers = _draw_rows(estimator, whole, rows)
    # Numbers of a form cannot be left out: where they are many, fewer shapes and maps are drawn.
    form = len(answers) if isinstance(whole, EBMExplanation) else 0
    with limited(max(min(PAGE, MOST_OF_MODEL - form), LEAST_OF_SHAPES)):
        lead, shown = _draw_model(whole)
    facts = lead + draw_facts(estimator, whole.kind, edits_text(whole))
    sections = [Section("What this model is", "model", facts)]
    if evaluation is not None:
        figures = _draw_mismatch(evaluation, estimator.model_) + quality.draw_section(evaluation)
        sections.append(Section("How good it is", "quality", figures))
    cost = "" if ledger is None else draw_ledger(ledger, receipt.entry)
    sections += [
        *shown,
        Section("Why a row gets its answer", "rows", answers),
        Section("What it cost", "cost", html.cost(receipt, show_budget(receipt), cost)),
    ]
    if isinstance(whole, EBMExplanation):
        sections.append(Section("What people changed", "edits", _draw_edits(estimator.model_)))
    schema = estimator.model_.schema
    limits = html.limits(receipt, schema.unit)
    again = html.again(
        receipt, __version__, _settings(estimator.training_settings_), _schema_text(schema)
    )
    sections += [
        Section("What this does not protect", "limits", limits),
        Section("Versions, and how to make this again", "again", again),
    ]
    name = title if title is not None else f"Report on {FAMILIES[whole.kind].split(' (')[0]}"
    measured, given = getattr(evaluation, "receipt", None), rows is not None
    asked = (estimator.training_settings_ or {}).get("epsilon")
    guarantee = draw_guarantee(receipt, measured, ledger, asked)
    inside = _draw_inside(name, guarantee, receipt, measured, given, sections)
    return compose_document(name, inside, before=html.skip(), style=read_asset("model/report.css"))


def _draw_inside(
    title: str,
    guarantee: Markup,
    receipt: Receipt,
    measured: Receipt | None,
    given: bool,
    sections: list[Section],
) -> Markup:
    """The guarantee, what must be known, the contents, and the sections."""
    notes = dict.fromkeys((*receipt.notes, *(() if measured is None else measured.notes)))
    return html.inside(title, guarantee, list(notes), given, sections)


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
        own = model.own_columns(rows)
        columns = encode_public(own, model.schema, may_lack=getattr(model, "unused", ()))
        told = estimator.explain_local(rows)
        return html.given(len(told), MOST_OFFERED) + draw_chooser(model, whole, columns, told)
    page: Any = (
        locally_linear.rows_page if isinstance(whole, LocallyLinearExplanation) else lvq.rows_page
    )
    if rows is None:
        typical = (
            typical_of_maps(whole, model.schema, MOST_EXPLAINED)
            if isinstance(whole, LocallyLinearExplanation)
            else typical_of_prototypes(whole, model.schema, MOST_EXPLAINED)
        )
        if not typical.names:
            return html.no_prototypes()
        told, names = estimator.explain_local(typical.table), typical.names
    else:
        told = estimator.explain_local(rows)
        names = tuple(f"Row {i + 1}" for i in range(len(told)))
    with limited(MOST_OF_ROWS):
        count = min(len(told), MOST_EXPLAINED)
        drawn = draw_some(lambda i: page.draw_row(told, i, level=3), count)
    intro = html.typical() if rows is None else html.given(len(told), len(drawn))
    lead: Markup = page.draw_reading(told)
    return lead + intro + html.chooser(names, drawn)


def _draw_edits(model: Any) -> Markup:
    history: tuple[Edit, ...] = getattr(model, "history", ())
    edits: tuple[Edit, ...] = getattr(model, "edits", ())
    return html.edits(ebm.model_page.draw_history(history, edits) if history else "")


def _schema_text(schema: Schema) -> str:
    """As JSON; of very many columns the first."""
    told = schema.to_dict()
    left = len(schema) - MOST_COLUMNS
    if left > 0:
        told["columns"] = dict(list(told["columns"].items())[:MOST_COLUMNS])
    text = json.dumps(told, indent=2, ensure_ascii=False)
    return text + (f"\n\nand {left:,} more columns: the model's file has all" if left > 0 else "")


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


def typical_of_maps(bank: LocallyLinearExplanation, schema: Schema, most: int) -> TypicalRows:
    """Pictures of what each class looks for; of other columns, the middle of the schema."""
    if bank.image_shape is not None and bank.likeness is not None:
        lower = np.array([one.lower for one in bank.features])
        upper = np.array([one.upper for one in bank.features])
        pictures = lower + bank.likeness[:most] * (upper - lower)
        names = tuple(f"typical pattern of '{name}'" for name in bank.outputs[:most])
        return TypicalRows(pictures.reshape(len(pictures), *bank.image_shape), names)
    middle = {name: [_middle(column)] for name, column in schema.items()}
    return TypicalRows(middle, ("the middle of every number, and first levels",))


def _read(column: Column, features: Sequence[ExplainedFeature], values: Floats) -> list[Any]:
    if not isinstance(column, Category):
        lower, upper = features[0].lower, features[0].upper
        if column.scale != "number":
            return [_given(float(value), column) for value in values[:, 0]]
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
    return _given(column.lower / 2 + column.upper / 2, column)


def _given(value: float, column: Number) -> float | str:
    """A value as a person would give it: a whole number, or a date as text."""
    if isinstance(column, Date):
        return value_text(value, column.scale)
    return float(on_scale(np.array(value), column.scale))
