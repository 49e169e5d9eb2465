"""Positions among cuts: numpy's search, whatever the cuts and values are."""

import numpy as np
import pytest

from voile.errors import SettingError
from voile.privacy.cut_kernels import CutSearch, place

LARGEST = np.finfo(np.float64).max
TINY = np.nextafter(0.0, 1.0)
ODD = [-np.inf, -LARGEST, -1.0, -TINY, -0.0, 0.0, TINY, 1e-300, 0.5, 1.0, LARGEST, np.inf, np.nan]


def looked_up(values, cuts, kind=np.int64):
    found = np.empty(len(values), dtype=kind)
    place(np.asarray(values, dtype=float), np.asarray(cuts, dtype=float), len(cuts) + 1, found)
    return found


def searched(values, cuts):
    found = np.searchsorted(cuts, values, side="right")
    found[np.isnan(values)] = len(cuts) + 1
    return found


def cuts_of_many_kinds():
    rng = np.random.default_rng(0)
    yield np.zeros(0)
    yield np.array([0.0])
    yield np.array([-np.inf, 0.0, np.inf])
    yield np.array([-np.inf, np.inf])
    yield np.array([0.0, np.inf])
    yield np.array([-LARGEST, 0.0, LARGEST])
    yield np.array([0.0, TINY, 2 * TINY])
    yield 1e300 + np.spacing(1e300) * np.arange(40)
    yield np.arange(300) / 299
    yield np.sort(np.exp(rng.normal(0, 8, 900)))
    yield np.concatenate([np.arange(700) * 1e-9, [1.0, 1e9]])
    yield np.unique(np.concatenate([rng.normal(size=50), np.nextafter(rng.normal(size=5), 9)]))


@pytest.mark.parametrize("cuts", list(cuts_of_many_kinds()), ids=lambda cuts: f"{len(cuts)} cuts")
def test_values_lie_where_numpy_finds_them(cuts):
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        near = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
        spread = rng.uniform(-2, 2, 3000) * (np.abs(cuts[np.isfinite(cuts)]).max(initial=1.0) / 4)
        inside = rng.choice(cuts, 500) * rng.uniform(0.9, 1.1, 500) if len(cuts) else []
    values = rng.permutation(np.concatenate([*near, ODD, spread, inside]))
    np.testing.assert_array_equal(looked_up(values, cuts), searched(values, cuts))


def test_a_column_of_a_larger_array_is_filled_and_no_other():
    cuts, values = np.arange(100.0), np.append(np.linspace(-1, 101, 1500), np.nan)
    table = np.full((len(values), 3), 250, dtype=np.uint8)
    CutSearch.of(cuts).find(values, 101, table[:, 1])
    np.testing.assert_array_equal(table[:, 1], searched(values, cuts))
    assert (table[:, [0, 2]] == 250).all()


def test_values_of_any_layout_and_type_are_read():
    cuts = np.array([0.25, 0.5])
    values = np.linspace(0, 1, 20, dtype=np.float32)[::-2]
    np.testing.assert_array_equal(looked_up(values, cuts), searched(values, cuts))
    assert len(looked_up([], cuts)) == 0


def test_a_result_of_another_length_is_refused():
    with pytest.raises(SettingError, match="place in the result"):
        CutSearch.of(np.arange(3.0)).find(np.zeros(4), 4, np.empty(3, dtype=np.int64))
