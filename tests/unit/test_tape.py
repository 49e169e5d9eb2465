"""The tape hears what noise is added to, pairs rows, and changes nothing when it is off."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.errors import SettingError
from voile.privacy import noise
from voile.privacy.budget import Relation
from voile.privacy.events import Gaussian
from voile.privacy.tape import Access, Tape, current, listen
from voile.privacy.tape.drawn import Drawn
from voile.privacy.tape.records import partners


def begun(tape):
    tape.begin(Access("a", Gaussian(), Relation.ADD_REMOVE))
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


def test_without_a_tape_noise_is_plain_and_with_one_nothing_is_promised():
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
