"""Lines whose digests agree and that no ledger has written: each is refused where it is read."""

import json
import sqlite3
from dataclasses import replace

import pytest

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, LedgerError, LedgerMismatch, LedgerUnavailable
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger import EntryKind
from voile.privacy.ledger.chain import Chain, follow_refusals
from voile.privacy.ledger.digest import beginning_of, beginning_of_refusals, digest_of
from voile.privacy.ledger.entry import new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.ledger.sql import SqlBook

BUDGET = Budget(2, 1e-6)
PIECE = Plan.of(sums=Gaussian(noise_multiplier=40))
TOO_MUCH = Plan.of(sums=Gaussian(noise_multiplier=0.01))


def follow(ledger, **changed):
    """Read the first line, changed by somebody who knows how digests are made."""
    facts, fields = ledger._book.facts(), ledger.history()[0].fields() | changed
    return Chain(facts).follow(fields, digest_of(beginning_of(facts), fields), None)


def plan_of(*steps):
    return json.dumps([{"label": label, "event": event} for label, event in steps])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "gift"}, "cannot be read at entry 1"),
        ({"price_loss": "dear"}, "cannot be read at entry 1"),
        ({"plan": "["}, "cannot be read at entry 1"),
        ({"plan": plan_of(("a", {"kind": "magic"}))}, "magic"),
        (
            {
                "plan": plan_of(
                    *[("a", {"kind": "gaussian", "count": 1, "noise_multiplier": 9.0})] * 2
                )
            },
            "cannot be read at entry 1",
        ),
        ({"total_loss": "0.0"}, "total of entry 1"),
        ({"price_loss": "-1.0", "total_loss": "-1.0"}, "total of entry 1"),
        ({"kind": "charge", "parent": "nobody"}, "total of entry 1"),
        ({"kind": "release", "parent": "nobody"}, "total of entry 1"),
        ({"kind": "charge"}, "total of entry 1"),
        ({"alone": 1}, "total of entry 1"),
    ],
)
def test_a_line_that_was_never_written_is_refused_though_its_digest_agrees(changed, message):
    ledger = Ledger(BUDGET)
    ledger.spend(PIECE, "a")
    assert follow(ledger).last == ledger.history()[0]
    with pytest.raises(LedgerMismatch, match=message):
        follow(ledger, **changed)


def test_an_unreadable_refusal_is_said_to_be():
    ledger = Ledger(BUDGET)
    with pytest.raises(BudgetExceeded):
        ledger.spend(TOO_MUCH, "a")
    facts = ledger._book.facts()
    fields = ledger.refusals()[0].fields() | {"known_by": "hearsay"}
    digest = digest_of(beginning_of_refusals(facts), fields)
    with pytest.raises(LedgerMismatch, match="cannot be read at the refused attempt 1"):
        follow_refusals(facts, [(fields, digest)])


def overwrite(path, table, statement):
    """Change lines without a digest, behind the back of a process that has read them."""
    connection = sqlite3.connect(path)
    connection.execute(f"DROP TRIGGER {table}_no_update")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_line_in_the_middle_that_was_damaged_meanwhile_is_not_handed_out(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    for job in "abc":
        ledger.spend(PIECE, job)
    overwrite(tmp_path / "l.db", "voile_entry", "UPDATE voile_entry SET plan='[' WHERE seq=2")
    assert [entry.what for entry in ledger.history(2)] == ["c"]
    with pytest.raises(LedgerMismatch, match="entry 2 cannot be read"):
        ledger.history(1)


def test_a_damaged_refusal_is_no_reason_to_admit_the_next(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    with pytest.raises(BudgetExceeded):
        ledger.spend(TOO_MUCH, "too much")
    overwrite(tmp_path / "l.db", "voile_refusal", "UPDATE voile_refusal SET plan='['")
    with pytest.raises(LedgerMismatch, match="refused attempt 1 was changed"):
        ledger.refusals()
    with pytest.raises(BudgetExceeded):
        ledger.spend(TOO_MUCH, "again")
    assert ledger.history() == ()
    with pytest.raises(LedgerMismatch, match="refused attempt cannot be read"):
        ledger._book.refuse(lambda last: pytest.fail("nothing can follow what cannot be read"))


# --- verify


@pytest.mark.parametrize("kind", ["gdp", "pure"])
def test_a_job_that_had_the_whole_budget_is_verified_by_its_own_arithmetic(tmp_path, kind):
    path = tmp_path / "l.db"
    ledger = Ledger(path, BUDGET, filter=kind)
    whole = calibrate(BUDGET, Plan((gaussian_step("sums", 1.0),)))
    with ledger.reserve(whole, "all of it") as reservation:
        reservation.charge(whole)
    assert ledger.history()[0].alone
    assert Ledger(path).verify().entries == 2


def test_a_job_that_claims_to_fit_alone_and_does_not_is_noticed():
    ledger = Ledger(BUDGET)
    forged = new_entry(
        None,
        what="loud",
        kind=EntryKind.SPEND,
        plan=TOO_MUCH,
        price=ledger.filter.limit,
        total=ledger.filter.limit,
        alone=True,
        beginning=beginning_of(ledger._book.facts()),
    )
    ledger._book.append(lambda last: forged)
    with pytest.raises(LedgerMismatch, match="entry 1 was paid less"):
        ledger.verify()


def test_a_file_that_was_written_less_often_than_its_head_knows_is_an_older_copy(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    ledger.spend(PIECE, "a")
    head = ledger.head()
    with pytest.raises(LedgerMismatch, match="older copy"):
        ledger.verify(replace(head, writes=head.writes + 1))
    with pytest.raises(LedgerMismatch, match="without a write"):
        ledger.verify(replace(head, file="0" * 64))
    assert ledger.verify(replace(head, writes=None, file=None)).entries == 1


# --- reservations


def reserved(ledger, accesses=2):
    return ledger.reserve(Plan.of(sums=Gaussian(accesses, 40)), "job")


def test_a_reservation_is_worth_nothing_in_a_forked_process():
    ledger = Ledger(BUDGET)
    reservation = reserved(ledger)
    reservation._process += 1  # as the copy in a child sees it
    with pytest.raises(LedgerError, match="forked process"):
        reservation.charge(PIECE)
    reservation.close()
    assert [entry.kind for entry in ledger.history()] == [EntryKind.RESERVE]
    ledger._book._process += 1
    with pytest.raises(LedgerError, match="Give the ledger a file"):
        ledger.spend(PIECE, "in a child")


def test_a_file_is_opened_anew_in_a_forked_process(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    ledger._book._process += 1
    assert ledger.spend(PIECE, "in a child") == Ledger(tmp_path / "l.db").history()[0]


def test_a_reservation_that_the_ledger_forgot_pays_for_nothing():
    ledger = Ledger(BUDGET)
    reservation = reserved(ledger)
    ledger._book._entries.clear()
    with pytest.raises(LedgerError, match="lost the reservation"):
        reservation.charge(PIECE)


def test_a_charge_that_may_stand_in_the_ledger_is_used(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    reservation = reserved(ledger, accesses=2)
    real = SqlBook.append

    def fail_afterwards(self, *given):
        real(self, *given)
        raise LedgerUnavailable("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(SqlBook, "append", fail_afterwards)
        with pytest.raises(LedgerUnavailable):
            reservation.charge(PIECE)
    reservation.charge(PIECE)
    with pytest.raises(BudgetExceeded, match="larger than what was set aside"):
        reservation.charge(PIECE)
    assert reservation.entry.price - reservation._used == Amount(pytest.approx(0, abs=1e-12))
