"""The benchmark of locally linear maps: jobs are what was asked for, tables are sound."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.ebm.data import DataSet
from benchmarks.kit.data_folder import load_all
from benchmarks.locally_linear import data, entrants, report, speed
from benchmarks.locally_linear import opacus_ways as opacus
from benchmarks.locally_linear import quality as locally_linear
from voile import Category, Number, Schema
from voile.errors import SettingError

FEW_STEPS = {"steps": 3, "maps": 2}


@pytest.fixture(scope="module")
def pictures():
    """Bright above or bright below, 6 x 6."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 900)
    rows = rng.integers(0, 60, (900, 6, 6))
    for k in (0, 1):
        rows[classes == k, 3 * k : 3 * k + 3] += 150
    rows = rows.astype(np.uint8)
    split = data.Split(rows[:600], classes[:600], rows[600:], classes[600:])
    return data.Task("mnist", "made up", 36, lambda seed: split, (0, 1), image_shape=(6, 6))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 10, 400), "b": rng.choice(["x", "y"], 400)})
    target = (frame["a"] > 5).to_numpy().astype(np.int64)
    schema = Schema({"a": Number(0, 10), "b": Category(["x", "y"])}, target=Category([0, 1]))
    one = DataSet("telco_churn", "binary", frame, target, schema, "made up")
    return data.Task(
        "telco_churn", "made up", 2, lambda seed: data.split_of(one, seed), (0, 1), schema=schema
    )


@pytest.fixture
def lesson():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 5)) / 2
    start = np.repeat(rng.normal(0, 2, (1, 4, 5)), 3, axis=0)
    return opacus.Lesson(points, rng.integers(0, 3, 30), start, 0.7, 0.3, 0.0, 1.0, 0.1)


def quick_variant(name, group="preset", at=None, **settings):
    return entrants.Variant(name, name, group, FEW_STEPS | settings, at)


def made_race(**seconds):
    return speed.Race(
        60_000, 144, 10, 20, 6_000, 300, seconds, {}, dict.fromkeys(seconds, "-"), {}, 0
    )


def job_of(*arguments):
    return locally_linear.jobs(locally_linear.parse(list(arguments)))


def test_a_row_adds_no_more_than_the_clip(lesson):
    from dataclasses import replace

    for k in range(30):
        one = replace(lesson, points=lesson.points[[k]], classes=lesson.classes[[k]])
        assert np.linalg.norm(opacus.clipped_sum(one)) <= lesson.clip + 1e-9


def test_unclipped_sums_are_the_gradient_of_the_loss(lesson):
    from dataclasses import replace

    from scipy.special import log_softmax, softmax

    def loss(start):
        scores = np.einsum("nd,kmd->nkm", lesson.points, start)
        blended = (softmax(lesson.beta * scores, axis=2) * scores).sum(axis=2)
        return -log_softmax(blended, axis=1)[np.arange(30), lesson.classes].sum()

    found = opacus.clipped_sum(replace(lesson, clip=1e9))
    for place in ((0, 0, 0), (1, 3, 2), (2, 1, 4)):
        step = np.zeros(lesson.start.shape)
        step[place] = 1e-5
        slope = (loss(lesson.start + step) - loss(lesson.start - step)) / 2e-5
        assert found[place] == pytest.approx(slope, rel=1e-5)


def test_clipped_sums_are_those_of_the_library(lesson):
    from dataclasses import replace

    from voile.models.locally_linear import kernels

    points = np.round(lesson.points[:, :-1] / 4 * 2**11).astype(np.int16)
    exact = np.column_stack([points / 2**11, np.full(30, 0.25)])
    scores = (exact @ lesson.start.reshape(12, 5).T).astype(np.float32)
    out = np.empty((30, 1, 12))
    kernels.blend_copies(
        scores[:, None],
        points[:, None],
        lesson.classes,
        3,
        4,
        np.float32(1.0),
        np.float32(lesson.beta),
        float((2**11 * 0.25) ** 2),
        lesson.clip,
        32.0,
        2.0**20,
        out,
    )
    found = np.einsum("nj,nd->jd", out[:, 0] / 2**20, exact).reshape(3, 4, 5)
    assert np.allclose(found, opacus.clipped_sum(replace(lesson, points=exact)), atol=1e-3)


@pytest.mark.parametrize("way", opacus.WAYS, ids=lambda way: way.name)
def test_every_way_of_opacus_finds_the_same_sum(lesson, way, monkeypatch):
    if not opacus.installed():
        pytest.skip("needs opacus")
    trainer, found = opacus.Trainer(way, lesson), []
    weight = trainer.module.linear.weight
    monkeypatch.setattr(
        trainer.optimizer.original_optimizer,
        "step",
        lambda *ignored: found.append(weight.grad.numpy().copy()),
    )
    trainer.train(1)
    assert np.allclose(found[0].reshape(lesson.start.shape), opacus.clipped_sum(lesson), atol=1e-5)


