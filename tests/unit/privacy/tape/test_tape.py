"""The tape hears what noise is added to, pairs rows, and changes nothing when it is off."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile import Budget, Ledger, Number, Schema, protect
from voile.errors import SettingError, VaultError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Plan
from voile.privacy.grant import Grant
from voile.privacy.queries import RowCount
from voile.privacy.sources.holders import Holders
from voile.privacy.tape import Access, Tape, at_client, current, keyed, listen, sampled
from voile.privacy.tape.drawn import Drawn
from voile.privacy.tape.listening import grouped, summed
from voile.privacy.tape.records import partners


def begun(tape):
    tape.begin(Access("a", Gaussian(), NeighbouringRelation.ADD_REMOVE))
    return tape.accesses[-1]


def heard(work):
    tape = Tape()
    with listen(tape):
        access = begun(tape)
        result = work()
    return result, access


@pytest.mark.parametrize(
    "add",
    [
        lambda total, drawn: total + drawn,
        lambda total, drawn: drawn + total,
        lambda total, drawn: np.add(total, drawn),
        lambda total, drawn: total.__iadd__(drawn),
    ],
)
def test_an_addition_is_heard(add):
    total = np.array([5, 7, 9])
    result, access = heard(lambda: add(total.copy(), noise.gaussian(3, 100.0)))
    assert type(result) is np.ndarray
    assert access.added[0].uses == 1
    assert access.added[0].total.tolist() == [5, 7, 9]
    assert (result == total + access.added[0].noise).all()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda drawn: drawn // 2,
        lambda drawn: drawn[:1],
        lambda drawn: np.clip(drawn, -1, 1),
        lambda drawn: np.asarray(drawn) * 0,
        lambda drawn: drawn.copy(),
        lambda drawn: drawn.astype(np.float64),
        lambda drawn: drawn.tolist(),
        lambda drawn: np.where(drawn > 0, drawn, 0),
        lambda drawn: drawn - drawn,
    ],
)
def test_noise_that_was_altered_is_missed(spoil):
    _, access = heard(lambda: np.zeros(3, dtype=np.int64)[:1] + spoil(noise.gaussian(3, 9.0)))
    assert access.added[0].uses == 0


def test_noise_that_is_added_twice_is_heard_twice():
    def work():
        drawn = noise.laplace(2, 50.0)
        return np.array([1, 1]) + drawn, np.array([4, 4]) + drawn

    _, access = heard(work)
    assert access.added[0].uses == 2


def test_a_replay_hands_out_the_same_and_keeps_the_other_total():
    def run(tape, total):
        with listen(tape):
            begun(tape)
            return np.array(total) + noise.gaussian(2, 1000.0)

    first = Tape()
    released = run(first, [1, 2])
    second = Tape(first)
    assert (run(second, [30, 40]) == released).all()
    assert second.accesses[0].added[0].total.tolist() == [30, 40]


def test_of_another_shape_nothing_is_handed_out():
    first, second = Tape(), Tape()
    with listen(first):
        begun(first)
        released = np.zeros(2, dtype=np.int64) + noise.gaussian(2, 1000.0)
    second = Tape(first)
    with listen(second):
        begun(second)
        other = np.zeros(3, dtype=np.int64) + noise.gaussian(3, 1000.0)
    assert (released != other[:2]).any()


def test_draws_while_the_vault_is_closed_are_noted():
    tape = Tape()
    with listen(tape):
        noise.gaussian(1, 5.0)
        noise.bernoulli(3, 0.5)
        noise.permutation(3)
    assert len(tape.stray) == 3


def test_without_a_tape_noise_is_plain_and_with_one_nothing_is_guaranteed():
    assert current() is None
    assert type(noise.gaussian(2, 5.0)) is np.ndarray
    assert noise.current_source() is noise.NoiseSource.SYSTEM
    with listen(Tape()):
        assert noise.current_source() is noise.NoiseSource.FIXED
        with pytest.raises(SettingError), listen(Tape()):
            pass
    assert current() is None


def test_other_threads_are_not_heard_and_not_answered():
    tape, found = Tape(), []

    def job():
        found.append((current(), noise.current_source(), type(noise.gaussian(1, 5.0))))

    with listen(tape):
        begun(tape)
        thread = threading.Thread(target=job)
        thread.start()
        thread.join()
    assert found == [(None, noise.NoiseSource.SYSTEM, np.ndarray)]
    assert tape.accesses[0].added == []


def test_draws_may_name_their_arguments():
    _, access = heard(lambda: noise.bernoulli(size=3, rate=0.5))
    assert len(access.coins[0].values) == 3


def test_the_same_bits_with_a_tape_and_without():
    def draws():
        return [noise.gaussian(4, 99.0), noise.laplace(3, 7.0), noise.bernoulli(9, 0.3)]

    with noise.fixed_noise(5):
        plain = draws()
    with noise.fixed_noise(5):
        tapped, _ = heard(draws)
    assert all((a == np.asarray(b)).all() for a, b in zip(plain, tapped, strict=True))
    assert isinstance(tapped[0], Drawn)


rows = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=12)


@given(rows, st.integers(0, 12), st.binary(min_size=1, max_size=1))
def test_rows_are_paired_with_rows_that_look_alike(before, place, other):
    place = min(place, len(before))
    longer = [*before[:place], other, *before[place:]]
    found = partners(before, longer)
    paired = [one for one in found if one is not None]
    assert paired == sorted(set(paired))
    assert all(before[one] == longer[i] for i, one in enumerate(found) if one is not None)
    back = partners(longer, before)
    assert None not in back
    assert all(longer[one] == before[i] for i, one in enumerate(back))
    assert len(paired) == len(before)


def test_a_replaced_row_has_no_partner():
    assert partners([b"a", b"b", b"c"], [b"a", b"x", b"c"]) == [0, None, 2]


# -- odd tapes -----------------------------------------------------------------------------------


class Elsewhere:
    """A source whose rows lie with clients."""

    schema = Schema({"a": Number(0, 1)})
    holders = Holders()

    def blocks(self, names):
        raise VaultError("elsewhere")


def test_without_a_tape_nobody_listens():
    keyed(lambda: 1 / 0)
    grouped(3)
    summed(RowCount(), 1.0)
    assert sampled(lambda: 4, 5) == 4
    with at_client("a"):
        assert current() is None


def test_an_entry_without_the_step_is_no_payment():
    table = protect({"a": [0.5, 0.7]}, schema=Schema({"a": Number(0, 1)}))
    ledger = Ledger(Budget(1, 1e-6))
    paid = ledger.pay(Plan.of(one=Gaussian(noise_multiplier=9.0)), table, "job")
    other = Grant(paid.plan, replace(paid.entry, plan=Plan(())), ledger, table)
    tape = Tape()
    tape.open(Elsewhere(), other.take("one"))
    assert tape.accesses[0].paid is None
    assert tape.accesses[0].unit == "row"


def test_what_happens_while_the_vault_is_closed_belongs_to_nobody():
    tape = Tape()
    with listen(tape):
        grouped(4)
        summed(RowCount(), 1.0)
        assert sampled(lambda: 2, 3) == 2
    assert tape.accesses == []
    assert tape.stray == [
        "rows were added up while the vault was closed",
        "a choice was made while the vault was closed",
    ]


def test_more_than_was_recorded_is_drawn_anew():
    def run(tape, draws, accesses, inside):
        found = []
        with listen(tape):
            for _ in range(accesses):
                begun(tape)
                found += [np.zeros(2, np.int64) + noise.gaussian(2, 1e6) for _ in range(draws)]
                for name in range(inside):
                    with at_client(str(name)):
                        begun_inside(tape)
                        found.append(np.zeros(2, np.int64) + noise.gaussian(2, 1e6))
        return found

    first = Tape()
    run(first, 1, 1, 1)
    second = Tape(first)
    found = run(second, 2, 2, 2)
    assert len(found) == 8
    known = [first.accesses[0].added[0], first.accesses[0].inside[0].added[0]]
    same = [any((one == old.released).all() for old in known) for one in found]
    assert same == [True, False, True, False, False, False, False, False]


def begun_inside(tape):
    tape.begin(Access("a", Gaussian(), NeighbouringRelation.ADD_REMOVE, client="c"))


def test_noise_for_another_number_of_names_has_no_names():
    def work():
        keyed(lambda: ["a", "b", "c"])
        return noise.gaussian(2, 9.0)

    _, access = heard(work)
    assert access.added[0].names is None


def test_coins_of_clients_go_by_their_order():
    def run(tape):
        with listen(tape):
            tape.begin(Access("a", Gaussian(), NeighbouringRelation.ADD_REMOVE, source=Elsewhere()))
            return noise.bernoulli(40, 0.5)

    first = Tape()
    coins = run(first)
    assert (run(Tape(first)) == coins).all()
    assert first.accesses[0].rows is None


def test_more_coins_than_rows_are_still_coins():
    def run(tape, rows, times):
        with listen(tape):
            tape.begin(Access("a", Gaussian(), NeighbouringRelation.ADD_REMOVE, rows=rows))
            return [noise.bernoulli(3, 0.5).tolist() for _ in range(times)]

    first = Tape()
    coins = run(first, (b"a", b"b", b"c"), 1)
    again = run(Tape(first), (b"a", b"x", b"c"), 2)
    assert again[0] == [coins[0][0], not coins[0][1], coins[0][2]]
    assert len(again[1]) == 3


def test_noise_that_was_recorded_as_unused_is_drawn_anew():
    first = Tape()
    with listen(first):
        begun(first)
        noise.gaussian(2, 1e6)
    second = Tape(first)
    with listen(second):
        begun(second)
        released = np.zeros(2, np.int64) + noise.gaussian(2, 1e6)
    assert (released == second.accesses[0].added[0].noise).all()


def test_a_choice_that_goes_by_no_coin_of_its_own_has_no_law():
    tape = Tape()
    with listen(tape):
        access = begun(tape)
        assert sampled(lambda: 1, 3) == 1
    assert access.choices[0].exponents is None
