import multiprocessing

import numpy as np
import pytest

from repeatable import RepeatableEntropy
from voile.privacy import noise


def keys(place, count=3):
    entropy = RepeatableEntropy()
    with entropy.at(place):
        return [entropy.urandom(32) for _ in range(count)]


def test_keys_are_the_same_in_every_run_and_differ_otherwise():
    assert keys("a test") == keys("a test")
    assert len(set(keys("a test") + keys("another"))) == 6


def test_a_place_within_a_place_leaves_the_outer_one_as_it_was():
    entropy = RepeatableEntropy()
    with entropy.at("a test"):
        first = entropy.urandom(32)
        with entropy.at("a fixture"):
            inner = entropy.urandom(32)
        second = entropy.urandom(32)
    assert [first, second] == keys("a test", 2)
    assert [inner] == keys("a fixture", 1)


def test_a_page_by_itself_has_keys_from_its_beginning_on():
    entropy = RepeatableEntropy("a page")
    assert [entropy.urandom(32) for _ in range(3)] == keys("a page")


def test_outside_of_tests_it_is_the_operating_system():
    entropy = RepeatableEntropy()
    assert entropy.urandom(32) != entropy.urandom(32)


DRAWN = [2, 2, 12]


def test_draws_of_this_test_are_known_and_pass_for_real_ones():
    drawn = [int(np.abs(noise.gaussian(1, 20.0)[0])) for _ in range(3)]
    assert drawn == DRAWN
    assert noise.current_source() is noise.NoiseSource.SYSTEM


def drawn_by_a_child(pipe):
    pipe.send(noise.gaussian(4, 1e6).tolist())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_draws_for_itself():
    ours, theirs = multiprocessing.Pipe()
    children = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(2):
        child = children.Process(target=drawn_by_a_child, args=(theirs,))
        child.start()
        drawn.append(ours.recv())
        child.join()
    assert drawn[0] != drawn[1]
