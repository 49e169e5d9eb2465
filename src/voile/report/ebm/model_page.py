"""The page of a whole model: what matters, the shape of every term, edits, and the receipt."""

from __future__ import annotations

from voile.explain.global_explanation import GlobalExplanation
from voile.explain.plain_text import (
    class_scores_text,
    extremes,
    leading_output,
    score_text,
    start_text,
)
from voile.explain.term import ExplainedTerm
from voile.explain.wording import noisy, short, spread
from voile.models.ebm.history import Edit, tell_edits
from voile.report.ebm.importance import MOST_TERMS, draw_importance
from voile.report.ebm.shapes import MOST_BANDS, draw_shape, uses_ranks
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table
from voile.report.kit.section import Section, place_plainly


def draw_page(explanation: GlobalExplanation) -> str:
    """The whole page as HTML."""
    body = [*draw_lead(explanation), *place_plainly(draw_sections(explanation))]
    if explanation.edits or explanation.history:
        history = explanation.history or explanation.edits
        body += [heading("What people changed"), draw_history(history, explanation.edits)]
    return compose_page("What the model does", body, explanation.receipt, cost=explanation.cost)


def draw_lead(explanation: GlobalExplanation) -> list[str]:
    """What the model is, in a few sentences, as HTML."""
    count, classes = len(explanation.terms), len(explanation.outputs)
    score = (
        f"Its score is the {score_text(explanation)}: it"
        if classes == 1
        else f"It has a score for each of {classes} classes, which"
    )
    text = (
        f"A model of {count} {'term' if count == 1 else 'terms'}. {score} starts at "
        f"{start_text(explanation)}, and every column adds or takes away what its shape below says."
    )
    return [paragraph(one) for one in (text, class_scores_text(explanation)) if one]


def draw_sections(explanation: GlobalExplanation, *, linked: bool = False) -> list[Section]:
    """What matters, and the shape of each term; ``linked``, with an anchor at every shape."""
    terms = [paragraph(_how_to_read(explanation), note=True)]
    anchors = []
    for i, term in enumerate(explanation.ranked):
        anchor = f"shape-{i}" if linked else ""
        anchors.append((anchor, term.name))
        terms += _term(explanation, term, i, anchor)
    return [
        Section("What matters", "importance-of-terms", tuple(_importance(explanation))),
        Section("Each term", "terms", tuple(terms), tuple(anchors)),
    ]


def _importance(explanation: GlobalExplanation) -> list[str]:
    ranked = explanation.ranked
    words = ", ".join(f"{term.name} {short(float(term.importance.sum()))}" for term in ranked[:10])
    note = (
        "A bar is the mean absolute score of a term over the (private) distribution of its column. "
        "The upright mark is what the privacy noise alone would give a term that does nothing."
    )
    if len(ranked) > MOST_TERMS:
        note += f" The {len(ranked) - MOST_TERMS} least important terms are left out."
    return [
        place_figure(draw_importance(explanation), "importance", f"Importance of terms: {words}"),
        paragraph(note, note=True),
    ]


def _how_to_read(explanation: GlobalExplanation) -> str:
    several = len(explanation.outputs) > MOST_BANDS
    where = "the ranges on pointing at a line" if several else "bands and whiskers"
    return (
        f"In order of importance. {where[0].upper()}{where[1:]} are two standard errors of the "
        f"privacy noise alone; they do not tell how a different sample of people would differ. "
        f"Grey bars are private counts of rows: where there are few, a shape means little, and "
        f"where there are none, the noise may reach beyond the figure."
    )


def _term(
    explanation: GlobalExplanation, term: ExplainedTerm, position: int, anchor: str
) -> list[str]:
    figure = draw_shape(term, explanation.outputs, explanation.units)
    parts = [heading(term.name, level=3, anchor=anchor)]
    if term.kind == "number" and uses_ranks(term):
        parts.append(
            paragraph("Every bin is drawn equally wide: their true widths differ a lot.", note=True)
        )
    if term.original is not None:
        dotted = "dotted" if term.kind == "number" else "hollow"
        parts.append(
            paragraph(f"Changed by people after training; {dotted} is as trained.", note=True)
        )
    low, high = extremes(term)
    leading = explanation.outputs[leading_output(term)]
    about = f" (for {leading})" if len(explanation.outputs) > 1 else ""
    description = f"Shape of {term.name}{about}: lowest {low}, highest {high}"
    return [
        *parts,
        place_figure(figure, f"term-{position}", description),
        fold(f"Numbers of {term.name}", _numbers(term, explanation.outputs)),
    ]


def _numbers(term: ExplainedTerm, outputs: tuple[str, ...]) -> str:
    single = len(outputs) == 1
    head = ["bin", *(["score"] if single else outputs), "rows"]
    rows = [
        [
            label,
            *(
                noisy(float(score), float(error))
                for score, error in zip(term.scores[i], term.standard_errors[i], strict=True)
            ),
            f"{float(term.counts[i]):,.0f}{spread(float(term.count_errors[i]))}",
        ]
        for i, label in enumerate(term.labels)
    ]
    return place_table(head, rows, numbers=len(head) - 1)


def draw_history(history: tuple[Edit, ...], edits: tuple[Edit, ...]) -> str:
    """A table of what people did: who, when, what and why; ``edits`` are in force."""
    rows = [
        [edit.who, edit.when, edit.term, words, edit.why]
        for edit, words in tell_edits(history, edits)
    ]
    return place_table(["who", "when", "term", "what", "why"], rows)
