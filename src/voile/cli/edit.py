"""The edit verb: a person changes a saved model's curves, says why, and nothing is spent.

A script is YAML (or JSON): a list of edits, each with ``do`` and what it needs::

    - {do: monotone, term: age, direction: increasing, why: risk rises with age}
    - {do: set, term: ward, value: 0, levels: [C], why: closed since May}
    - {do: set, term: age, value: 0.1, between: [90, 120]}
    - {do: smooth, term: dose, strength: 10}
    - {do: drop, term: postcode, why: not to be used}
    - {do: set, term: [age, ward], value: 0, where: {age: [30, 50], ward: [B, C]}}
    - {do: smooth, term: age & dose, strength: 10}

A pair of columns is named by both. ``where`` says which part of it: ranges of numbers, levels of
categories, ``null`` for missing values; a column left out means all of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voile.cli.options import AsJson
from voile.cli.pair_parts import known_levels, known_parts, number_or_text, read_parts
from voile.cli.people import is_watched
from voile.cli.results import check_writable, print_json, quality_file, save_model
from voile.errors import ModelError, SchemaError, SettingError
from voile.strict import Strict

if TYPE_CHECKING:
    from voile.models.ebm.edit import Editor

_KEYS: dict[str, tuple[str, ...]] = {
    "set": ("value", "between", "levels", "missing", "where", "output"),
    "interpolate": ("between", "output"),
    "smooth": ("strength", "between", "where", "output"),
    "monotone": ("direction", "between", "output"),
    "convex": ("shape", "output"),
    "drop": (),
    "scale": ("factor", "output"),
}
"""What each edit of a script may say, beside do, term and why."""


def edit(
    model: Annotated[Path, typer.Argument(help="File of an additive model (ebm).")],
    script: Annotated[
        Path | None, typer.Option(help="Edits as YAML or JSON, made in their order.")
    ] = None,
    monotone: Annotated[
        str | None, typer.Option(help="Column whose curve shall only rise (or --falling).")
    ] = None,
    falling: Annotated[bool, typer.Option("--falling", help="With --monotone: only fall.")] = False,
    smooth: Annotated[
        str | None, typer.Option(help="Column or pair (age & ward) whose scores to smooth.")
    ] = None,
    strength: Annotated[float, typer.Option(help="Of --smooth: 1 a little, 1000 a lot.")] = 10.0,
    set_: Annotated[
        str | None, typer.Option("--set", help="Column or pair whose score to give, with --value.")
    ] = None,
    value: Annotated[float | None, typer.Option(help="The score of --set.")] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Only from the first up to the second: numbers, or dates."),
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="With --set: this level (may be repeated).")
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="With --set: missing values.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a pair: only this part of a column (may be repeated): age=30..50, ward=B."
        ),
    ] = None,
    drop: Annotated[
        str | None, typer.Option(help="Column, with its pairs, or pair to take out of the model.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last edit back.")] = False,
    revert: Annotated[bool, typer.Option("--revert", help="Back to the model as trained.")] = False,
    why: Annotated[
        str,
        typer.Option(
            help="The reason, kept in the history; needed unless a --script gives reasons."
        ),
    ] = "",
    who: Annotated[str | None, typer.Option(help="The author; by default you.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The edited model; by default it replaces the old."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change curves of an additive model, or list what was changed; free of cost.

    Without an edit the history is printed. The model as trained is kept inside the file: every
    edit can be taken back, and stays in the history then, with who took it back.

    Examples:
        voile edit patients.voile --monotone age --why "risk rises with age" -o edited.voile

        voile edit patients.voile --drop sex --why "not to be used"

        voile edit patients.voile --set ward --level C --value 0 --why "closed since May"

        voile edit patients.voile --set "age & ward" --where age=30..50 --value 0 --why "few rows"

        voile edit patients.voile --script edits.yaml --who "Dr. Weber"
    """
    from voile.codec import encode
    from voile.models.history import tell_edits
    from voile.models.load import load

    place = check_writable(model if output is None else output)
    estimator = load(model)
    if not hasattr(estimator, "edit"):
        raise ModelError(
            f"A {type(estimator).__name__} has no curves to edit: additive models (ebm) have."
        )
    edits = _from_options(
        monotone, smooth, set_, drop, falling, strength, value, between, level, missing, where
    )
    if edits and not why.strip():
        why = _ask_why(ask=is_watched() and not as_json)
    editor: Editor = estimator.edit(who)
    before = editor.model
    if revert:
        editor.revert(why=why)
    if undo:
        editor.undo(why=why)
    if script is not None:
        apply_script(editor, script, why)
    for one in edits:
        if "where" in one:
            one["where"] = read_parts(editor.model, one["term"], one["where"])
        _apply(editor, {**one, "why": why}, f"--{one['do']}")
    changed = editor.model is not before
    kept = _save(estimator.with_model(editor), model, place) if changed else ()
    history = editor.history
    if as_json:
        told = {"edits": editor.model.edits, "history": history}
        lists = {name: [encode(one) for one in made] for name, made in told.items()}
        print_json({"model": str(place), "changed": changed, **lists})
        return
    for number, (made, words) in enumerate(tell_edits(history, editor.model.edits), 1):
        reason = f" ({made.why})" if made.why else ""
        print(f"{number}. {made.when} {made.who}: {made.term or 'all'}: {words}{reason}")
    if not editor.model.edits:
        print("The model is as it was trained.")
    if editor.model.unused:
        print(
            f"Not used: {', '.join(editor.model.unused)}. Columns that go along with them may "
            "still tell what they said."
        )
    for earlier in kept:
        print(f"An earlier file is kept as {earlier}.")
    if changed:
        print(f"Model: {place}")


