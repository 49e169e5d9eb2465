"""Counterfactuals as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from voile.explain.wording import list_rows, percent, short, wrapped

if TYPE_CHECKING:
    from voile.explain.counterfactuals.record import (
        ColumnChange,
        Counterfactuals,
        RowSuggestions,
        Suggestion,
    )

NO_CAUSE = (
    "This tells what the model would answer for a changed row. It does not tell what would happen "
    "to somebody who changes something: what stands together in a table need not cause each other."
)
NO_ROW = "Values come from public bounds and released figures: no private row is shown."

SURE = "Only changes that hold for certain were searched for (sure=True)."

UNUSUAL = 0.05
"""Rows as unusual as this share of others, or more so, are said to be unusual."""

STEADY = 0.8
"""An answer that fewer of the rows that hardly differ share is said to be fragile."""

_HOLDS = {
    "clear": "clear: it holds if the model's error is allowed for",
    "perhaps": "perhaps: the model's error makes it likely, not sure",
    "cannot be told from nothing": "cannot be told: it is within the error of the model's score",
    "not known": "",
}


def number_text(record: Counterfactuals, number: float) -> str:
    """An answer of the model as people read it."""
    if record.unit == "probability":
        return percent(number)
    return short(number, digits=3 if record.unit == "distance" else 4)


def change_text(one: ColumnChange) -> str:
    """One change: "hours per week 38 → 45"."""
    return f"{one.column} {one.before} → {one.after}"


def changes_text(one: Suggestion) -> str:
    """All changes of a suggestion."""
    return ", ".join(map(change_text, one.changes))


def outcome_text(record: Counterfactuals, row: RowSuggestions, one: Suggestion) -> str:
    """The answer before and after."""
    if record.unit == "label":
        return f"'{row.predicted}' → '{one.predicted}'"
    told = f"{number_text(record, row.before)} → {number_text(record, one.after)}"
    if one.predicted and one.predicted != row.predicted:
        told += f", '{row.predicted}' → '{one.predicted}'"
    return told


def start_text(record: Counterfactuals, row: RowSuggestions) -> str:
    """What the model says of the row as it is, and what is wanted."""
    told = f"{row.told} now {number_text(record, row.before)}"
    if not row.predicted:
        return f"{told}, wanted {row.wanted}"
    more = "" if record.unit == "label" else f" ({told})"
    return f"now '{row.predicted}', wanted {row.wanted}{more}"


def size_text(record: Counterfactuals, one: Suggestion) -> str:
    """How much a suggestion changes."""
    count = len(one.changes)
    columns = f"{count} {'change' if count == 1 else 'changes'}"
    if count == 1 and one.changes[0].passes:
        return f"{columns}, which passes {percent(one.size)} {record.ruler}"
    if count == 1:
        return f"{columns}, to another level"
    return f"{columns}, total size {short(one.size, digits=2)}"


def usual_text(record: Counterfactuals, one: Suggestion) -> str:
    """How usual the changed row is; empty if that is not known."""
    told = []
    unusual = one.usual < UNUSUAL and not one.usual >= one.was_usual
    if not math.isnan(one.usual):
        if record.by_column:
            where = ", in the rarest of the changed columns," if len(one.changes) > 1 else ""
            far = f"have{where} a value as rare as the new one, or rarer"
        else:
            far = "are as far from others or farther"
        was = "" if math.isnan(one.was_usual) else f" (before: {percent(one.was_usual)})"
        lead = "unusual" if unusual else "not unusual"
        lead = lead if unusual or one.usual >= UNUSUAL else "no more unusual than before"
        told.append(f"{lead}: {percent(one.usual)} of {record.among} {far}{was}")
    if one.seldom:
        told.append(f"seldom together: {'; '.join(one.seldom)}")
    return "; ".join(told)


def steady_text(one: Suggestion) -> str:
    """Whether rows that hardly differ get it, too; empty if they do, or it is not known."""
    if math.isnan(one.steady) or one.steady >= STEADY:
        return ""
    return f"fragile: {percent(one.steady)} of rows that hardly differ from the changed one get it"


def fragile_text(row: RowSuggestions) -> str:
    """Whether rows that hardly differ from the asked one have another answer; else empty."""
    if math.isnan(row.steady) or row.steady >= STEADY:
        return ""
    return (
        f"The answer for this row is fragile as it is: only {percent(row.steady)} of rows that "
        "hardly differ from it have the same."
    )


def verdict_text(record: Counterfactuals, one: Suggestion) -> str:
    """Whether it really gets there, allowing for the model's own error; empty if not known."""
    told = _HOLDS[one.verdict]
    if told and not record.whole:
        told += " (privacy noise alone)"
    return told


