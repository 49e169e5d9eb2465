"""What a verb may know before it pays: from a schema file, or from names and kinds alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voile.cli.options import ModelKind, Task
from voile.cli.people import settle_unit
from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.privacy.files.table_files import TableFile
    from voile.schema import Level, Schema


def read_public_facts(
    file: TableFile,
    target: str,
    schema: Path | None,
    task: Task | None,
    model: ModelKind,
    unit: str | None,
    unit_rows: int | None,
    *,
    ask: bool = False,
) -> Schema:
    """What a training may know, from the schema file or from names and kinds."""
    from voile.privacy.files.names import check_names, missing_column
    from voile.privacy.files.table_proposal import propose_schema
    from voile.schema import Category, Number

    if task is Task.REGRESSION and model is not ModelKind.EBM:
        raise SettingError(f"--model {model} predicts classes: for --task regression use ebm.")
    if target not in file.names:
        raise missing_column(target, file.names, file.path, file.other_sheets)
    if schema is None:
        public = propose_schema(file, target)
        if ask:
            public = _ask_about_names(file, public, {target, unit})
        if isinstance(public.target, Number) and model is ModelKind.EBM and task is None:
            raise SettingError(
                f"The target {target!r} is a number: say --task classification if its values are "
                "classes, such as 0 and 1, or --task regression if they are amounts."
            )
        if isinstance(public.target, Number) and model is not ModelKind.EBM:
            task = Task.CLASSIFICATION
    else:
        public = load_schema(schema, target)
    public = with_task(public, task, target)
    public = settle_unit(public, file, target, unit, unit_rows, ask=ask)
    if model is not ModelKind.EBM and not isinstance(public.target, Category):
        raise SettingError(
            f"--model {model} predicts classes, and the target {target!r} is a number: use --model "
            "ebm, or make it a category."
        )
    check_names(public, file.names, file.path, sheets=file.other_sheets)
    if not len(public):
        raise SchemaError("There are no columns to learn from: list some in the schema.")
    return public


def _ask_about_names(file: TableFile, public: Schema, known: set[str | None]) -> Schema:
    """Ask what columns are whose names suggest identifiers or codes; nothing is spent yet."""
    import typer

    from voile.privacy.files.table_proposal import propose_columns
    from voile.schema import Category, Column, Number, Schema
    from voile.schema.kinds import Kind
    from voile.schema.names import rank_suggestive

    columns: dict[str, Column] = {}
    for one in propose_columns(file):
        given = ""
        # Whose rows they are was asked before.
        if one.doubtful and one.name not in known and not rank_suggestive([one.name]):
            number = ", as a number (n)" if one.found.kind is Kind.NUMBER else ""
            given = typer.prompt(
                f"{one.name}: {one.why}. Use it as a category (c){number}, or leave it out (-)? "
                f"Empty: {'c' if one.use else '-'}",
                default="c" if one.use else "-",
                show_default=False,
                err=True,
            ).strip()
        if given in ("c", "n"):
            columns[one.name] = Category() if given == "c" else Number()
        elif not given and one.name in public:
            columns[one.name] = public[one.name]
    return Schema(columns, target=public.target)


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


def with_task(public: Schema, task: Task | None, target: str) -> Schema:
    """The schema with a target of the kind that the task needs."""
    from voile.schema import Category, Number

    number = isinstance(public.target, Number)
    if task is Task.REGRESSION and not number:
        raise SchemaError(
            f"The target {target!r} is a category and regression needs a number: correct the "
            "schema, or use --task classification."
        )
    return public.with_target(Category()) if task is Task.CLASSIFICATION and number else public


def read_positive(given: str, public: Schema, file: TableFile, target: str) -> Level:
    """The class of ``--positive`` as the schema has it; without listed classes, as the file does.

    Raises
    ------
    SettingError
        If the target has no such class, or not two classes.
    """
    from voile.schema import Category
    from voile.schema.kinds import Kind

    aim = public.target
    if not isinstance(aim, Category):
        raise SettingError(
            f"--positive names a class, and the target {target!r} is a number: leave it out."
        )
    if aim.levels is None:
        kinds = {one.name: one.kind for one in file.columns} if file.declares_kinds else {}
        numbers = kinds.get(target) is Kind.NUMBER
        return _number_or_text(given) if numbers else given
    named = [one for one in aim.levels if str(one) == given]
    named = named or [one for one in aim.levels if str(one).casefold() == given.casefold()]
    named = named or [one for one in aim.levels if one == _number_or_text(given)]
    if len(named) != 1 or len(aim.levels) != 2:
        listed = ", ".join(repr(str(one)) for one in aim.levels[:8])
        raise SettingError(
            f"--positive must be one of two classes. Got {given!r}, and the target {target!r} has "
            f"{listed}{', ...' if len(aim.levels) > 8 else ''}."
        )
    return named[0]


def _number_or_text(given: str) -> float | str:
    try:
        return float(given)
    except ValueError:
        return given


def tell_guesses(file: TableFile, target: str, schema: Path | None, public: Schema) -> list[str]:
    """What was decided without being told, for a person to check before anything is spent."""
    from voile.privacy.files.table_proposal import propose_columns
    from voile.schema import Category
    from voile.schema.kinds import Kind

    if schema is not None:
        return [*file.remarks]
    proposals = propose_columns(file)
    doubtful = [one for one in proposals if one.doubtful and one.name != target]
    left = [one.name for one in doubtful if one.name not in (*public, public.privacy_unit.column)]
    codes = [one.name for one in doubtful if one.use and one.name in public.categories]
    aim = next(one for one in proposals if one.name == target)
    told = [*file.remarks]
    if aim.found.kind is Kind.NUMBER and isinstance(public.target, Category):
        told.append(
            f"The numbers of the target {target!r} are taken for classes, which are found "
            "privately. A schema that lists them (target: levels) costs nothing."
        )
    if left:
        told.append(f"Left out, as they look like identifiers: {', '.join(left)}.")
    if codes:
        told.append(
            f"Taken for categories, as they look like codes: {', '.join(codes)}. A schema says "
            "what they are: voile schema."
        )
    return told


def check_groups(groups: list[str], public: Schema) -> None:
    """Refuse groups that are no categories."""
    for name in groups:
        if name not in public.categories:
            raise SchemaError(
                f"The group {name!r} is not a category of the schema: name one of "
                f"{', '.join(map(repr, public.categories)) or '(there are none)'}."
            )
