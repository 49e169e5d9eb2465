"""What a training may know before it pays: from a schema file, or from names and kinds alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.schema import Schema


KINDS_GUESSED = (
    "Kinds of the columns were guessed from the first lines of the file, without noise and unpaid: "
    "the guarantee takes them for public. A schema says what is: voile schema shows and fixes them."
)


class ModelKind(StrEnum):
    """Models that a table can train."""

    EBM = "ebm"
    LOCALLY_LINEAR = "locally-linear"
    GLVQ = "glvq"
    GMLVQ = "gmlvq"
    LVQ1 = "lvq1"


class Task(StrEnum):
    """What is predicted."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


def read_public_facts(
    file: Path,
    target: str,
    schema: Path | None,
    task: Task | None,
    model: ModelKind,
    unit: str | None,
    unit_rows: int,
) -> Schema:
    """What may be known, from the schema file or from names and kinds."""
    from dataclasses import replace

    from voile.cli.tables import describe_file, missing_column, propose_schema, with_task
    from voile.schema import Category, Number, Schema, Unit

    if task is Task.REGRESSION and model is not ModelKind.EBM:
        raise SettingError(f"--model {model} predicts classes: for --task regression use ebm.")
    known = describe_file(file)
    names = [one.name for one in known]
    if target not in names:
        raise missing_column(target, names, file)
    if schema is None:
        public = propose_schema(file, target)
        if isinstance(public.target, Number) and model is ModelKind.EBM and task is None:
            raise SettingError(
                f"The target {target!r} is a number: say --task regression, or --task "
                "classification if its values are classes."
            )
        if isinstance(public.target, Number) and model is not ModelKind.EBM:
            task = Task.CLASSIFICATION
    else:
        public = Schema.load(schema)
        if public.target is None and target in public:
            public = public.with_target(public[target])
        if public.target is None:
            raise SchemaError(
                f"The schema {str(schema)!r} says nothing of the target: add 'target: {{kind: "
                "category, levels: [...]}'."
            )
        public = public.select([name for name in public if name != target])
    public = with_task(public, None if task is None else str(task), target)
    if unit is not None:
        public = replace(
            public.select([name for name in public if name != unit]), unit=Unit(unit, unit_rows)
        )
    if public.unit is not None and public.unit.column not in names:
        raise missing_column(public.unit.column, names, file)
    if model is not ModelKind.EBM and not isinstance(public.target, Category):
        raise SettingError(
            f"--model {model} predicts classes, and the target {target!r} is a number: use --model "
            "ebm, or make it a category."
        )
    for name in public:
        if name not in names:
            raise SchemaError(
                f"{missing_column(name, names, file)} Correct the schema or the file."
            )
    if not len(public):
        raise SchemaError("There are no columns to learn from: list some in the schema.")
    return public


def tell_guesses(file: Path, target: str, schema: Path | None) -> list[str]:
    """What was decided without a schema, for a person to check."""
    from voile.cli.tables import propose_columns

    if schema is not None:
        return []
    left = [one.name for one in propose_columns(file) if not one.use and one.name != target]
    return [f"Left out, as they look like identifiers: {', '.join(left)}."] if left else []


def note_guesses(rows: Any, file: Path, schema: Path | None) -> Any:
    """The rows of a file, with what receipts must say of kinds that no schema told."""
    from voile.cli.tables import is_csv
    from voile.privacy.origins import attach_notes
    from voile.privacy.vault import KINDS_FROM_TYPES

    if schema is None:
        attach_notes(rows, (KINDS_GUESSED if is_csv(file) else KINDS_FROM_TYPES,))
    return rows


def check_groups(groups: list[str], public: Schema) -> None:
    """Refuse groups that are no categories."""
    for name in groups:
        if name not in public.categories:
            raise SchemaError(
                f"The group {name!r} is not a category of the schema: name one of "
                f"{', '.join(map(repr, public.categories)) or '(there are none)'}."
            )
