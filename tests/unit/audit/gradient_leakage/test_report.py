"""Measures of rebuilt images, and the report on several ways of sending updates."""

import json
import math

import numpy as np
import pytest
import torch

from voile.audit.gradient_leakage import (
    SeenUpdate,
    gaussian,
    leakage_report,
    leaky_net,
    measure_images,
    psnr,
    ssim,
    un_noised,
)
from voile.audit.gradient_leakage.findings import HEAD, NO_GUARANTEE
from voile.audit.gradient_leakage.gradients import example_gradients
from voile.errors import DataError, SettingError
from voile.privacy import noise
from voile.report.audit import leakage as leakage_page

CHANCE = np.random.default_rng(5)
IMAGES = CHANCE.uniform(0, 1, (4, 1, 8, 8))
LABELS = np.array([0, 2, 1, 0])
NET = leaky_net("mlp", (1, 8, 8), 3)


@pytest.fixture(scope="module")
def report():
    torch.set_num_threads(1)
    modes = {"raw <b>": un_noised(), "noised": gaussian(1.0, 1.0), "noised lot": gaussian(1, 1, 3)}
    with noise.fixed_noise(3):
        return leakage_report(
            NET, IMAGES, LABELS, modes, targets=2, steps=20, restarts=1, most=2,
            public_mean=IMAGES.mean(axis=0),
        )  # fmt: skip


# --- measures -------------------------------------------------------------------------------------


def test_psnr_is_what_it_is_defined_to_be():
    truth = IMAGES[0, 0]
    assert psnr(truth, truth) == 120
    assert psnr(truth, np.clip(truth + 0.1, -1, 2)) == pytest.approx(20)
    with pytest.raises(DataError):
        psnr(truth, truth[:4])


@pytest.mark.parametrize("side", [5, 8, 28])
def test_ssim_agrees_with_another_implementation(side):
    metrics = pytest.importorskip("skimage.metrics")
    truth = np.random.default_rng(side).uniform(0, 1, (side, side))
    near = np.clip(truth + np.random.default_rng(1).normal(0, 0.1, truth.shape), 0, 1)
    window = min(7, side)
    expected = metrics.structural_similarity(near, truth, data_range=1.0, win_size=window)
    assert ssim(near, truth) == pytest.approx(expected, abs=1e-9)
    channels = metrics.structural_similarity(
        np.stack([near, truth]), np.stack([truth, truth]), data_range=1.0, win_size=window,
        channel_axis=0,
    )  # fmt: skip
    assert ssim(np.stack([near, truth]), np.stack([truth, truth])) == pytest.approx(channels)


def test_images_are_matched_in_the_enemys_favour():
    rebuilt = np.clip(IMAGES[[2, 0]] + 0.01, 0, 1)
    scores = measure_images(rebuilt, IMAGES)
    assert [one.truth for one in scores] == [2, 0]
    assert min(one.psnr for one in scores) > 35


def test_grey_is_the_best_constant_and_toning_undoes_brightness_and_contrast():
    truth = IMAGES[:1]
    (score,) = measure_images(0.2 + 0.3 * truth, truth, public_mean=truth[0])
    assert score.grey_psnr == pytest.approx(-10 * math.log10(truth.var()))
    assert score.toned_psnr > 100 > score.psnr
    assert score.mean_psnr == 120
    (flat,) = measure_images(np.full_like(truth, truth.mean()), truth)
    assert flat.gain == pytest.approx(0, abs=1e-9)
    assert flat.toned_gain == pytest.approx(0, abs=1e-9)
    assert flat.mean_psnr is None


def test_a_truth_without_any_contrast_is_measured():
    flat = np.full((1, 1, 8, 8), 0.3)
    (score,) = measure_images(IMAGES[:1], flat)
    assert score.grey_psnr == 120
    assert math.isfinite(score.toned_psnr)
    assert math.isfinite(score.ssim)


# --- the report -----------------------------------------------------------------------------------


def test_the_report_tells_leaking_modes_from_others(report):
    assert report["raw <b>"].leaks
    assert report["raw <b>"].mean_psnr > 100
    assert report["raw <b>"].methods == ("analytic",)
    for name in ("noised", "noised lot"):
        assert not report[name].leaks
        assert report[name].max_gain < 1
    assert len(report["noised"].scores) == 2
    assert len(report["noised lot"].scores) == 4
    assert report["noised lot"].lot == 3
    with pytest.raises(KeyError):
        report["other"]


