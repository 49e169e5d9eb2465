"""Verdicts on the weights of maps: what is called nothing, what is found, and comparisons."""

import json

import numpy as np
import pytest

from voile import Category, LocallyLinearClassifier, Number, Schema
from voile.errors import SettingError
from voile.explain import LocallyLinearExplanation, LocallyLinearLocalExplanation
from voile.privacy.noise import fixed_noise

ROWS = 3000
LEVELS = ["A", "B", "C"]
SCHEMA = Schema(
    {"age": Number(0, 1), "ward": Category(LEVELS), "null": Number(0, 1)},
    target=Category(["no", "yes"]),
)
GIVEN = {"age": [0.1, 0.7], "ward": ["A", "B"], "null": [0.1, 0.95]}


def fit(**settings):
    rng = np.random.default_rng(4)
    X = {"age": rng.random(ROWS), "ward": rng.choice(LEVELS, ROWS), "null": rng.random(ROWS)}
    score = 4 * (X["age"] - 0.5) + 1.5 * (X["ward"] == "A") - 0.5
    y = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")
    with fixed_noise(1):
        model = LocallyLinearClassifier(epsilon=4, schema=SCHEMA, random_state=0, **settings)
        return model.fit(X, y)


def page_of(record, folder):
    record.to_html(folder / "page.html")
    return (folder / "page.html").read_text()


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module")
def bank(model):
    return model.explain_global()


def test_what_tells_classes_apart_is_clear_and_the_rest_is_nothing(bank):
    assert dict(zip(bank.columns, bank.verdicts, strict=True)) == {
        "age": "clear",
        "ward": "clear",
        "null": "cannot be told from nothing",
    }
    assert (bank.standard_errors > bank.noise_errors).all()


def test_two_levels_compared(bank):
    answer = bank.compare("ward", "A", "B")
    assert answer.outputs == ("yes",)
    assert answer.differences[0] > 0
    assert answer.verdicts == ("clear",)
    assert "weight in the score, beyond the mean of all classes" in str(answer)
    # Half a range of age adds 2 to the log-odds, so 1 to the score beyond the mean; a level 0.75.
    assert abs(answer.differences[0] - 0.75) < 5 * answer.standard_errors[0]
    assert bank.compare("ward", "B", "C").verdicts == ("cannot be told from nothing",)
    back = bank.compare("ward", "B", "A")
    assert back.differences[0] == pytest.approx(-answer.differences[0])


def test_two_columns_compared(bank):
    answer = bank.compare("age", "null")
    assert answer.verdicts == ("clear",)
    assert answer.column == "age and null"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("size", "A", "B"), "has no column 'size': it has 'age', 'ward', 'null'"),
        (("ward", "A", "A"), "give two that differ"),
        (("ward", "A", "Z"), "has no level 'Z': it has 'A', 'B', 'C'"),
        (("age", 0.1, 0.9), "is a number: name another column"),
        (("ward", "age"), "is a category: compare two of its levels"),
        (("age", "age"), "give two that differ"),
    ],
)
def test_odd_questions(bank, asked, says):
    with pytest.raises(SettingError, match=says):
        bank.compare(*asked)


def test_text_begins_with_what_is_found_and_folds_the_rest(bank):
    text = " ".join(str(bank).split())
    assert "Columns that tell the classes apart: age (clear), ward (clear)." in text
    assert "1 column cannot be told from nothing: null" in text
    assert "± is the 95 % interval: privacy noise plus sampling error" in text


def test_pages_fold_what_is_nothing_into_a_line(bank, tmp_path):
    page = page_of(bank, tmp_path)
    assert "Columns that tell the classes apart: age (clear), ward (clear)." in page
    assert "<summary>1 column cannot be told from nothing: null</summary>" in page


def test_rows_mark_what_may_be_nothing(model, tmp_path):
    rows = model.explain_local(GIVEN)
    assert rows.nothing == ("null",)
    assert rows.whole
    assert "(may be nothing)" in str(rows)
    assert "null (may be nothing)" in page_of(rows, tmp_path)
    again = LocallyLinearLocalExplanation.from_dict(json.loads(json.dumps(rows.to_dict())))
    assert again.verdicts == rows.verdicts
    assert again.part_errors(0) == pytest.approx(rows.part_errors(0))


def test_files_and_frames_have_verdicts(bank):
    data = json.loads(json.dumps(bank.to_dict()))
    assert data["verdicts"] == list(bank.verdicts)
    back = LocallyLinearExplanation.from_dict(data)
    assert str(back.compare("ward", "A", "B")) == str(bank.compare("ward", "A", "B"))
    assert set(bank.to_frame()["verdict"]) == {"clear", "cannot be told from nothing"}


def test_without_evidence_nothing_is_claimed():
    bank = fit(projection=3).explain_global()
    assert bank.verdicts == ()
    assert "two standard errors of the privacy noise alone" in " ".join(str(bank).split())
    with pytest.raises(SettingError, match="does not hold the sampling error"):
        bank.compare("ward", "A", "B")
