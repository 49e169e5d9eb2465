"""What a verb may know before it pays: from a schema file, or from names and kinds alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voile.cli.options import ModelKind, Task
from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.schema import Schema


def read_public_facts(
    file: Path,
    target: str,
    schema: Path | None,
    task: Task | None,
    model: ModelKind,
    unit: str | None,
    unit_rows: int,
) -> Schema:
    """What a training may know, from the schema file or from names and kinds."""
    from voile.privacy.files.table_files import (
        check_names,
        describe_file,
        missing_column,
        propose_schema,
    )
    from voile.schema import Category, Number, Unit

    if task is Task.REGRESSION and model is not ModelKind.EBM:
        raise SettingError(f"--model {model} predicts classes: for --task regression use ebm.")
    names = [one.name for one in describe_file(file)]
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
        public = load_schema(schema, target)
    public = _with_task(public, task, target)
    if unit is not None:
        others = [name for name in public if name != unit]
        public = public.select(others).with_unit(Unit(unit, unit_rows))
    if public.unit is not None and public.unit.column not in names:
        raise missing_column(public.unit.column, names, file)
    if model is not ModelKind.EBM and not isinstance(public.target, Category):
        raise SettingError(
            f"--model {model} predicts classes, and the target {target!r} is a number: use --model "
            "ebm, or make it a category."
        )
    check_names(public, names, file)
    if not len(public):
        raise SchemaError("There are no columns to learn from: list some in the schema.")
    return public


def load_schema(path: Path, target: str | None, *, remedy: str = "") -> Schema:
    """A schema file with a target, which may be one of its columns.

    Parameters
    ----------
    path : Path
    target : str or None
        Name of the column to predict.
    remedy : str
        What a person can do about a lacking target, other than to add it to the file.
    """
    from voile.schema import Schema

    public = Schema.load(path)
    if target is not None:
        if public.target is None and target in public:
            public = public.with_target(public[target])
        public = public.select([name for name in public if name != target])
    if public.target is None:
        raise SchemaError(
            f"The schema {str(path)!r} says nothing of the target: {remedy}add 'target: {{kind: "
            "category, levels: [...]}'."
        )
    return public


def _with_task(public: Schema, task: Task | None, target: str) -> Schema:
    """The schema with a target of the kind that the task needs."""
    from voile.schema import Category, Number

    number = isinstance(public.target, Number)
    if task is Task.REGRESSION and not number:
        raise SchemaError(
            f"The target {target!r} is a category and regression needs a number: correct the "
            "schema, or use --task classification."
        )
    return public.with_target(Category()) if task is Task.CLASSIFICATION and number else public


def tell_guesses(file: Path, target: str, schema: Path | None) -> list[str]:
    """What was decided without a schema, for a person to check."""
    from voile.privacy.files.table_files import propose_columns

    if schema is not None:
        return []
    left = [one.name for one in propose_columns(file) if not one.use and one.name != target]
    return [f"Left out, as they look like identifiers: {', '.join(left)}."] if left else []


def check_groups(groups: list[str], public: Schema) -> None:
    """Refuse groups that are no categories."""
    for name in groups:
        if name not in public.categories:
            raise SchemaError(
                f"The group {name!r} is not a category of the schema: name one of "
                f"{', '.join(map(repr, public.categories)) or '(there are none)'}."
            )
