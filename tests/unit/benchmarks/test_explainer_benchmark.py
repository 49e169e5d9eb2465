"""The explainer benchmark: losses are those of the library, ratios and noise are as defined."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from benchmarks.blackbox import budget as explainer_budget
from benchmarks.blackbox import data as explainer_data
from benchmarks.blackbox import loss as explainer_loss
from benchmarks.blackbox import models as explainer_models
from benchmarks.blackbox import quality as explainer
from benchmarks.blackbox import report as explainer_report
from benchmarks.blackbox import speed as explainer_speed
from benchmarks.blackbox import useful as explainer_useful
from benchmarks.blackbox.bars import Bar, Findings, bars, gain
from benchmarks.blackbox.loss import Constants, CrossCell, LossCell, Plan
from benchmarks.blackbox.measures import (
    DEFAULT,
    DELTA,
    PAPER,
    Estimate,
    Reference,
    equal_epsilon,
    open_explainer,
    shared,
)
from benchmarks.kit.data_folder import load_all
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.noise import fixed_noise


@pytest.fixture(scope="module")
def reference():
    task = explainer_data.made(300, 60)
    model = explainer_models.Remembered(explainer_models.forest(task, trees=10, depth=4))
    return Reference(task, model, task.ask(6))


@pytest.fixture(autouse=True)
def few_summaries(monkeypatch):
    monkeypatch.setattr(explainer_loss, "MORE_SUMMARIES", 1)


def loss_cell(strategy, loss, **facts):
    some = Estimate(loss, 0.0)
    cell = LossCell(
        "adult", "paper", strategy, 100, 5, 1.0, 4_500, 10, 1, some, 0.1, some, 0.9, 0.8, some,
        0.0, 0.0, 1.0, 0.1,
    )  # fmt: skip
    return replace(cell, **facts)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [PAPER, DEFAULT])
def test_losses_are_those_of_the_library(reference, setting):
    task = reference.task
    made = open_explainer(task, reference.model, "summary", 2.0, setting).explainer
    expected = made.quality(task.rows, asked=reference.asked).overall
    found = reference.measure(made.explain_slopes(reference.asked), setting)
    assert found.loss.mean() == pytest.approx(expected.loss, rel=1e-6)
    assert found.agreement.mean() == pytest.approx(expected.agreement)
    assert found.best_agreement.mean() == pytest.approx(expected.best_agreement)
    assert found.shared.mean() == pytest.approx(expected.shared)
    assert found.effective.mean() == pytest.approx(expected.effective_share, rel=1e-5)
    assert (found.zero > 0).all()
    assert (found.loss > -1e-9).all()


@pytest.mark.slow
def test_settings_of_a_shared_summary_are_each_their_own(reference):
    task = reference.task
    plan = Plan(3, 3, 1)
    both = explainer_loss.losses(reference, (PAPER, DEFAULT), (50.0,), ("summary",), plan)
    alone = explainer_loss.losses(reference, (DEFAULT,), (50.0,), ("summary",), plan)
    assert [one.setting for one in both] == ["paper", "default"]
    # A radius that was kept from the other setting would cost far more than the noise.
    assert both[1].loss.value < 0.02 * both[1].zero
    assert alone[0].loss.value < 0.02 * alone[0].zero
    assert DEFAULT.options(task)["radius"] > PAPER.options(task)["radius"]


def test_errors_are_over_rows_and_over_seeds():
    values = np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    found = Estimate.of(values)
    assert found.value == 3.0
    assert found.error == pytest.approx(np.std([2, 3, 4], ddof=1) / math.sqrt(3))
    assert found.seed_error == pytest.approx(np.std([2, 4], ddof=1) / math.sqrt(2))
    assert Estimate.of([1.0, 2.0]).seed_error is None


def test_top_five_are_by_size():
    one = np.array([9.0, -8.0, 7.0, 0.1, 6.0, 5.0, 0.0])
    other = np.array([9.0, 8.0, 0.0, 7.0, 0.0, -6.0, 5.0])
    assert shared(one, other) == 3
    assert shared(one, one) == 5


@pytest.mark.parametrize(("epsilon", "queries", "asked"), [(1.0, 1, 30), (0.1, 10, 30)])
def test_a_budget_for_many_rows_has_the_noise_of_one_question(epsilon, queries, asked):
    inner = DELTA * 0.9
    more = equal_epsilon(epsilon, queries, asked)
    assert mu_of(more, inner) ** 2 / asked == pytest.approx(
        mu_of(epsilon, inner) ** 2 / queries, rel=1e-6
    )


def test_equal_noise_is_equal_in_the_explainer(reference):
    def noise(epsilon, queries):
        made = open_explainer(
            reference.task, reference.model, "interactive", epsilon, PAPER, queries=queries
        )
        return made.explainer._opened.reader.noise

    # The number of rows is released with noise, so that they are not equal to the last digit.
    assert noise(equal_epsilon(5.0, 2, 20), 20) == pytest.approx(noise(5.0, 2), rel=0.2)


def test_the_published_noise_is_the_papers():
    T, c = 300, 1.0
    each = 0.1 / math.sqrt(8 * T * math.log(1e6))
    expected = c * math.sqrt(2 * math.log(2.5 * T / 1e-6)) / each
    assert explainer_budget.published_noise(0.1) == pytest.approx(expected)
    row = explainer_budget.noise_rows((0.1,))[0]
    assert row.ratio == row.published / row.ours
    # T Gaussian releases compose exactly; a tenth of delta is the filter's.
    assert row.ours == pytest.approx(math.sqrt(T) / mu_of(0.1, 0.9 * DELTA), rel=3e-3)
    assert row.ratio > 10


def test_ratios_are_of_the_same_set_setting_and_epsilon():
    cells = [
        loss_cell("summary", 2e-5),
        loss_cell("interactive", 8e-3),
        loss_cell("summary", 5e-4, epsilon=0.1),
        loss_cell("interactive", 5e-2, epsilon=0.1),
        loss_cell("summary", 1.0, set="imdb"),
    ]
    assert gain(cells, cells[0]) == pytest.approx(400)
    assert gain(cells, cells[3]) == pytest.approx(100)
    assert gain(cells, cells[0], "summary") == 1.0
    assert math.isnan(gain(cells, cells[4]))
    found = bars(Findings({}, losses=cells))
    assert [one.limit for one in found] == [1e-4, 100.0, 1e-3]
    assert all(one.holds for one in found)


def test_bars_hold_or_fall_short():
    assert Bar("loss", 1e-4, 1e-4).verdict == "holds"
    assert Bar("loss", 2e-4, 1e-4).verdict == "falls short"
    assert Bar("gain", 101, 100, at_most=False).verdict == "holds"
    assert Bar("gain", math.nan, 100, at_most=False).verdict == "falls short"


def test_lines_meet_where_the_summary_becomes_better():
    line = {1: 1e-4, 10: 1e-3, 100: 1e-2}
    assert explainer_loss.meet(line, 1e-3) == pytest.approx(10)
    assert explainer_loss.meet(line, 10**-2.5) == pytest.approx(10**1.5)
    assert explainer_loss.meet(line, 5e-5) == pytest.approx(0.5)
    assert explainer_loss.meet(line, 1.0) == math.inf


def test_constants_that_made_the_losses_are_found_again():
    rows, cells = 1_000, []
    for epsilon in (1.0, 10.0, 30.0):
        strength = (rows * mu_of(epsilon, DELTA)) ** 2
        for n in (1, 10, 1_000):
            losses = {"summary": 2e-5 + 900 / strength, "release": 500 * n / strength}
            cells += [
                CrossCell("made", epsilon, strategy, n, Estimate(loss, 0.0), 1e9)
                for strategy, loss in losses.items()
            ]
    found = explainer_loss.fit_constants(cells, rows)
    expected = Constants("made", 500.0, 900.0, 2e-5)
    assert tuple(asdict(found).values())[1:] == pytest.approx(tuple(asdict(expected).values())[1:])
    crossed = explainer_loss.crossings(cells, rows)
    assert [one.epsilon for one in crossed] == [1.0, 10.0, 30.0]
    assert [one.release for one in crossed] == pytest.approx(
        [(2e-5 * (rows * mu_of(e, DELTA)) ** 2 + 900) / 500 for e in (1.0, 10.0, 30.0)]
    )
    assert math.isnan(explainer_loss.fit_constants(cells[:1], rows).release)


@pytest.mark.slow
def test_crossing_cells_share_the_loss_of_one_summary(reference):
    cells = explainer_loss.crossing_cells(reference, (5.0,), Plan(3, 3, 1), (1, 50))
    assert [(one.strategy, one.queries) for one in cells] == [
        (strategy, n) for strategy in explainer_loss.STRATEGIES for n in (1, 50)
    ]
    assert cells[0].loss == cells[1].loss
    assert cells[2].loss.value < cells[3].loss.value


def test_epsilon_is_told_question_by_question(reference):
    many = Reference(reference.task, reference.model, reference.task.ask(8))
    # The row count is released with noise, which is large for so few rows.
    with fixed_noise(3):
        plain, eager = explainer_budget.curves(many, 5, 2, strategies=("interactive", "enhanced"))
    assert plain.counts == (1, 3, 5)
    assert list(plain.epsilons) == sorted(plain.epsilons)
    assert plain.noise_length == pytest.approx(explainer_budget.NOISE_LENGTH, rel=0.2)
    assert (plain.steps, plain.reused, plain.offline) == (300.0, 0.0, 0.0)
    assert eager.spent < plain.spent
    assert eager.steps <= eager.steps_computed
    found = bars(Findings({}, curves=[plain, eager]))
    assert [one.value for one in found] == [eager.spent / plain.spent]
    after = explainer_budget.offline(many, 5, 2, 2)
    assert after.before.value < after.zero


@pytest.mark.slow
def test_density_has_quarters_and_groups_have_rows(reference):
    quarters = explainer_useful.density(reference, 1.0, Plan(6, 6, 1), (PAPER,), ("summary",))
    assert [one.quarter for one in quarters] == [1, 2, 3, 4]
    assert [one.effective for one in quarters] == sorted(one.effective for one in quarters)
    found = explainer_useful.groups(reference, 1.0, ("sex",), 20, 2, (PAPER,))
    assert [one.group for one in found] == ["Female", "Male", "all"]
    assert found[0].asked + found[1].asked == found[2].asked == 20


def test_columns_add_up_what_their_features_add(reference):
    phi = np.arange(1.0, reference.features + 1)
    z = reference.places[0]
    found = explainer_useful.by_column(reference, phi, z)
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(phi @ (z - reference.points.mean(axis=0)))


def test_peers_are_compared_by_what_is_shared(reference, monkeypatch):
    def exactly(task, model, rows):
        return [
            explainer_useful.by_column(
                reference, reference.exact(PAPER, k).theta, reference.places[k]
            )
            for k in range(len(rows))
        ]

    monkeypatch.setattr(explainer_useful, "shap_columns", exactly)
    found = explainer_useful.peer_cells(reference, "SHAP", 5.0, 2, 1)
    assert [one.setting for one in found] == ["paper", "default"]
    assert found[0].exact == Estimate(4.0, 0.0, None)  # there are but four columns
    assert found[0].chance == 25 / 4


def test_other_models_are_explained(reference):
    task = reference.task
    model = explainer_models.private("EBM", task, 2.0)
    found = explainer_useful.explain_model(
        task, model, reference.asked, ("EBM", "eps 2"), 5.0, Plan(3, 3, 1), ("summary",)
    )
    assert {(one.kind, one.trained, one.strategy) for one in found} == {("EBM", "eps 2", "summary")}
    assert {one.setting for one in found} == {"paper", "default"}
    assert found[0].accuracy > 0.5


def test_seconds_and_memory_are_told_of_every_strategy(monkeypatch):
    monkeypatch.setattr(explainer_speed, "QUESTIONS", 3)
    monkeypatch.setattr(explainer_speed, "FEW_QUESTIONS", 3)
    found = [*explainer_speed.time_summary(500, 3), *explainer_speed.time_rows(500, 3)]
    speeds = [explainer_speed.Speed(**one) for one in found]
    names = ["summary", "release", "interactive", "direct loop"]
    assert [one.strategy for one in speeds] == names
    assert all(one.each > 0 and one.peak_megabytes > 0 for one in speeds)
    # A small table tells nothing about the demands.
    assert bars(Findings({}, speeds=speeds)) == []
    told = bars(Findings({}, speeds=[replace(one, rows=100_000) for one in speeds]))
    assert told[3].value == pytest.approx(speeds[3].each / speeds[0].each)
    assert "direct loop" in explainer_report.speed_text(Findings({}, speeds=speeds))


def test_the_direct_loop_goes_where_the_exact_solution_is(reference):
    exact = reference.exact(PAPER, 0)
    phi = explainer_speed.direct_loop(reference.points, reference.labels, reference.places[0])
    assert exact.loss(phi) - exact.loss(exact.theta) < 1e-3 * -exact.loss(exact.theta)


@pytest.mark.slow
def test_a_run_writes_records_tables_and_plots(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(explainer_data, "made", lambda: explainer_data_made(200, 40))
    monkeypatch.setattr(explainer_useful, "installed", lambda name: False)
    path, plots = tmp_path / "records" / "found.json", tmp_path / "plots"
    status = explainer.main(
        f"--sets made --only loss,useful,groups --trees 5 --asked 3 --slow 2 --seeds 1 --eps 1 "
        f"--strategies summary,interactive --settings paper --json {path} --plots {plots}".split()
    )
    said = capsys.readouterr()
    assert status == 0, said.err
    records = json.loads(path.read_text())
    assert [(one["strategy"], one["asked"]) for one in records["losses"]] == [
        ("summary", 3), ("interactive", 2),
    ]  # fmt: skip
    assert {one["by"] for one in records["groups"]} == {"sex", "race"}
    assert records["absent"] == ["SHAP on made: pip install shap"]
    assert "Skipped: SHAP on made" in said.out
    assert [one["verdict"] for one in records["bars"]]
    assert {one.name for one in plots.iterdir()} == {"explainer.md"}
    assert "utility loss" in said.out
    assert "depends on the number of queries alone" in said.out


explainer_data_made = explainer_data.made


def test_losses_by_number_of_questions_are_drawn(tmp_path):
    loss = Estimate(0.01, 0.001, None)
    crosses = [CrossCell("adult", 1.0, "summary", count, loss, 0.1) for count in (1, 10)]
    explainer_report.write(Findings({}, crosses=crosses), None, tmp_path)
    assert "summary" in (tmp_path / "explainer.html").read_text()


def test_a_failure_is_told_and_makes_the_status(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(explainer_data, "made", lambda: explainer_data_made(100, 20))
    monkeypatch.setitem(explainer.RUNS, "loss", fail)
    arguments = ["--sets", "made", "--only", "loss", "--trees", "5", "--asked", "2"]
    assert explainer.main(arguments) == 1
    assert "FAILED: loss on made: RuntimeError: broken" in capsys.readouterr().out


def test_a_missing_set_is_skipped_and_said_to_be(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VOILE_DATA", str(tmp_path))
    assert list(load_all(explainer_data.load, ["adult", "fer"])) == []
    said = capsys.readouterr().err
    assert "skipped adult" in said
    assert "skipped fer" in said


@pytest.mark.parametrize("wrong", ["--sets nowhere", "--only nothing", "--asked 0 --seeds -1"])
def test_unknown_choices_are_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        explainer.parse(wrong.split())
    assert "choose from" in capsys.readouterr().err or "--seeds" in wrong


def test_pictures_are_halved_by_means():
    pictures = np.arange(32.0).reshape(2, 4, 4)
    found = explainer_data.halve(pictures)
    assert found.shape == (2, 2, 2)
    assert found[0, 0, 0] == np.mean([0, 1, 4, 5])
