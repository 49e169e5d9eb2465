"""Asking an explainer about public rows, to see how good its answers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from voile.errors import DataError
from voile.explain.blackbox.answers.answering import Answerer
from voile.explain.blackbox.answers.questions import AskedRows, Questions
from voile.explain.blackbox.quality import Quality, measure_quality
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.models.setting_checks import is_count
from voile.privacy.receipt import Receipt


def ask_for_quality(
    questions: Questions,
    answerer: Answerer,
    settings: Settings,
    receipt: Callable[[], Receipt],
    public: object,
    asked: Any,
    group: str | Sequence[Any] | None = None,
) -> Quality:
    """Ask about some public rows, and compare the answers with the best ones for all of them.

    Parameters
    ----------
    questions : Questions
    answerer : Answerer
    settings : Settings
    receipt : callable
        Gives the explainer's, once all is asked.
    public : table of shape (rows, columns)
    asked : int, or table
        How many of the public rows are asked about, or rows to ask about (without groups).
    group : str, or sequence of shape (rows,), optional
        A column, or the group of each public row.
    """
    rows = questions.read(public)
    groups = None if group is None else _groups(questions, rows, group)
    if rows.rows < 2:
        raise DataError("Quality is measured on at least two public rows.")
    labels = questions.ask(rows.columns, rows.rows)
    if is_count(asked, 1):
        rng = np.random.default_rng(settings.random_state)
        chosen = np.sort(rng.choice(rows.rows, min(int(asked), rows.rows), replace=False))
        points = rows.points[chosen]
        groups = None if groups is None else [groups[i] for i in chosen]
    elif groups is None:
        points = questions.read(asked).points
    else:
        raise DataError("With groups, 'asked' says how many of the public rows are asked about.")
    answers = answerer.answer(points, lambda done: None)
    by = "" if group is None else group if isinstance(group, str) else "group"
    return measure_quality(answers, rows.points / ONE, labels, settings, receipt(), groups, by)


def _groups(questions: Questions, rows: AskedRows, group: str | Sequence[Any]) -> list[str]:
    if isinstance(group, str):
        return questions.groups(group, rows)
    groups = [str(one) for one in group]
    if len(groups) != rows.rows:
        raise DataError(
            f"There are {rows.rows} public rows and {len(groups)} groups: give one each."
        )
    return groups