def test_the_report_is_plain_data_and_text(report):
    data = json.loads(report.to_json())
    assert [one["mode"] for one in data["modes"]] == ["raw <b>", "noised", "noised lot"]
    first = data["modes"][0]
    assert set(first["psnr_by_method"]) == {"analytic", "dlg", "cosine_tv"}
    assert first["max_gain"] == pytest.approx(max(one["gain"] for one in first["scores"]))
    assert first["scores"][0]["mean_psnr"] > 0
    assert NO_GUARANTEE in data["note"]
    text = str(report)
    assert NO_GUARANTEE in text
    assert "not seen" in text
    assert all(len(line) == len(HEAD) for line in report.table())
    assert "dB" in str(report["noised"].attacks[0][0])


def test_the_page_shows_pictures_and_escapes_names(report, tmp_path):
    page = leakage_page.draw_page(report)
    assert "raw &lt;b&gt;" in page
    assert "raw <b>" not in page
    assert NO_GUARANTEE in page
    assert page.count("data:image/png;base64,") > 20
    assert "<script" not in page
    assert report.to_html(tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_colours_are_painted_as_colours():
    image = np.zeros((3, 4, 5))
    image[0] = 1.0
    painted = leakage_page.paint_image(image)
    assert painted.shape == (4, 5, 3)
    assert (painted == [255, 0, 0]).all()
    assert leakage_page.paint_image(np.ones((4, 5))).shape == (4, 5, 3)


def test_updates_from_elsewhere_are_taken():
    rows = example_gradients(NET, IMAGES, LABELS)
    modes = {
        "each": rows[:2],
        "together": rows[:2].sum(axis=0),
        "seen": SeenUpdate(rows[0], lot=1),
        "own": lambda module, images, labels: example_gradients(module, images[:1], labels[:1])[0],
    }
    found = leakage_report(NET, IMAGES[:2], LABELS[:2], modes, methods=("analytic",))
    assert [one.lot for one in found.modes] == [1, 2, 1, 1]
    assert all(found[name].max_psnr > 100 for name in ("each", "seen", "own"))


def test_what_is_common_to_a_lot_is_not_held_against_it():
    common = np.clip(IMAGES[:1] + CHANCE.normal(0, 0.05, (40, 1, 8, 8)), 0, 1)
    labels = np.zeros(40, np.int64)
    settings = {"methods": ("analytic",), "most": 1, "targets": 1}
    modes = {"one": un_noised(), "many": un_noised(lot=20)}
    found = leakage_report(NET, common[:20], labels[:20], modes, strangers=common[20:], **settings)
    many = found["many"]
    assert many.stranger_gains[0] > 10
    assert many.own_gain < 0.5 * many.max_gain
    assert many.own_gain == pytest.approx(many.max_gain - many.stranger_gains[0])
    assert found["one"].leaks
    alone = leakage_report(NET, common[:20], labels[:20], modes, **settings)
    assert alone["many"].own_gain == alone["many"].max_gain
    assert alone["many"].leaks


def test_labels_may_be_kept_from_the_enemy():
    found = leakage_report(
        NET, IMAGES, LABELS, {"raw": un_noised()}, methods=("analytic",), knows_labels=False
    )
    assert [one[0].labels for one in found["raw"].attacks] == [(int(one),) for one in LABELS]
    assert not found.knows_labels


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"modes": {}}, SettingError),
        ({"modes": {"short": np.ones(3)}}, DataError),
        ({"modes": {"three": np.ones((3, 4355))}}, DataError),
        ({"modes": {"text": "update"}}, DataError),
        ({"modes": {"nan": lambda module, images, labels: np.full(4355, np.nan)}}, DataError),
        ({"targets": 0}, SettingError),
        ({"targets": 5}, SettingError),
        ({"most": 0}, SettingError),
        ({"methods": ()}, SettingError),
        ({"methods": ("guess",)}, SettingError),
        ({"images": IMAGES * 255}, DataError),
        ({"images": IMAGES[0, 0]}, DataError),
        ({"images": "picture"}, DataError),
        ({"labels": LABELS[:2]}, DataError),
        ({"labels": LABELS + 1}, DataError),
        ({"module": object()}, DataError),
        ({"public_mean": np.zeros(3)}, DataError),
        ({"strangers": np.zeros((1, 1, 9, 9))}, DataError),
        ({"strangers": IMAGES * 2}, DataError),
    ],
)
def test_bad_input_is_refused(change, error):
    given = {"module": NET, "images": IMAGES, "labels": LABELS, "modes": {"raw": un_noised()}}
    with pytest.raises(error):
        leakage_report(**{**given, "steps": 2, "restarts": 1, **change})


def test_a_network_without_a_full_first_layer_needs_another_method():
    module = leaky_net("relu_cnn", (1, 8, 8), 3)
    with pytest.raises(SettingError, match="No attack"):
        leakage_report(module, IMAGES, LABELS, {"raw": un_noised()}, methods=("analytic",))
