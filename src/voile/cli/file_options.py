"""Options that say how files are written, for every verb that reads tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

_OPTIONS: dict[str, Any] = {
    "sheet": Annotated[
        str | None, typer.Option(help="Sheet of an Excel file; by default the first.")
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            help="Of a CSV file: utf-8, cp1252, utf-16, ...; by default guessed from its first "
            "lines."
        ),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            help="Decimal sign of numbers in texts, . or a comma; by default guessed from the "
            "first rows."
        ),
    ],
    "thousands": Annotated[
        str | None,
        typer.Option(
            help="What parts thousands: . or a comma or ' or 'space' or 'none'; by default any."
        ),
    ],
    "dates": Annotated[
        str | None,
        typer.Option(
            help="Order of day, month and year in dates: dmy, mdy or ymd; by default guessed from "
            "the first rows."
        ),
    ],
}


def reads_files(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb these options; it gets them together, as its parameter ``dialect``."""

    @wraps(verb)
    def run(**given: Any) -> None:
        from voile.privacy.files.dialect import Dialect

        dialect = Dialect(**{name: given.pop(name) for name in _OPTIONS})
        verb(**given, dialect=dialect)

    own = inspect.signature(verb, eval_str=True).parameters
    parameters = [one for name, one in own.items() if name != "dialect"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    added = [
        inspect.Parameter(name, kind, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    # --json stays the last.
    parameters[-1:-1] = added
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
