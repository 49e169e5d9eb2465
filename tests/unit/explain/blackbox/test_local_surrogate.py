"""Local surrogates on a black box are kept, gathered and told as they were given."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from explained_models import make_receipt
from surrogate_records import (
    REVIEW,
    census_surrogate,
    levels,
    make_surrogate,
    number,
    picture_surrogate,
    review_surrogate,
)

from voile.errors import DataError
from voile.explain import Explanation, LocalSurrogate, Slope
from voile.explain.blackbox.surrogate.text import (
    ANSWERS,
    OWN,
    answer_text,
    local_score_text,
    noise_text,
)
from voile.explain.blackbox.surrogate.trust import FAIR, GOOD, POOR, UNKNOWN, read_trust
from voile.explain.blackbox.units import OWN_UNIT, PROBABILITY
from voile.explain.blackbox.words import cut_words, find_word, list_words, split_text
from voile.explain.wording import noisy

MANY = tuple(f"class {k}" for k in range(12))
CASES = [
    pytest.param(census_surrogate(), id="table"),
    pytest.param(census_surrogate(1), id="one row"),
    pytest.param(census_surrogate(0), id="no rows"),
    pytest.param(census_surrogate(7), id="seven rows"),
    pytest.param(make_surrogate([number("x")]), id="one feature"),
    pytest.param(make_surrogate([]), id="no features"),
    pytest.param(census_surrogate(error=0.0), id="no noise"),
    pytest.param(census_surrogate(error=math.inf), id="unknown noise"),
    pytest.param(make_surrogate([number("x"), number("y")], outputs=MANY), id="many outputs"),
    pytest.param(review_surrogate(), id="text"),
    pytest.param(review_surrogate(("bad", "fair", "good")), id="text of three classes"),
    pytest.param(picture_surrogate(), id="pictures"),
    pytest.param(picture_surrogate((3, 4, 3), outputs=("a", "b")), id="colours"),
    pytest.param(
        census_surrogate(agreement=[[math.inf], [0.8]], r2=[[None], [-0.2]], distance=[0.3] * 2),
        id="unknown trust",
    ),
]


@pytest.mark.parametrize("told", CASES)
def test_storage_changes_nothing(told):
    assert isinstance(told, Explanation)
    data = told.to_dict()
    assert data["kind"] == "slopes"
    for read in (LocalSurrogate, Explanation):
        back = read.from_dict(json.loads(told.to_json()))
        assert type(back) is LocalSurrogate
        assert back.to_dict() == data
        for name in ("values", "standard_errors", "strengths", "agreement", "distance"):
            assert np.array_equal(getattr(back, name), getattr(told, name))
        assert (back.given, back.texts, back.picture) == (told.given, told.texts, told.picture)
    assert str(LocalSurrogate.from_json(told.to_json(indent=None))) == str(told)


@pytest.mark.parametrize("told", CASES)
def test_records_have_every_number(told):
    records = told.to_records()
    rows, features, outputs = told.values.shape
    assert len(records) == rows * features * outputs
    assert len(told.to_frame()) == len(records)
    for n, one in enumerate(records):
        i, j, k = np.unravel_index(n, told.values.shape)
        assert one["row"] == i
        assert one["feature"] == told.features[j].name
        assert one["output"] == told.outputs[k]
        assert one["slope"] == told.values[i, j, k]
        assert one["standard_error"] == told.standard_errors[i, j, k]
        assert one["own"] == told.own[i, j]
        assert one["doubtful"] == told.doubtful[i, j, k]
        shares = (one["agreement"], told.agreement[i, k]), (one["r2"], told.r2[i, k])
        for share, kept in shares:
            assert share == kept if math.isfinite(kept) else share is None


def test_unknown_numbers_are_none_in_json():
    errors = np.full((2, 7, 1), 0.1)
    errors[1, 2, 0], errors[0, 0, 0] = math.nan, math.inf
    told = census_surrogate(standard_errors=errors, radius=math.inf)
    data = json.loads(told.to_json())
    assert data["standard_errors"][1][2] == [None]
    assert data["standard_errors"][0][0] == [None]
    assert data["radius"] is None
    back = LocalSurrogate.from_dict(data)
    assert math.isinf(back.radius)
    assert np.isinf(back.standard_errors[1, 2, 0])
    assert back.doubtful[0, 0, 0]


def test_an_explanation_is_frozen():
    told = census_surrogate()
    with pytest.raises(FrozenInstanceError):
        told.radius = 2.0
    with pytest.raises(ValueError, match="read-only"):
        told.values[0] = 1.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": np.zeros((2, 6, 1))}, "values of an explanation must have shape"),
        ({"values": np.full((2, 7, 1), math.nan)}, "values .* must be finite"),
        ({"scores": [[math.inf], [0.0]]}, "scores .* must be finite"),
        ({"scales": ["a"] * 7}, "scales .* must be numbers"),
        ({"answered": ("summary",)}, "'answered' must have an entry for each of 2 rows"),
        ({"answered": ("summary", "magic")}, "'magic': give one of summary"),
        ({"steps": (1, 2, 3)}, "'steps'"),
        ({"texts": ("one",)}, "'texts' must have a text for each of 2 rows"),
        ({"given": (("1",), ("2",))}, "1 values, and there are 4 columns"),
        ({"given": ((), ())}, "0 values, and there are 4 columns"),
        ({"picture": (2, 2)}, "picture of shape"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        census_surrogate(**changed)


def test_rows_can_be_picked():
    told = census_surrogate(4, answered=("summary", "stored", "reused", "offline"))
    assert len(told) == 4
    for picked, rows in (
        (told[1], [1]),
        (told[-1], [3]),
        (told[np.int64(2)], [2]),
        (told[1:3], [1, 2]),
        (told[:0], []),
    ):
        assert isinstance(picked, LocalSurrogate)
        assert len(picked) == len(rows)
        assert np.array_equal(picked.values, told.values[rows])
        assert np.array_equal(picked.scales, told.scales)
        assert picked.answered == tuple(told.answered[i] for i in rows)
        assert picked.given == tuple(told.given[i] for i in rows)
    with pytest.raises(IndexError):
        told[4]
    assert review_surrogate()[0].texts == (REVIEW,)
    assert review_surrogate()[:0].texts == ()


# -- what follows from the facts ----------------------------------------------------------------


def test_coefficients_are_values_without_their_scale():
    told = census_surrogate()
    assert np.allclose(told.coefficients * told.scales[None, :, None], told.values)
    flat = census_surrogate(scales=np.zeros(7))
    assert not flat.coefficients.any()


def test_the_greatest_slopes_come_first():
    told = make_surrogate([number("a"), number("b"), number("c")], outputs=("x", "y"))
    for row in range(2):
        for output in range(2):
            found = told.top(2, row, output)
            values = told.values[row, :, output]
            order = np.argsort(-np.abs(values))[:2]
            assert [one.name for one in found] == [told.features[j].name for j in order]
            assert [one.value for one in found] == values[order].tolist()
            assert all(one == (one.name, one.value, 0.02) for one in found)
    assert len(told.top()) == 3
    assert isinstance(told.top(1)[0], Slope)


def test_slopes_are_gathered_by_column():
    features = (number("age"), *levels("ward", "ABC"))
    values = np.array([[[2.0], [1.0], [4.0], [7.0]]] * 3)
    strengths = [[0.5, 0, 0, 1], [-1, 1, 0, 0], [0, 0, 0, 0]]
    errors = np.array([[[0.1], [0.3], [0.3], [math.inf]]] * 3)
    told = make_surrogate(
        features, 3, values=values, strengths=strengths, standard_errors=errors, scales=np.ones(4)
    )
    # The own level less the mean of 4; a row without a level is compared with it likewise.
    assert np.allclose(told.by_column()[:, :, 0], [[2, 3], [2, -3], [2, -4]])
    assert told.own.tolist() == [
        [False, False, False, True],
        [False, True, False, False],
        [False] * 4,
    ]
    assert np.isinf(told.by_column_errors()[:, 1]).all()
    known = replace(told, standard_errors=np.full((3, 4, 1), 0.3)).by_column_errors()
    assert np.allclose(known[:, 0], 0.3)
    assert np.allclose(known[0, 1], 0.3 * math.sqrt(4 / 9 + 2 / 9))
    assert census_surrogate(0).by_column().shape == (0, 4, 1)
    assert make_surrogate([]).by_column().shape == (2, 0, 1)


def test_doubt_is_two_standard_errors():
    told = make_surrogate(
        [number("a"), number("b"), number("c")],
        1,
        values=[[[0.1], [-0.3], [0.0]]],
        standard_errors=[[[0.06], [0.1], [0.0]]],
    )
    assert told.doubtful[0, :, 0].tolist() == [True, False, False]
    assert noise_text(told, 0, 0) == "Within the privacy noise, perhaps nothing: a (1 of 3)."


def test_outputs_are_ranked_by_what_the_black_box_says():
    told = make_surrogate([number("a")], 1, ("x", "y", "z"), scores=[[-0.2, 0.9, 0.1]])
    assert told.outputs_by_score(0) == (1, 2, 0)
    assert "the model says 0.9 for 'y', the highest" in str(told)
    assert "the highest of 3 scores" in str(told)


# -- words --------------------------------------------------------------------------------------


def test_words_are_found_as_whole_tokens_in_any_case():
    features = [number("film"), number("art"), *levels("text", ["Größe", "x"])]
    words = [find_word(one) for one in features]
    text = "Film, filmed art-house; GRÖSSE größe x <art>"
    pieces = list(split_text(text, words))
    assert "".join(one.text for one in pieces) == text
    found = [(one.text, one.feature) for one in pieces if one.feature is not None]
    # A single letter is no word, and neither is part of another.
    assert found == [("Film", 0), ("art", 1), ("größe", 2), ("art", 1)]
    assert list_words("A B cd, Cd! e_f") == {"cd", "e_f"}
    assert list(split_text("", words)) == []
    assert "".join(one.text for one in split_text("nothing known", words)) == "nothing known"


@pytest.mark.parametrize("most", range(1, 25))
def test_a_cut_text_ends_with_a_word(most):
    text = "superb filmography: no art"
    cut = cut_words(text, most)
    assert len(cut) <= most
    assert text.startswith(cut)
    assert list_words(cut) <= list_words(text)


def test_own_words_are_those_of_the_text():
    told = review_surrogate()
    names = {one.name for one, own in zip(told.features, told.own[0], strict=True) if own}
    assert names == {"brilliant", "wonderful", "awful", "bored", "film", "plot"}
    strengths = [[1, 1, -1, -0.5, -1, -1, -1, 0.2, -1]]
    untold = review_surrogate(texts=(), strengths=strengths)
    assert untold.own[0].tolist() == [value > 0 for value in strengths[0]]


# -- text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", CASES)
def test_the_text_is_readable(told):
    text = str(told)
    assert max(map(len, text.splitlines())) <= 100
    assert told.receipt.guarantee in text
    assert told.cost in text
    assert "How far to trust it" in text or not len(told)
    assert "nan" not in text
    assert "inf" not in text.replace("slope", "")


def test_the_text_tells_the_numbers_of_the_record():
    told = census_surrogate()
    lines = str(told).splitlines()
    for row in range(2):
        start = next(i for i, line in enumerate(lines) if line.startswith(f"Row {row + 1} of 2"))
        block = " ".join(lines[start : start + 20])
        error = float(told.intercept_errors[row, 0])
        local = noisy(float(told.intercepts[row, 0]), error, added=False)
        assert f"the surrogate says {local}." in block
        for j in told.ranked(row)[:8]:
            one, (step, change) = told.features[j], told.step(row, j)
            width = 1.0 if one.level is not None else step / (one.upper - one.lower)
            assert change == pytest.approx(told.values[row, j, 0] * width)
            number_text, _, noise = noisy(change, 0.02 * width).partition(" ")
            line = next(line for line in lines[start + 4 :] if one.name in line and "±" in line)
            assert line.endswith(f"{number_text} {noise}")
        for j in np.flatnonzero(told.own[row]):
            assert f"{OWN} {told.features[j].name}" in block
    assert str(told).count(OWN) == 1 + 2 * 2  # the note, and two categories of two rows
    assert "age is 0.25; 1 more" in str(told)


def test_the_text_stops_at_a_few_rows_and_features():
    told = make_surrogate([number(f"x{j}") for j in range(30)], 9)
    text = str(told)
    assert "... and 4 more rows: to_frame() has them all" in text
    assert text.count("and 22 smaller") == 5


def test_what_is_not_known_is_said():
    text = str(census_surrogate(error=math.inf, agreement=[[None]] * 2, distance=[None] * 2))
    assert "How much of a slope is privacy noise is not known." in text
    assert "± unknown" in text
    assert "agreement unknown" in text
    assert "distance unknown" in text


def test_noise_is_told_in_a_line():
    told = make_surrogate([number(f"x{j}") for j in range(8)], 1, error=5.0)
    assert noise_text(told, 0, 0).endswith("all 8 slopes.")
    errors = np.full((1, 8, 1), 5.0)
    errors[0, 3] = 0.0
    text = noise_text(replace(told, standard_errors=errors), 0, 0)
    assert text.endswith("and 2 more (7 of 8).")
    assert "x3" not in text
    assert noise_text(replace(told, standard_errors=0 * errors), 0, 0) == ""
    assert noise_text(picture_surrogate(error=9.0), 0, 0).endswith("all 30 slopes.")


def test_a_local_model_on_the_other_side_is_told():
    told = census_surrogate(1, scores=[[0.3]], intercepts=[[0.65]], units=PROBABILITY)
    text = local_score_text(told, 0, 0)
    assert text.startswith("At the row itself the surrogate says 65 % ± 4")
    assert "does not describe this answer" in text
    for other in (replace(told, scores=[[0.7]]), replace(told, units=OWN_UNIT)):
        assert "does not describe" not in local_score_text(other, 0, 0)
    assert "unknown" in local_score_text(replace(told, intercepts=[[None]]), 0, 0)
    bare = replace(told, has_intercept=False, intercepts=[[0.5]])
    assert "has no intercept: at the row itself it says the middle" in local_score_text(bare, 0, 0)


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(17, 90, 1), (0, 100, 1), (0, 99_999, 1000), (0, 1, 0.01), (-5, 5, 0.1), (0, 1e-6, 1e-8)],
)
def test_a_step_is_one_that_people_think_of(lower, upper, step):
    told = make_surrogate([number("x", lower, upper)], 1, values=[[[3.0]]])
    found, change = told.step(0, 0)
    assert found == pytest.approx(step)
    assert change == pytest.approx(3.0 * step / (upper - lower))
    assert "x is 0.25; " in str(told)
    points = make_surrogate([number("x", 0, 100)], 1, values=[[[0.3]]], units=PROBABILITY)
    assert "x is 0.25; 1 more     +0.30 ± 0.04" in str(points)


@pytest.mark.parametrize("answered", ANSWERS)
def test_how_a_row_was_answered_is_told(answered):
    told = census_surrogate(1, answered=(answered,), steps=(1,))
    text = answer_text(told, 0)
    assert text.startswith("Answered ")
    assert "{" not in text
    assert ("1 noisy gradient step on" in text) == (
        answered in ("interactive", "adaptive", "enhanced")
    )
    many = replace(told, steps=(1200,))
    assert ("1,200 noisy gradient steps" in answer_text(many, 0)) == ("step" in text)


def test_values_read_otherwise_are_told():
    read = (("90", "(other)", "", ""), ("",) * 4)
    text = str(census_surrogate(read_as=read))
    assert text.count("Read otherwise than given: age 0.25 as 90, workclass") == 1
    assert "age is 0.25 → 90; 1 more" in text


@pytest.mark.parametrize(
    ("facts", "verdicts"),
    [
        ((0.95, 0.8, 0.2, 0.3), [GOOD] * 4),
        ((0.9, 0.7, 0.3, 0.5), [GOOD] * 4),
        ((0.8, 0.5, 0.4, 0.9), [FAIR] * 4),
        ((0.6, 0.1, 0.9, 1.4), [POOR] * 4),
        ((0.6, -3.0, 0.0001, 1.4), [POOR] * 4),
        ((1.2, 1.3, 0.005, 0.0), [GOOD, GOOD, FAIR, GOOD]),
        ((None, math.nan, math.inf, None), [UNKNOWN] * 4),
    ],
)
def test_trust_has_verdicts(facts, verdicts):
    agreement, r2, effective_share, distance = facts
    told = census_surrogate(
        1,
        agreement=[[agreement]],
        r2=[[r2]],
        effective_share=[effective_share],
        distance=[distance],
    )
    readings = read_trust(told, 0, 0)
    assert [one.verdict for one in readings] == verdicts
    for one in readings[:2]:  # noise may carry an estimate beyond what a share can be
        assert one.number == "unknown" or 0 <= float(one.number.split()[0]) <= 100


def test_trust_tells_why_a_share_of_the_table_is_poor():
    told = census_surrogate(3, effective_share=[0.0001, 0.2, 0.95])
    words = [read_trust(told, row, 0)[2].words for row in range(3)]
    assert "few rows" in words[0]
    assert "part of the table" in words[1]
    assert words[2] == "this describes the whole table, not the surroundings of the row"


def test_without_a_guarantee_the_text_says_so():
    assert "no guarantee" in str(census_surrogate(receipt=make_receipt(math.inf)))
