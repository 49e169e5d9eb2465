"""Strategies that read rows for each question: what is looked at first, and who answers then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from voile.explain.blackbox.answers import opening
from voile.explain.blackbox.answers.answering import FromRows
from voile.explain.blackbox.answers.identity import check_model
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.answers.seal import Seals
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.descent import DescentAnswerer, costs_of
from voile.explain.blackbox.solvers.release import OfflineAnswerer, ReleaseAnswerer
from voile.privacy.budget import Budget
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook

_TOGETHER = 64
"""Questions that are answered in one access, where one access can."""


@dataclass(frozen=True, eq=False)
class RowStrategy:
    """What an explainer that reads rows has opened.

    Attributes
    ----------
    questions : Questions
        With the complete schema.
    reader : ReleaseAnswerer, DescentAnswerer or None
        Reads the rows; None if nothing does ("offline").
    answerer : FromRows
    """

    questions: Questions
    reader: ReleaseAnswerer | DescentAnswerer | None
    answerer: FromRows


def open_row_strategy(
    questions: Questions,
    settings: Settings,
    budget: Budget,
    allowance: Allowance,
    book: AnswerBook,
    seals: Seals,
) -> RowStrategy:
    """Look at what must be known first, and ask the model about the rows, inside the vault."""
    if settings.strategy == "offline":
        opened = opening.reopen_table(allowance.table, allowance, book)
    else:
        opened = opening.open_table(allowance.table, budget, allowance, book)
    allowance.table = opened.table
    questions = replace(questions, schema=opened.table.schema)
    check_model(book, questions, seals)
    shape = questions.shape
    each = opened.mu_squared / settings.queries
    reader: ReleaseAnswerer | DescentAnswerer | None = None
    if settings.strategy == "release":
        reader = ReleaseAnswerer(allowance, settings, each, shape[1])
    elif settings.strategy != "offline":
        costs = costs_of(settings, each)
        reader = DescentAnswerer(allowance, settings, costs, opened.rows, shape)
    if reader is not None:
        opening.ask_about_rows(opened.table, questions.space, questions.black_box, questions.given)
    together = _TOGETHER if settings.strategy == "release" else 1
    answerer = FromRows(reader, OfflineAnswerer(settings), book, allowance, seals, together)
    return RowStrategy(questions, reader, answerer)
