"""The record of an explainer's quality: figures by group, its text, JSON and page."""

import json
import math

import numpy as np
import pytest
from surrogate_records import census_surrogate

from voile.explain.blackbox.answers.answer import Answer, unknown
from voile.explain.blackbox.quality import Quality, measure_quality
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.local_fit import fit_local
from voile.explain.blackbox.solvers.weights import read_weight

SETTINGS = Settings("summary", read_weight("stable"), 2.5, True, 10, 300, 1, False, 0)


def rows(count=400, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.5, 0.5, (count, 3))
    return points, np.tanh(3 * points[:, :1] - points[:, 1:2])


def answer(point, phi, offset):
    return Answer(
        point=np.round(point * ONE).astype(np.int32),
        phi=phi,
        errors=np.zeros_like(phi),
        offset=offset,
        offset_errors=np.zeros_like(offset),
        agreement=unknown(1),
        r2=unknown(1),
        effective_share=math.inf,
        distance=math.inf,
        answered="summary",
    )


def best(point, points, labels):
    moved = points - np.round(point * ONE) / ONE
    near = SETTINGS.weight.at(np.linalg.norm(moved, axis=1))
    u = np.column_stack([moved, np.ones(len(moved))])
    weighed = u * (2 * near)[:, None] / len(u)
    fit = fit_local(weighed.T @ u, weighed.T @ labels, radius=2.5, intercept=True)
    return answer(point, fit.phi, fit.offset)


def measured(groups=None):
    points, labels = rows()
    good = [best(point, points, labels) for point in points[:4]]
    poor = [
        answer(point, 0 * one.phi, 0 * one.offset)
        for point, one in zip(points[4:8], good, strict=True)
    ]
    return measure_quality(
        [*good, *poor], points, labels, SETTINGS, census_surrogate().receipt, groups, "kind"
    )


def test_the_best_answer_loses_nothing_and_no_answer_much():
    quality = measured(["good"] * 4 + ["<poor>"] * 4)
    poor, good = quality.groups
    assert (poor.group, good.group, poor.rows, good.rows) == ("<poor>", "good", 4, 4)
    assert good.loss == pytest.approx(0, abs=1e-9)
    assert good.shared == 3
    assert good.agreement == pytest.approx(good.best_agreement)
    points, labels = rows()
    near = SETTINGS.weight.at(np.linalg.norm(points - points[4], axis=1))
    assert 0.02 < poor.loss < float((near * labels[:, 0] ** 2).mean()) * 1.5
    assert quality.worst is poor
    assert quality.overall.rows == 8
    assert quality.overall.loss == pytest.approx((poor.loss + good.loss) / 2)


def test_forms():
    quality = measured(["good"] * 4 + ["<poor>"] * 4)
    data = json.loads(quality.to_json())
    assert [one["group"] for one in data["groups"]] == ["<poor>", "good"]
    assert data["overall"]["rows"] == 8
    assert data["receipt"] == quality.receipt.to_dict()
    assert "by kind" in str(quality)
    assert len(quality.to_frame()) == 3


def test_the_page_says_who_pays_most(tmp_path):
    quality = measured(["good"] * 4 + ["<poor>"] * 4)
    page = quality.to_html(tmp_path / "quality.html").read_text()
    assert "&lt;poor&gt;" in page
    assert "<poor>" not in page
    assert "pays most" in page
    assert "pays most" not in measured().to_html(tmp_path / "all.html").read_text()
    assert "iframe" in quality._repr_html_()


def test_without_groups_the_worst_is_all():
    quality = measured()
    assert isinstance(quality, Quality)
    assert quality.groups == ()
    assert quality.worst is quality.overall
