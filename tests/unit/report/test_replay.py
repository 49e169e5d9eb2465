"""The page of a replay shows the record's own numbers and violations, and runs no name."""

import math
from dataclasses import replace

import pytest
from test_audit_pages import cells_of, check_alone, text_of
from test_report_pages import EVIL

from voile.audit.replaying.record import Replay, ReplayedAccess, Violation
from voile.report.audit import replay as replay_page

CLEAN = Replay(
    name="an EBM",
    neighbours=2,
    relation="add_or_remove_one",
    accesses=(
        ReplayedAccess("counts", "Gaussian noise", 1_500, 4.0, 1.0),
        ReplayedAccess("counts", "Gaussian noise", 1_500, 4.0, 3.0),
        ReplayedAccess("choice", "selection", 7, 0.0, 0.0),
    ),
    violations=(),
    epsilon=0.75,
    delta=1e-6,
    claimed=1.0,
)
BROKEN = replace(
    CLEAN,
    accesses=(ReplayedAccess("sum", "nothing", 1, math.inf, math.inf),),
    violations=(Violation("sensitivity", "sum (0)", "it moved too far"),),
    neighbours=1,
    claimed=math.inf,
    outcome="ValueError: no",
)
EMPTY = replace(CLEAN, accesses=())


@pytest.mark.parametrize("record", [CLEAN, BROKEN, EMPTY])
def test_the_page_stands_alone(record, tmp_path):
    page = record.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    assert page == replay_page.draw_page(record)
    assert check_alone(page).all("h1")
    text = text_of(page)
    assert "Replay of an EBM" in text
    assert record.verdict.lower() in text.lower()
    assert ("Violations" in text) == record.broken
    assert "iframe" in record._repr_html_()


def test_numbers_are_those_of_the_record():
    page = replay_page.draw_page(CLEAN)
    # Accesses that are alike are one line: the one that moved furthest.
    assert cells_of(page) == [
        ["counts", "Gaussian noise", "1,500", "4", "3", "75 %"],
        ["choice", "selection", "7", "0", "0", "unknown"],
    ]
    text = text_of(page)
    assert "replayed on 2 neighbours (add_or_remove_one)" in text
    assert "3 accesses cost at least epsilon 0.75 at delta 1e-06; claimed: 1." in text
    assert "Every run ended" not in text


def test_violations_are_told():
    page = replay_page.draw_page(BROKEN)
    text = text_of(page)
    assert "VIOLATIONS FOUND: 1." in text
    assert "sensitivity: sum (0): it moved too far" in text
    assert "replayed on 1 neighbour (" in text
    assert "1 access costs" in text
    assert "claimed: ∞." in text
    assert "Every run ended with ValueError: no" in text
    assert cells_of(page) == [["sum", "nothing", "1", "∞", "∞", "unknown"]]


def test_names_are_text():
    evil = replace(
        BROKEN,
        name=EVIL,
        relation=EVIL,
        outcome=EVIL,
        accesses=(ReplayedAccess(EVIL, EVIL, 1, 1.0, 1.0),),
        violations=(Violation(EVIL, EVIL, EVIL),),
    )
    page = replay_page.draw_page(evil)
    check_alone(page)
    assert cells_of(page)[0][:2] == [EVIL, EVIL]


def test_a_terminal_shows_its_text(capsys):
    CLEAN.show()
    assert capsys.readouterr().out == f"{CLEAN}\n"
