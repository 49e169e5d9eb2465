"""Where predictions of a regression lie is known from its released counts, pairs included."""

from dataclasses import replace

import numpy as np
import pytest
from ebm_models import PAIRS, make_model

from voile.models.evaluation.of_numbers import Predictions


def test_pairs_widen_what_is_predicted():
    model = make_model("identity", pairs=PAIRS)
    without = replace(model, pairs=())
    wide, narrow = Predictions.of(model).farthest / 4, Predictions.of(without).farthest / 4
    more = 0.0
    for pair in model.pairs:
        scores, rows = pair.scores[..., 0], pair.counts
        own = np.average(scores, weights=rows)
        more += np.average((scores - own) ** 2, weights=rows)
    assert wide**2 == pytest.approx(narrow**2 + more, rel=1e-6)
