"""What would have to change for another class of locally linear maps."""

import numpy as np
import pytest
from linear_map_models import linear_map_model
from scipy.special import softmax

from voile import Category, Number
from voile.errors import SettingError
from voile.explaining import Wish, suggest_changes
from voile.privacy.public_rows import encode_public

COLUMNS = {
    "age": Number(17, 90, whole=True),
    "job": Category(["a", "b", "c"]),
    "pay": Number(0, 5),
}
ROWS = {"age": [20, 50, 80], "job": ["a", "c", "b"], "pay": [1.0, 4.0, 2.5]}


def probabilities(model, rows):
    return softmax(model.decide(encode_public(rows, model.schema)), axis=1)


@pytest.mark.parametrize("want", [None, "x", "z", {"z": ">= 0.6"}, {"x": "<= 0.1"}])
@pytest.mark.parametrize("sure", [False, True])
def test_suggested_rows_get_what_is_wanted(want, sure):
    model = linear_map_model(COLUMNS, ["x", "y", "z"])
    record = suggest_changes(model, ROWS, Wish(want=want, keep=["job"], sure=sure))
    for i, told in enumerate(record.rows):
        row = {name: [values[i]] for name, values in ROWS.items()}
        now = probabilities(model, row)[0]
        for one in told.suggestions:
            changed = row | {change.column: [change.value] for change in one.changes}
            assert changed["job"] == row["job"]
            shares = probabilities(model, changed)[0]
            if isinstance(want, dict):
                assert (shares[2] >= 0.6) if "z" in want else (shares[0] <= 0.1)
            else:
                place = shares.argmax()
                assert place != now.argmax() if want is None else place == "xyz".index(want)
            assert (one.verdict == "clear") >= sure
            assert not one.exact
    assert any(row.suggestions or row.already for row in record.rows)


def test_pictures_and_models_of_one_class_are_refused():
    pixels = {f"p{j}": Number(0, 255) for j in range(4)}
    model = linear_map_model(pixels, ["x", "y"], image_shape=(2, 2))
    with pytest.raises(SettingError, match="pictures"):
        suggest_changes(model, np.zeros((1, 4)), Wish())
    with pytest.raises(SettingError, match="one class"):
        suggest_changes(linear_map_model(COLUMNS, ["x"]), ROWS, Wish())
