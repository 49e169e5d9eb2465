"""Rows spread over pretended clients: each exactly once, none without rows, always the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.errors import DataError, SettingError
from voile.federated.partition import split_dirichlet, split_iid, split_sizes


def check(parts, rows, clients):
    assert len(parts) == clients
    assert all(part.dtype == np.int64 and len(part) for part in parts)
    assert all((np.diff(part) > 0).all() for part in parts)
    assert sorted(np.concatenate(parts).tolist()) == list(range(rows))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 200), st.integers(0, 9))
def test_even_parts_differ_by_one_row(clients, more, seed):
    rows = clients + more
    parts = split_iid(rows, clients, seed)
    check(parts, rows, clients)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=12), st.integers(0, 200), st.integers(0, 9)
)
def test_sizes_follow_the_proportions(proportions, more, seed):
    rows = len(proportions) + more
    parts = split_sizes(rows, proportions, seed)
    check(parts, rows, len(proportions))
    exact = np.asarray(proportions) / sum(proportions) * rows
    raised = np.maximum(exact, 1)
    taken = (raised - exact).sum()  # rows given to those who would have had none
    sizes = np.array([len(part) for part in parts])
    assert (sizes <= raised + 1).all()
    assert (sizes >= exact - 1 - taken).all()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=200),
    st.integers(1, 12),
    st.sampled_from([1e-4, 0.01, 0.3, 1.0, 1e4]),
    st.integers(0, 9),
)
def test_uneven_parts_hold_every_row_once(labels, clients, alpha, seed):
    clients = min(clients, len(labels))
    check(split_dirichlet(labels, clients, alpha, seed), len(labels), clients)


def test_small_alpha_is_uneven_and_large_alpha_even():
    labels = np.repeat(np.arange(5), 400)

    def largest_share(alpha):
        parts = split_dirichlet(labels, 10, alpha, 0)
        counts = np.array([np.bincount(labels[part], minlength=5) for part in parts])
        return (counts.max(axis=0) / 400).mean()

    assert largest_share(0.05) > 0.5
    assert largest_share(1000.0) < 0.13


def test_the_same_seed_gives_the_same_rows_and_another_seed_others():
    labels = np.arange(300) % 3
    for split in (
        lambda seed: split_iid(300, 7, seed),
        lambda seed: split_sizes(300, [1, 2, 3], seed),
        lambda seed: split_dirichlet(labels, 7, 0.3, seed),
    ):
        same = [np.array_equal(a, b) for a, b in zip(split(1), split(1), strict=True)]
        other = [np.array_equal(a, b) for a, b in zip(split(1), split(2), strict=True)]
        assert all(same)
        assert not any(other)


def test_labels_of_any_kind_will_do():
    words = np.array(["a", "b"] * 20, dtype=object)
    assert [p.tolist() for p in split_dirichlet(words, 3, 0.5, 1)] == [
        p.tolist() for p in split_dirichlet([0, 1] * 20, 3, 0.5, 1)
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda: split_iid(3, 4, 0),
        lambda: split_iid(0, 1, 0),
        lambda: split_iid(10, 0, 0),
        lambda: split_iid(10, True, 0),
        lambda: split_iid(10.0, 2, 0),
        lambda: split_iid(10, 2, -1),
        lambda: split_iid(10, 2, None),
        lambda: split_sizes(10, [], 0),
        lambda: split_sizes(10, [1, 0], 0),
        lambda: split_sizes(10, [1, float("nan")], 0),
        lambda: split_sizes(10, [1, float("inf")], 0),
        lambda: split_sizes(10, [1, "2"], 0),
        lambda: split_dirichlet([0, 1], 3, 0.3, 0),
        lambda: split_dirichlet([], 1, 0.3, 0),
        lambda: split_dirichlet([0, 1], 2, 0, 0),
        lambda: split_dirichlet([0, 1], 2, float("nan"), 0),
        lambda: split_dirichlet([0, 1], 2, "1", 0),
    ],
)
def test_impossible_splits_are_refused(call):
    with pytest.raises(SettingError):
        call()


def test_too_few_rows_say_how_many_clients_would_do():
    with pytest.raises(SettingError, match="at most 3 clients"):
        split_iid(3, 4, 0)


@pytest.mark.parametrize("labels", [[[0, 1]], [0, "a", None], 3])
def test_labels_that_are_no_column_are_refused(labels):
    if labels == [0, "a", None]:
        labels = np.array(labels, dtype=object)
    with pytest.raises(DataError):
        split_dirichlet(labels, 1, 0.3, 0)
