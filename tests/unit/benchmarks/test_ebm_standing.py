"""Where ours stands among peers is counted as said; every entrant builds and is scored alike."""

import numpy as np
import pytest

from benchmarks.ebm import data as ebm_data
from benchmarks.ebm import linear, peers, quality, report
from benchmarks.ebm.cells import LABELS, Cell, SetResult
from benchmarks.ebm.standing import behind, is_clear, outcome_table, standing_text


def result(name, metric, **scores):
    cells = tuple(
        Cell(model, None if model.startswith("ceiling") else 1.0, scores=tuple(found))
        for model, found in scores.items()
    )
    task = "regression" if metric == "RMSE" else "binary"
    return SetResult(name, task, metric, 100, 3, "", cells, {}, None)


AHEAD = result(
    "won", "AUROC", ours=(0.9, 0.91), incumbent=(0.8, 0.81), linear=(0.7, 0.7), ceiling=(0.99,)
)
LOST = result("lost", "RMSE", ours=(2.0, 2.2), incumbent=(2.5, 2.5), few_rounds=(1.9, 2.1))
BARELY = result("barely", "RMSE", ours=(2.0, 2.4), incumbent=(2.1, 2.35))


def test_ours_is_ahead_only_where_no_private_peer_is_better():
    assert behind(AHEAD, 1.0) == []
    assert behind(LOST, 1.0) == ["few_rounds"]
    assert is_clear(AHEAD, 1.0)
    assert not is_clear(BARELY, 1.0)


def test_the_summary_counts_and_names_what_is_lost():
    text = standing_text([AHEAD, LOST, BARELY])
    assert "on 2 of 3 pairs" in text
    assert "on 1 by more than 2" in text
    assert f"lost at 1 ({LABELS['few_rounds']})" in text
    assert "won at" not in text


def test_other_measures_are_counted_where_there_are_any():
    cells = tuple(
        Cell(model, 1.0, scores=(0.9 - i / 10,), losses=(loss,), error_rates=(0.1 + i / 10,))
        for i, (model, loss) in enumerate([("ours", 0.5), ("incumbent", 0.4), ("linear", 0.6)])
    )
    text = standing_text([SetResult("one", "binary", "AUROC", 9, 1, "", cells, {}, None)])
    assert "log loss or RMSE on 0 of 1, error rate on 1 of 1." in text


def test_ours_without_pairs_and_models_without_privacy_are_no_peers():
    only = result("alone", "AUROC", ours=(0.7,), ours_additive=(0.8,), ceiling=(0.99,))
    assert standing_text([only]) == ""


def test_a_failed_split_is_no_contest_won():
    half = result("half", "AUROC", ours=(0.9, 0.9), incumbent=(0.8,))
    assert not is_clear(half, 1.0)


def test_every_model_has_a_label():
    assert set(peers.ENTRANTS) | {"linear"} == set(LABELS)


def test_tables_show_every_model_and_measure():
    shown = report.accuracy_table([AHEAD, LOST])
    for model in ("ours", "incumbent", "linear", "few_rounds"):
        assert LABELS[model] in shown
    assert "0.9900 (1 split)" in shown
    assert outcome_table([result("plain", "AUROC", ours=(0.9,), incumbent=(0.8,))]) == ""
    assert "0.9050" in outcome_table([AHEAD])


@pytest.mark.parametrize("name", ["sum_of_levels", "switches"])
def test_peers_that_need_nothing_else_learn_made_up_tables(name):
    one = ebm_data.load(name, 3_000)
    entrants = [peers.ENTRANTS[m] for m in ("few_rounds", "random_trees", "ceiling_trees")]
    found = quality.compare(one, entrants, [4.0], 1)
    assert {cell.model for cell in found.cells if cell.scores} == {e.name for e in entrants}
    chance = 0.5 if one.task == "binary" else one.target.std()
    best = found.cell("ceiling_trees", None).scores[0]
    assert best > chance if one.task == "binary" else best < chance
    assert all(len(cell.losses) == 1 for cell in found.cells)
    wanted = 1 if one.task == "binary" else 0
    assert all(len(cell.error_rates) == wanted for cell in found.cells)


def test_scores_are_those_of_the_right_rows():
    one = ebm_data.load("sum_of_levels", 3_000)

    class Knows:
        def predict_proba(self, features):
            yes = one.target[features.index]
            return np.stack([1 - yes, yes], axis=1).astype(float)

    found = peers.score(one, Knows(), one.frame, np.arange(500, 900))
    assert found.score == 1
    assert found.error_rate == 0
    assert found.loss == pytest.approx(0, abs=1e-6)


def test_a_python_without_diffprivlib_is_left_out_and_said_to_be(tmp_path):
    assert linear.version(str(tmp_path / "no-python")) is None
    wanted = peers.Wanted(peers=True, ceiling=False, every=True, linear=str(tmp_path / "none"))
    entrants, absent = peers.present(wanted)
    assert "linear" not in {one.name for one in entrants}
    assert any(text.startswith("linear:") and "--linear" in text for text in absent)
    assert {one.name for one in entrants} >= {"ours", "ours_cyclic", "few_rounds"}


def test_without_options_the_usual_models_run():
    entrants, _ = peers.present(peers.Wanted())
    assert {one.name for one in entrants} <= {"ours", "incumbent", "ceiling"}
    assert "adult_all" not in quality.parse([]).sets
    assert quality.parse(["--sets", "friedman1,adult_all"]).sets == ("friedman1", "adult_all")


def test_made_up_tables_are_sets_like_any_other():
    for name in ("friedman1", "five_kinds", "nothing", "skewed"):
        one = ebm_data.load(name, 1_200)
        assert list(one.schema) == list(one.frame.columns)
        if one.task == "regression":
            assert one.schema.target.lower <= one.target.min()
            assert one.target.max() <= one.schema.target.upper
        else:
            assert set(one.target) <= set(one.schema.target.levels)
        assert one.task == ("multiclass" if name == "five_kinds" else one.task)