def _save(edited: Any, model: Path, place: Path) -> tuple[Path, ...]:
    """Save an edited model, and its quality: a report says that it is older than the edit.

    What another model had in that place is kept, under the names that are returned: it may have
    cost a budget. The model itself is kept inside the file.
    """
    from voile.files import keeping_earlier, write_text

    known, beside = quality_file(model), quality_file(place)
    if place.exists() and place.samefile(model):
        save_model(edited, place)
        return ()
    text = known.read_text(encoding="utf-8") if known.exists() else None
    with keeping_earlier(place, beside) as kept:
        save_model(edited, place)
    if text is not None:
        write_text(beside, text)
    elif beside.exists():
        beside.unlink()  # it tells of another model
    return kept


def _from_options(
    monotone: str | None,
    smooth: str | None,
    set_: str | None,
    drop: str | None,
    falling: bool,
    strength: float,
    value: float | None,
    between: tuple[str, str] | None,
    level: list[str] | None,
    missing: bool,
    where: list[str] | None,
) -> list[dict[str, Any]]:
    """The edits that options ask for, as a script would say them."""
    if sum(one is not None for one in (monotone, smooth, set_)) > 1 and between is not None:
        raise SettingError("--between is for one edit: give them one after the other.")
    if where and (smooth is None) == (set_ is None):
        raise SettingError("--where is for one edit: --set PAIR or --smooth PAIR.")
    reach: dict[str, Any] = {}
    if between is not None:
        reach["between"] = [number_or_text(end) for end in between]
    part: dict[str, Any] = {"where": where} if where else {}
    edits: list[dict[str, Any]] = []
    if monotone is not None:
        way = "decreasing" if falling else "increasing"
        edits.append({"do": "monotone", "term": monotone, "direction": way, **reach})
    if smooth is not None:
        edits.append({"do": "smooth", "term": smooth, "strength": strength, **reach, **part})
    if set_ is not None:
        if value is None:
            raise SettingError("--set needs a --value: the score to give.")
        place = {**reach, **part}
        if level:
            place["levels"] = level
        if missing:
            place["missing"] = True
        edits.append({"do": "set", "term": set_, "value": value, **place})
    elif value is not None or level or missing:
        raise SettingError("--value, --level and --missing are for --set COLUMN: name the column.")
    if drop is not None:
        edits.append({"do": "drop", "term": drop})
    return edits


def _ask_why(*, ask: bool) -> str:
    """The reason of an edit, which its history keeps, from the person at the terminal."""
    given = ""
    if ask:
        given = typer.prompt("Why? The reason is kept in the history", err=True).strip()
    if not given:
        raise SettingError(
            "An edit needs a reason, which is kept in the history: give --why. Nothing was changed."
        )
    return given


def apply_script(editor: Editor, path: Path, why: str = "") -> None:
    """Make the edits of a script, in their order; ``why`` is the reason of those without one."""
    for number, one in enumerate(read_script(path), 1):
        if why and isinstance(one, dict):
            one = {"why": why, **one}
        _apply(editor, one, f"edit {number} of {str(path)!r}")


def read_script(path: Path) -> list[Any]:
    """The edits that a file of YAML or JSON lists, not yet checked."""
    from voile.schema.files import Format, read_text

    text = Strict(SettingError, "a script").load_text(path)
    form = Format.JSON if path.suffix.lower() == ".json" else Format.YAML
    try:
        data = read_text(text, form)
    except SchemaError as error:
        told = str(error).replace("The schema", "It").replace("the schema", "it")
        raise SettingError(f"In {str(path)!r}: {told}") from None
    if not isinstance(data, list):
        raise SettingError(f"The script {str(path)!r} must be a list of edits: '- {{do: ...}}'.")
    return data


def _apply(editor: Editor, one: Any, where: str) -> None:
    """Make one edit; what it does not know it refuses."""
    if not isinstance(one, dict) or not isinstance(one.get("do"), str) or one["do"] not in _KEYS:
        raise SettingError(
            f"In {where}, 'do' must be one of {', '.join(_KEYS)}. Got "
            f"{one.get('do') if isinstance(one, dict) else one!r} instead."
        )
    settings = dict(one)
    what = settings.pop("do")
    allowed = ("term", "why", *_KEYS[what])
    for key in settings:
        if key not in allowed:
            raise SettingError(
                f"In {where}, {what!r} has the unknown key {key!r}: it can have "
                f"{', '.join(allowed)}."
            )
    term = settings.get("term")
    if isinstance(term, list):
        settings["term"] = tuple(term)
    elif not isinstance(term, str):
        raise SettingError(
            f"In {where}, the 'term' is missing: name the column, or both columns of a pair."
        )
    elif isinstance(settings.get("levels"), list):
        settings["levels"] = known_levels(editor.model, term, settings["levels"])
    if isinstance(settings.get("where"), dict):
        settings["where"] = known_parts(editor.model, settings["where"])
    if isinstance(settings.get("between"), list):
        settings["between"] = tuple(settings["between"])
    try:
        getattr(editor, what)(**settings)
    except TypeError:
        raise SettingError(
            f"In {where}, {what!r} lacks a setting: it can have {', '.join(allowed)}."
        ) from None
