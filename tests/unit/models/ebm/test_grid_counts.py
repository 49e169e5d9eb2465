"""Counts of the cells of pairs ask for bounded work, whoever asks."""

import numpy as np
import pytest

from voile import Category, Number, Schema
from voile.errors import SettingError
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.interactions import read_interactions
from voile.models.ebm.pair_cells import MOST_TERMS, PairCells
from voile.models.ebm.queries import BinLayout

SCHEMA = Schema({"a": Number(0, 1), "b": Number(0, 1)}, target=Category([0, 1]))
CUT = np.array([0.5])
LAYOUT = BinLayout(SCHEMA, "logit", (CUT, CUT), np.array([0, 3, 6]))
PARTS = np.array([0, 1, 63])
PAIR = PairCells(0, 1, PARTS, PARTS, 64, 64)


def test_all_pairs_that_a_model_may_have_are_counted_at_once():
    read_interactions([("a", "b")] * MOST_TERMS)
    assert GridCounts(LAYOUT, (PAIR,) * MOST_TERMS).size == MOST_TERMS * 64**2


@pytest.mark.parametrize("pairs", [0, MOST_TERMS + 1, 2048])
def test_more_are_refused(pairs):
    with pytest.raises(SettingError, match="from 1 to 64 pairs"):
        GridCounts(LAYOUT, (PAIR,) * pairs)