@pytest.mark.slow
def test_a_set_runs_from_jobs_to_files(pictures, tmp_path):
    turns = (
        (quick_variant("accurate"), 8.0),
        (quick_variant("accurate"), math.inf),
        (quick_variant("maps_1", "maps", 1, maps=1), 8.0),
        (quick_variant("projection_9", "projection", 9, projection=9), 8.0),
        (quick_variant("shared_9", "shared", 9, projection=9, shared_projection=True), 8.0),
        (quick_variant("broken", copies=True, projection=9), 8.0),
    )
    seen = []
    job = locally_linear.Job("mnist", turns, 2)
    result = locally_linear.compare(pictures, job, seen.append)
    assert len(seen) == 2
    assert seen[-1] == result
    assert [len(cell.accuracies) for cell in result.cells] == [2, 2, 2, 2, 2, 0]
    assert result.cells[-1].refused
    assert result.cell("accurate", math.inf).accuracies[0] > 0.9
    # Two classes have an area under the curve.
    assert len(result.cells[0].areas) == 2
    found = report.Findings({"seeds": 2}, [result])
    assert not found.failed
    report.write(found, tmp_path)
    names = {f"locally_linear.{end}" for end in ("json", "md")}
    assert {path.name for path in tmp_path.iterdir()} == names
    read = json.loads((tmp_path / "locally_linear.json").read_text())
    assert [cell["epsilon"] for cell in read["sets"][0]["cells"]][:2] == [8.0, "inf"]
    text = (tmp_path / "locally_linear.md").read_text()
    assert "| mnist (600 x 36) | accurate |" in text
    assert "accuracy by maps per class" in text
    assert "refused" in text


def test_tables_have_a_schema_and_a_peer(table):
    turns = ((quick_variant("accurate"), math.inf), (entrants.LOGISTIC, math.inf))
    result = locally_linear.compare(table, locally_linear.Job("telco_churn", turns, 2))
    ours, peer = result.cells
    assert len(ours.areas) == len(peer.areas) == 2
    assert min(peer.accuracies) > 0.9
    text = report.markdown(report.Findings({}, [result]))
    assert "Area under the ROC curve" in text
    assert "logistic regression" in text


def test_a_failure_is_a_failure_and_a_refusal_is_none():
    variant = quick_variant("accurate")
    for error, failed in ((RuntimeError("broken"), True), (SettingError("declined"), False)):
        cell = locally_linear.gather(variant, 2.0, [error])
        result = report.SetResult("mnist", True, 9, 9, 9, 1e-5, "", (cell,), None)
        assert report.Findings({}, [result]).failed == failed


def test_papers_figures_stand_at_their_epsilons():
    cells = tuple(
        report.Cell("accurate", "Voile", "preset", None, eps, (0.9, 0.92))
        for eps in (0.5, 1.0, 2.0)
    )
    result = report.SetResult("mnist", True, 60_000, 784, 10_000, 1e-5, "", cells, None)
    text = report.score_table([result])
    assert "| Voile | 91.00 ± 1.41 | 91.00 ± 1.41 | 91.00 ± 1.41 |" in text
    assert "the paper's figures | 91.8 | - | 94.2 |" in text


def test_the_ratio_is_that_of_the_fastest_way():
    race = made_race(**{speed.OURS: 10.0, speed.OUR_STEPS: 5.0, "slow": 900.0, "ghost": 30.0})
    assert race.fastest == "ghost"
    assert race.ratio(speed.OURS) == 3.0
    assert race.ratio(speed.OUR_STEPS) == 6.0
    fresh = [speed.FreshFit("plain", 9.0, 300.0, 2_500.0, 0.0)]
    found = report.Findings({}, race=race, fresh=fresh)
    assert [row[-1] for row in report.bars(found)] == ["no", "no", "yes", "no"]
    assert found.to_dict()["race"]["ratios"] == {"whole_fit": 3.0, "steps": 6.0}
    assert "| ghost | 30 s | - | 3.0 | 6.0 |" in report.markdown(found)


def test_without_opacus_there_is_no_ratio():
    race = made_race(**{speed.OURS: 10.0, speed.OUR_STEPS: 5.0})
    assert race.ratio(speed.OURS) is None
    assert report.bars(report.Findings({}, race=race)) == []


def test_jobs_are_what_was_asked_for():
    (one,) = job_of("--sets", "mnist", "--eps", "2,inf", "--maps", "1,5", "--projections", "50")
    found = [(variant.name, eps) for variant, eps in one.turns]
    points = ("accurate", "no_copies", "maps_1", "maps_5", "projection_50", "shared_50")
    assert found == [(name, eps) for name in points for eps in (2.0, math.inf)]
    assert one.seeds == 3
    (one,) = job_of("--sets", "adult", "--eps", "1", "--presets", "--seeds", "2")
    assert [variant.name for variant, _ in one.turns] == ["accurate", "readable", "logistic"]
    (one,) = job_of("--sets", "fer", "--models", "none", "--maps")
    assert {variant.at for variant, _ in one.turns} == set(entrants.MAPS)


def test_quick_runs_few_and_speed_alone_none():
    assert [job.name for job in job_of("--quick")] == list(locally_linear.QUICK_SETS)
    assert all(job.seeds == 1 for job in job_of("--quick"))
    assert job_of("--speed") == []
    assert {job.name for job in job_of()} == set(data.NAMES)


def test_unknown_sets_are_refused(capsys):
    with pytest.raises(SystemExit):
        locally_linear.parse(["--sets", "nothing"])
    assert "there is no set 'nothing'" in capsys.readouterr().err


def test_a_missing_set_is_skipped_and_said_to_be(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VOILE_DATA", str(tmp_path))
    assert list(load_all(data.load, ["fer", "adult"])) == []
    said = capsys.readouterr().err
    assert "skipped fer" in said
    assert "skipped adult" in said


def test_every_fold_of_a_table_is_another_seed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(size=50)})
    schema = Schema({"a": Number(0, 1)}, target=Category([0, 1]))
    for name in ("segment", "adult"):
        one = DataSet(name, "binary", frame, np.arange(50), schema, "")
        parts = [data.split_of(one, seed) for seed in range(6)]
        assert all(len(part.classes) == 40 for part in parts)
        assert len({tuple(part.test_classes) for part in parts}) == 6
        assert not set(parts[5].classes) & set(parts[5].test_classes)
