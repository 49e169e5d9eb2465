"""What an explainer has opened and paid for: it answers, and tells what it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from voile.errors import BudgetExceeded, SettingError
from voile.explain.blackbox.answers.answering import Answerer, FromPopulation
from voile.explain.blackbox.answers.identity import check_settings, open_seals
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.answers.receipt_notes import list_notes
from voile.explain.blackbox.answers.row_strategies import open_row_strategy
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.descent import DescentAnswerer
from voile.explain.blackbox.solvers.release import ReleaseAnswerer
from voile.explain.blackbox.stand_ins import StandIns
from voile.explain.blackbox.synthetic.buying import find_summary
from voile.explain.blackbox.synthetic.summary import PaidSummary
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook, open_answers
from voile.privacy.receipt import Receipt, name_running
from voile.privacy.vault import PrivateTable


@dataclass(frozen=True, eq=False)
class OpenedExplainer:
    """An explainer at work.

    Attributes
    ----------
    settings : Settings
    questions : Questions
        With the complete schema.
    answerer : Answerer
        Of local surrogates.
    allowance : Allowance
    book : AnswerBook
        What is kept beside the ledger.
    summary : PaidSummary or None
        Of strategy "summary".
    stand_ins : StandIns or None
        Of strategy "summary".
    reader : ReleaseAnswerer, DescentAnswerer or None
        Of strategies that read rows.
    """

    settings: Settings
    questions: Questions
    answerer: Answerer
    allowance: Allowance
    book: AnswerBook
    summary: PaidSummary | None = None
    stand_ins: StandIns | None = None
    reader: ReleaseAnswerer | DescentAnswerer | None = None

    @property
    def receipt(self) -> Receipt:
        """What was paid so far and what it guarantees, also for the model's training data."""
        notes = list_notes(self.settings, self.questions.black_box.receipt)
        if self.summary is not None:
            known = (*self.allowance.table.notes, *self.summary.receipt.notes, *notes)
            return replace(self.summary.receipt, notes=tuple(dict.fromkeys(known)))
        receipt = self.allowance.receipt(notes)
        return replace(receipt, epsilon=math.inf) if self.settings.faithful else receipt

    def find_stand_ins(self, method: str) -> StandIns:
        """Rows that stand in for the private ones; refused (SettingError) without a summary."""
        if self.stand_ins is None:
            raise SettingError(
                f"{method} needs rows that stand in for the private ones, and "
                f"strategy={self.settings.strategy!r} has no summary to draw them from: use "
                "explain_slopes, or an explainer with strategy='summary'."
            )
        return self.stand_ins

    def with_settings(self, settings: Settings, questions: Questions | None) -> OpenedExplainer:
        """The same summary with other settings of surrogates, or for another model."""
        stand_ins = self.find_stand_ins("with_model")
        if questions is not None:
            stand_ins = stand_ins.ask_model(questions)
        return replace(
            self,
            settings=settings,
            questions=stand_ins.questions,
            stand_ins=stand_ins,
            answerer=FromPopulation(stand_ins.population, settings),
        )


def open_explainer(
    table: PrivateTable,
    questions: Questions,
    settings: Settings,
    budget: Budget,
    ledger: Ledger,
    name: str,
    key: str | Path | None,
    public: Any,
) -> OpenedExplainer:
    """Pay what is paid once, or find that it was; parameters are those of `PrivateExplainer`.

    Raises
    ------
    BudgetExceeded
        If the ledger refuses; nothing was spent.
    """
    book = open_answers(ledger, name)
    allowance = Allowance(table, ledger, book, budget, name_running(name))
    if table.schema.known:
        # What fails on rows of this kind should do so before anything is paid.
        questions.check_features()
        questions.fingerprint()
        questions.read_public(public)
    is_summary = settings.strategy == "summary"
    seals = None if is_summary else open_seals(ledger, book, name, key, settings)
    check_settings(book, name, settings, budget, table.schema)
    try:
        if seals is None:
            paid = find_summary(allowance, book, budget)
        else:
            rows = open_row_strategy(questions, settings, budget, allowance, book, seals)
    except BudgetExceeded:
        book.forget()  # what was refused does not occupy the name
        raise
    if seals is not None:
        return OpenedExplainer(
            settings, rows.questions, rows.answerer, allowance, book, reader=rows.reader
        )
    questions = replace(questions, schema=paid.schema)
    drawn = paid.draw(settings.random_state, questions.read_public(public))
    stand_ins = StandIns.ask(drawn, questions, settings.random_state, public=public is not None)
    answerer = FromPopulation(stand_ins.population, settings)
    return OpenedExplainer(settings, questions, answerer, allowance, book, paid, stand_ins)
