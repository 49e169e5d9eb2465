"""Which term or pair of a model a name means."""

from __future__ import annotations

from voile.errors import ModelError, SchemaError
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_term import PairTerm, pair_name

PartName = str | tuple[str, str]
"""A column's name; of a pair both names in either order, or ``"age & ward"``."""


def find_part(model: EBMModel, given: object) -> Term | PairTerm:
    """The part that a name means; text means a column of that name before it means a pair.

    Raises
    ------
    SchemaError
        If the model has no such part, or two so called.
    ModelError
        If a pair's name is also that of something else, so that an edit could not say which.
    """
    if isinstance(given, str):
        part = _find_named(model, given)
    elif (
        isinstance(given, tuple | list)
        and len(given) == 2
        and all(isinstance(one, str) for one in given)
    ):
        part = model.pair(*given)
    else:
        raise SchemaError(
            f"A term is named by its column, and a pair by two columns. Got {given!r} instead."
        )
    if isinstance(part, PairTerm) and _find_named(model, part.name) is not part:
        raise ModelError(
            f"The name {part.name!r} is that of a pair and of something else: edits are stored by "
            "name and could not tell them apart. Rename a column and train again."
        )
    return part


def _find_named(model: EBMModel, name: str) -> Term | PairTerm:
    found = _columns_named(model, name) or _pairs_named(model, name) or _turned(model, name)
    if len(found) > 1:
        raise SchemaError(f"Two pairs of the model are called {name!r}: rename a column.")
    if found:
        return found[0]
    raise SchemaError(
        f"The model has no term {name!r}: it has {', '.join(map(repr, model.parts))}."
    )


def _columns_named(model: EBMModel, name: str) -> list[Term | PairTerm]:
    return [term for term in model.terms if term.name == name]


def _pairs_named(model: EBMModel, name: str) -> list[Term | PairTerm]:
    return [pair for pair in model.pairs if pair.name == name]


def _turned(model: EBMModel, name: str) -> list[Term | PairTerm]:
    """Pairs that have the name if their columns change places."""
    return [pair for pair in model.pairs if pair_name(*reversed(pair.columns)) == name]
