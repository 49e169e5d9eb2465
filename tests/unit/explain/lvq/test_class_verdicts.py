"""Verdicts on class means: what is called nothing, what is found, and comparisons of classes."""

import json

import numpy as np
import pytest

from voile import Category, GLVQClassifier, GMLVQClassifier, Number, Schema
from voile.errors import DataError, SettingError
from voile.explain import LVQExplanation, LVQLocalExplanation
from voile.privacy.noise import fixed_noise

ROWS = 3000
SCHEMA = Schema(
    {"age": Number(0, 100), "ward": Category(["A", "B"]), "null": Number(0, 1)},
    target=Category(["no", "yes"]),
)
GIVEN = {"age": [30.0, 70.0], "ward": ["A", "B"], "null": [0.1, 0.95]}


def fit(kind=GMLVQClassifier, **settings):
    rng = np.random.default_rng(4)
    y = rng.choice(["no", "yes"], ROWS)
    X = {
        "age": np.clip(rng.normal(np.where(y == "yes", 60, 45), 12), 0, 100),
        "ward": np.where(rng.random(ROWS) < np.where(y == "yes", 0.6, 0.3), "A", "B"),
        "null": rng.random(ROWS),
    }
    with fixed_noise(1):
        return kind(epsilon=4, schema=SCHEMA, random_state=0, **settings).fit(X, y)


def page_of(record, folder):
    record.to_html(folder / "page.html")
    return (folder / "page.html").read_text()


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module")
def whole(model):
    return model.explain_global()


def test_what_differs_is_clear_and_the_rest_is_nothing(whole):
    assert dict(zip(whole.columns, whole.verdicts, strict=True)) == {
        "age": "clear",
        "ward": "clear",
        "null": "cannot be told from nothing",
    }
    assert whole.nothing == ("null",)
    assert whole.verdict_of("age") == "clear"
    assert [whole.features[j].column for j in whole.shown] == ["age", "ward", "ward"] or [
        whole.features[j].column for j in whole.shown
    ] == ["ward", "ward", "age"]
    assert whole.features[whole.ranked[-1]].column == "null"


def test_errors_are_whole(whole):
    assert whole.whole
    assert (whole.standard_errors > whole.noise_errors).all()
    assert (whole.evidence.sampling_variances > 0).all()


def test_two_classes_compared(whole):
    answer = whole.compare("age", "yes", "no")
    assert answer.outputs == ("age",)
    # 15 years apart; the interval is of the rows drawn into the ball.
    assert abs(answer.differences[0] - 15) < 5 * answer.standard_errors[0] + 1
    assert (answer.noise_errors > 0).all()
    assert (answer.sampling_errors > 0).all()
    assert answer.verdicts == ("clear",)
    text = str(answer)
    assert "age: mean of 'yes' against mean of 'no'" in text
    assert "95 % interval: privacy noise plus sampling error" in text
    wards = whole.compare("ward", "yes", "no")
    assert wards.outputs == ("A", "B")
    assert wards.differences[0] == pytest.approx(0.3, abs=0.06)
    assert wards.verdicts == ("clear", "clear")
    assert whole.compare("null", "yes", "no").verdicts == ("cannot be told from nothing",)


def test_prototypes_can_be_compared():
    whole = fit(prototypes_per_class=2).explain_global()
    answer = whole.compare("age", "'yes' no. 1", "'yes' no. 2")
    assert answer.first == "prototype 'yes' no. 1"
    means = whole.compare("age", "yes", "no")
    assert answer.standard_errors[0] > means.standard_errors[0]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("size", "yes", "no"), "has no column 'size': it has 'age', 'ward', 'null'"),
        (("age", "yes", "yes"), "give two that differ"),
        (("age", "yes", "maybe"), "There is no class or prototype 'maybe'"),
    ],
)
def test_odd_questions(whole, asked, says):
    with pytest.raises(SettingError, match=says):
        whole.compare(*asked)


def test_text_begins_with_what_is_found_and_folds_the_rest(whole):
    text = " ".join(str(whole).split())
    assert "Class means differ in: age (clear), ward (clear)." in text
    assert "1 column cannot be told from nothing: null" in text
    assert "± is the 95 % interval: privacy noise plus sampling error" in text


def test_rows_mark_what_may_be_nothing(model, tmp_path):
    rows = model.explain_local(GIVEN)
    assert rows.nothing == ("null",)
    assert "(may be nothing)" in str(rows)
    frame = rows.to_frame()
    assert set(frame["verdict"][frame["feature"] == "null"]) == {"cannot be told from nothing"}
    assert "may be nothing" in page_of(rows, tmp_path)


def test_pages_fold_what_is_nothing_into_a_line(whole, tmp_path):
    page = page_of(whole, tmp_path)
    assert "Class means differ in: age (clear), ward (clear)." in page
    assert "<summary>1 column cannot be told from nothing: null</summary>" in page


def test_files_and_frames_have_verdicts(whole, model):
    data = json.loads(json.dumps(whole.to_dict()))
    assert data["verdicts"] == list(whole.verdicts)
    back = LVQExplanation.from_dict(data)
    assert back.verdicts == whole.verdicts
    assert str(back.compare("age", "yes", "no")) == str(whole.compare("age", "yes", "no"))
    assert set(whole.to_frame()["verdict"]) == {"clear", "cannot be told from nothing"}
    rows = model.explain_local(GIVEN)
    again = LVQLocalExplanation.from_dict(json.loads(json.dumps(rows.to_dict())))
    assert again.verdicts == rows.verdicts
    assert again.whole
    data["verdicts"] = data["verdicts"][:-1]
    with pytest.raises(DataError, match="one for each column"):
        LVQExplanation.from_dict(data)


def test_without_evidence_nothing_is_claimed():
    whole = fit(GLVQClassifier, mechanism="center_of_attention", groups=300).explain_global()
    assert whole.verdicts == ()
    assert whole.verdict_of("age") == "not known"
    assert "two standard errors of the privacy noise alone" in " ".join(str(whole).split())
    with pytest.raises(SettingError, match="does not hold the sampling error"):
        whole.compare("age", "yes", "no")
