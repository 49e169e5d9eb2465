"""Which pairs of columns a person wants as terms, as options of the command tell it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from voile.cli.options import ModelKind
from voile.errors import SchemaError, SettingError

if TYPE_CHECKING:
    from voile.models.ebm.interactions import Interactions
    from voile.schema import Schema

AUTO: Literal["auto"] = "auto"

MostPairs = Annotated[
    str,
    typer.Option(
        "--interactions",
        help="Most pairs of columns that become terms (ebm), chosen privately; 0 for none. By "
        "default those that are clear.",
    ),
]
NamedPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        help="Two columns that become a term together, such as latitude:longitude; repeat it for "
        "more. Then none are chosen. What is named must not follow from the rows.",
    ),
]

_SIGNS = ("&", ":")
"""What may stand between two names: as in reports, and without a need for quotes."""


def read_pairs(
    most: str, named: Sequence[str] | None, public: Schema, model: ModelKind
) -> Interactions:
    """The setting of an estimator, checked before anything is paid.

    Raises
    ------
    SettingError, SchemaError
    """
    if most == AUTO and not named:
        return AUTO
    if model is not ModelKind.EBM:
        raise SettingError(
            f"Pairs of columns are for --model ebm. Got --model {model} instead: leave "
            f"{'--pair' if named else '--interactions'} out."
        )
    if named and most != AUTO:
        raise SettingError(
            "With --pair the pairs are named, and none are chosen: leave --interactions out."
        )
    from voile.models.ebm.settings import Settings, check

    chosen: Interactions = [split_pair(one, list(public)) for one in named or ()] or _count(most)
    check(public, Settings(interactions=chosen))
    return chosen


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingError(
            f"The --interactions must be auto or a whole number of pairs. Got {text!r} instead: to "
            "name two columns, write --pair COLUMN:COLUMN."
        ) from None


def split_pair(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """The two columns that a text names; names may hold any sign, as long as one reading is left.

    Examples
    --------
    >>> split_pair("age & ward", ["age", "ward"]), split_pair("a:b:c", ["a:b", "c"])
    (('age', 'ward'), ('a:b', 'c'))
    """
    parts = [
        (text[:place].strip(), text[place + 1 :].strip())
        for place, sign in enumerate(text)
        if sign in _SIGNS
    ]
    if not parts:
        raise SettingError(
            f"A --pair is two columns with a colon between them, such as latitude:longitude. Got "
            f"{text!r} instead."
        )
    known = set(columns)
    found = [pair for pair in parts if known.issuperset(pair)]
    if len(found) > 1:
        raise SettingError(
            f"The --pair {text!r} can be read in {len(found)} ways, as columns have colons or & in "
            "their names: rename one, or use the library, interactions=[(..., ...)]."
        )
    if not found:
        missing = [name for name in parts[0] if name not in known] if len(parts) == 1 else [text]
        raise SchemaError(
            f"The --pair {text!r} names {' and '.join(map(repr, missing))}, and there is no such "
            f"column: name two of {', '.join(map(repr, columns))}."
        )
    return found[0]


def find_pairs(model: object) -> list[dict[str, object]] | None:
    """Columns and verdict of each pair of a model; None if it cannot have any."""
    from voile.models.ebm.model import EBMModel
    from voile.models.ebm.pair_verdicts import judge_pairs
    from voile.models.ebm.settings import GRIDS_ACCESS

    if not isinstance(model, EBMModel) or all(
        line.label != GRIDS_ACCESS for line in model.receipt.lines
    ):
        return None
    return [
        {"columns": list(pair.columns), "verdict": verdict}
        for pair, verdict in zip(model.pairs, judge_pairs(model), strict=True)
    ]


def tell_pairs(model: object) -> str:
    """The pairs of a model with their verdicts, in a line; empty if it cannot have any."""
    found = find_pairs(model)
    if found is None:
        return ""
    from voile.models.ebm.model import EBMModel

    assert isinstance(model, EBMModel)
    texts = [
        f"{pair.name} ({one['verdict']})" for pair, one in zip(model.pairs, found, strict=True)
    ]
    return f"Pairs of columns: {', '.join(texts) or 'none was clear of the noise'}"