def nothing_text(record: Counterfactuals, row: RowSuggestions) -> str:
    """Why there are no suggestions; empty if there are."""
    if row.suggestions:
        return ""
    sure = " for certain" if record.sure else ""
    if row.already:
        return f"The row has what is wanted as it is{sure and ', for certain'}."
    allowed = "these columns" if record.chosen else "any columns"
    lead = (
        f"No change of {allowed} gives it{sure} (proven)"
        if row.impossible
        else f"No change of {allowed} was found that gives it{sure}"
    )
    if row.nearest is None:
        return f"{lead}, and none comes nearer."
    gets = outcome_text(record, row, row.nearest)
    return f"{lead}. Nearest: {changes_text(row.nearest)}: {gets}."


def surer_text(row: RowSuggestions) -> str:
    """What to do where no suggestion is certain; empty if one is, or nothing is known."""
    doubtful = [
        one.verdict in ("perhaps", "cannot be told from nothing") or one.steady < STEADY
        for one in row.suggestions
    ]
    if not doubtful or not all(doubtful):
        return ""
    return (
        "The smallest change ends just beyond the border, where little decides: ask with sure=True "
        "(--sure) for changes that hold."
    )


def scope_text(record: Counterfactuals) -> str:
    """Which columns may change."""
    if not record.chosen:
        return (
            "All columns were free to change: name those that somebody can change (change=[...], "
            "--change) and those that must stay (keep=[...], --keep)."
        )
    return f"May change: {', '.join(record.changeable)}."


def ruler_text(record: Counterfactuals) -> str:
    """What sizes mean."""
    return (
        f"The size of a change is the share {record.ruler} that it passes; another level counts "
        "0.5."
    )


def usual_meaning(record: Counterfactuals) -> str:
    """How it is judged whether a row is usual; empty if it is not."""
    if not record.among or record.by_column:
        return ""
    return (
        f"How far a row is from others is told by its ten nearest neighbours among {record.among} "
        f"(worth {short(record.effective)} rows of equal weight). Values are seldom together "
        "if they occur less than a fifth as often as they would by chance. Rows hardly differ if "
        "each number passes 2 % of the others or less."
    )


def counterfactuals_text(record: Counterfactuals) -> str:
    """Rows one beneath the other, with their suggestions."""
    told = [
        scope_text(record) + (f" {SURE}" if record.sure else ""),
        ruler_text(record),
        usual_meaning(record),
        record.method,
        NO_CAUSE,
        NO_ROW,
        record.cost,
        record.receipt.guarantee,
    ]
    lead = (
        "What would have to change, the fewest columns first.",
        "It is what the model would answer, not a claim about causes.",
    )
    return list_rows(len(record), lead, lambda row: _row_lines(record, row), told)


def _row_lines(record: Counterfactuals, number: int) -> list[str]:
    row = record.rows[number]
    lines = wrapped(f"Row {number + 1}: {start_text(record, row)}", "")
    for k, one in enumerate(row.suggestions, 1):
        lines += wrapped(f"{k}. {changes_text(one)}: {outcome_text(record, row, one)}", "  ")
        parts = (
            size_text(record, one) + (", exact" if one.exact else ""),
            usual_text(record, one),
            steady_text(one),
            verdict_text(record, one),
        )
        for part in parts:
            lines += [f"   {line}" for line in wrapped(part)] if part else []
    for text in (nothing_text(record, row), fragile_text(row), surer_text(row)):
        lines += wrapped(text) if text else []
    return lines
