"""Whether something was paid is known after any failure; results outlive a ledger that is gone."""

import sys

import pytest

from voile import Budget, Ledger
from voile.errors import BudgetExceeded, LedgerUnavailable
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger.sql import SqlBook
from voile.progress import progress_bar

BUDGET = Budget(1, 1e-6)
PIECE = Plan.of(a=Gaussian(noise_multiplier=20))
TOO_MUCH = Plan.of(a=Gaussian(noise_multiplier=0.1))


def fail_in_transaction(monkeypatch, *, after, also_later):
    """The next transaction fails, before or after it is carried out, and perhaps all later ones."""
    real, seen = SqlBook._transaction, []

    def transaction(self, work):
        seen.append(work)
        if len(seen) > 1:
            if also_later:
                raise self._unavailable(OSError("gone"))
            return real(self, work)
        if after:
            real(self, work)
        raise self._unavailable(OSError("gone"))

    monkeypatch.setattr(SqlBook, "_transaction", transaction)


@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_ledger_tells_whether_this_object_has_paid(tmp_path, place):
    where = None if place == "memory" else tmp_path / "l.db"
    ledger = Ledger(where, BUDGET)
    assert not ledger.has_paid
    with pytest.raises(BudgetExceeded):
        ledger.spend(TOO_MUCH, "too much")
    assert not ledger.has_paid
    if where is not None:
        Ledger(where).spend(PIECE, "another")
    assert not ledger.has_paid
    ledger.spend(PIECE, "job")
    assert ledger.has_paid
    with pytest.raises(BudgetExceeded):
        ledger.spend(TOO_MUCH, "too much")
    assert ledger.has_paid


def test_a_reservation_is_a_payment(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    with ledger.reserve(PIECE, "job"):
        assert ledger.has_paid


@pytest.mark.parametrize(
    ("after", "also_later", "paid"),
    [
        (False, False, False),
        (False, True, False),  # it failed before anything was decided
        (True, False, True),  # the entry is there: the error was about the answer
        (True, True, True),  # nobody can tell: it may be there
    ],
)
def test_a_payment_that_failed_is_looked_for(tmp_path, monkeypatch, after, also_later, paid):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    with monkeypatch.context() as patch:
        fail_in_transaction(patch, after=after, also_later=also_later)
        with pytest.raises(LedgerUnavailable):
            ledger.spend(PIECE, "job")
        assert ledger.has_paid == paid
    assert len(Ledger(tmp_path / "l.db").history()) == after


def test_a_payment_that_was_undone_is_none(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    real = SqlBook._append

    def fail(self, *given):
        real(self, *given)
        raise OSError("No space left")

    with monkeypatch.context() as patch:
        patch.setattr(SqlBook, "_append", fail)
        with pytest.raises(LedgerUnavailable):
            ledger.spend(PIECE, "job")
    assert not ledger.has_paid
    assert ledger.history() == ()


def test_a_job_keeps_its_result_if_the_rest_cannot_be_given_back(tmp_path):
    ledger = Ledger(tmp_path / "l.db", BUDGET)
    with ledger.reserve(PIECE, "job") as reservation:
        result = reservation.charge(Plan.of(a=Gaussian(noise_multiplier=40)))
        (tmp_path / "l.db").rename(tmp_path / "gone.db")
    assert result.what == "job"
    history = Ledger(tmp_path / "gone.db").history()
    assert [str(entry.kind) for entry in history] == ["reserve", "charge"]
    assert history[-1].total.loss == pytest.approx(1 / 400)  # the upper bound stays paid

    def fail_with_its_own_error():
        with Ledger(tmp_path / "gone.db").reserve(PIECE, "job"):
            (tmp_path / "gone.db").rename(tmp_path / "l.db")
            raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        fail_with_its_own_error()


def test_no_error_stream_is_no_reason_to_lose_a_training(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with progress_bar("training", 3) as progress:
        progress(1)
