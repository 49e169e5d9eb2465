"""Parts of a pair of columns as the command is told them: age=30..50, ward=B, age=(missing)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from voile.errors import SettingError

if TYPE_CHECKING:
    from voile.models.ebm.model import EBMModel

_MISSING = "(missing)"


def read_parts(model: EBMModel, term: str, texts: Sequence[str]) -> dict[str, Any]:
    """What ``--where`` says of a pair, by column."""
    from voile.models.ebm.pair_term import PairTerm
    from voile.models.ebm.part_names import find_part
    from voile.schema import Category

    pair = find_part(model, term)
    if not isinstance(pair, PairTerm):
        raise SettingError(
            f"--where is for pairs of columns, and {term!r} is one: use --between, --level or "
            "--missing."
        )
    where: dict[str, Any] = {}
    for text in texts:
        name = _find_name(text, pair.columns)
        said = text[len(name) + 1 :]
        if isinstance(model.schema[name], Category):
            where.setdefault(name, []).extend(known_levels(model, name, [said]))
        elif name in where:
            raise SettingError(f"--where says two ranges of {name!r}: make two edits.")
        else:
            where[name] = _read_range(name, said)
    return where


def known_levels(model: EBMModel, name: str, given: Sequence[Any]) -> list[Any]:
    """Levels as the model has them: on the command line, 1 and "1" look alike."""
    from voile.schema import Category

    column = model.schema.get(name)
    known = column.levels or () if isinstance(column, Category) else ()
    by_text = {str(level): level for level in known}
    return [one if one in known else by_text.get(str(one), one) for one in given]


def known_parts(model: EBMModel, where: dict[Any, Any]) -> dict[Any, Any]:
    """The ``where`` of a script, with levels as the model has them."""
    from voile.schema import Category

    return {
        name: known_levels(model, name, said if isinstance(said, list) else [said])
        if said is not None and isinstance(model.schema.get(name), Category)
        else said
        for name, said in where.items()
    }


def number_or_text(given: str) -> float | str:
    """A number, or what is none: a date, or what the edit refuses."""
    try:
        return float(given)
    except ValueError:
        return given


def _find_name(text: str, columns: tuple[str, str]) -> str:
    found = [name for name in columns if text.startswith(f"{name}=")]
    if not found:
        raise SettingError(
            f"--where must be COLUMN=PART, such as --where {columns[0]}=... Got {text!r} instead: "
            f"the pair's columns are {columns[0]!r} and {columns[1]!r}."
        )
    return max(found, key=len)


def _read_range(name: str, said: str) -> list[float | str] | None:
    if said == _MISSING:
        return None
    low, _, high = said.partition("..")
    if not low.strip() or not high.strip():
        raise SettingError(
            f"--where of {name!r} must be a range such as {name}=30..50, or {name}={_MISSING}. Got "
            f"{said!r} instead."
        )
    return [number_or_text(low.strip()), number_or_text(high.strip())]
