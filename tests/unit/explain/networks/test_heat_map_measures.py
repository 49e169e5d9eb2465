"""Measures of agreement equal their definitions, and say where they have none."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from voile.errors import DataError, SettingError
from voile.explain.networks import (
    compare_maps,
    scale_maps,
    spearman,
    ssim,
    top_share_iou,
)
from voile.explain.networks.measures import find_hottest


def make_maps(rows=8, height=14, width=16, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(rows, height, width))
    return np.rint(2 * maps) if ties else maps


# -- Spearman -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
def test_spearman_is_that_of_scipy(ties):
    a, b = make_maps(ties=ties), make_maps(seed=1, ties=ties) + 0.5 * make_maps(ties=ties)
    wanted = [spearmanr(x.ravel(), y.ravel()).statistic for x, y in zip(a, b, strict=True)]
    assert np.allclose(spearman(a, b), wanted)
    assert np.allclose(spearman(a, np.exp(a)), 1.0)
    assert np.allclose(spearman(a, -a), -1.0)


def test_spearman_of_a_constant_map_is_undefined():
    a, b = make_maps(3), make_maps(3, seed=1)
    a[1], b[2] = 4.2, 0.0
    assert np.isnan(spearman(a, b)).tolist() == [False, True, True]


# -- hottest pixels -----------------------------------------------------------------------------


def hottest_by_hand(values, share):
    """The rule, pixel by pixel."""
    most = max(1, math.floor(share * len(values) + 0.5))
    return {i for i, one in enumerate(values) if sum(two >= one for two in values) <= most}


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.93])
@pytest.mark.parametrize("ties", [False, True])
def test_iou_is_that_by_hand(share, ties):
    a, b = make_maps(5, 4, 6, ties=ties), make_maps(5, 4, 6, seed=3, ties=ties)
    for x, y, found in zip(a, b, top_share_iou(a, b, share), strict=True):
        one, two = (hottest_by_hand(maps.ravel().tolist(), share) for maps in (x, y))
        if one and two:
            assert found == pytest.approx(len(one & two) / len(one | two))
        else:
            assert math.isnan(found)


def test_every_small_map_with_ties_follows_the_rule():
    maps = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=6))).reshape(-1, 2, 3)
    for share, most in ((0.2, 1), (0.25, 2), (0.5, 3)):  # 1.2, 1.5 and 3 pixels
        hot = find_hottest(maps, share)
        assert hot.sum(axis=(1, 2)).max() == most
        for one, found in zip(maps, hot, strict=True):
            assert set(np.flatnonzero(found)) == hottest_by_hand(one.ravel().tolist(), share)


def test_pixels_that_tie_across_the_border_are_all_left_out():
    sparse = np.zeros((2, 5, 10))
    sparse[0, 0, :3] = [3.0, 2.0, 1.0]  # 3 of 50 pixels are warm, and 10 are asked for
    sparse[1, 4, :3] = [3.0, 2.0, 1.0]
    assert find_hottest(sparse, 0.2).sum(axis=(1, 2)).tolist() == [3, 3]
    assert top_share_iou(sparse, sparse).tolist() == [1.0, 1.0]
    # Zeros in the same places make nothing alike.
    assert top_share_iou(sparse, sparse[::-1]).tolist() == [0.0, 0.0]
    plateau = np.zeros((1, 5, 10))
    plateau[0, :3] = 1.0  # 30 pixels are the hottest, and 10 are asked for
    assert np.isnan(top_share_iou(plateau, plateau)).all()
    assert np.isnan(top_share_iou(np.ones((1, 5, 10)), sparse[:1])).all()


def test_measures_do_not_depend_on_the_order_of_pixels_or_images():
    a, b = make_maps(ties=True), make_maps(seed=2, ties=True)
    rng = np.random.default_rng(5)
    pixels, images = rng.permutation(14 * 16), rng.permutation(8)

    def moved(maps):
        return maps.reshape(8, -1)[:, pixels].reshape(maps.shape)

    for measure in (spearman, top_share_iou):
        wanted = measure(a, b)
        assert np.allclose(measure(moved(a), moved(b)), wanted, equal_nan=True)
    for measure in (spearman, top_share_iou, ssim):
        wanted = measure(a, b)
        assert np.allclose(measure(a[images], b[images]), wanted[images], equal_nan=True)
        assert np.allclose(measure(b, a), wanted, equal_nan=True)


# -- SSIM ---------------------------------------------------------------------------------------


def ssim_by_hand(a, b, data_range, sigma):
    """Window by window, over those inside the map."""
    reach = int(3.5 * sigma + 0.5)
    places = np.arange(-reach, reach + 1)
    line = np.exp(-(places**2) / (2 * sigma**2))
    weights = np.outer(line, line) / line.sum() ** 2
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    found = []
    for i in range(reach, a.shape[0] - reach):
        for j in range(reach, a.shape[1] - reach):
            window = np.s_[i - reach : i + reach + 1, j - reach : j + reach + 1]
            x, y = a[window], b[window]
            mx, my = (weights * x).sum(), (weights * y).sum()
            vx, vy = (weights * (x - mx) ** 2).sum(), (weights * (y - my) ** 2).sum()
            cov = (weights * (x - mx) * (y - my)).sum()
            light = (2 * mx * my + c1) / (mx**2 + my**2 + c1)
            found.append(light * (2 * cov + c2) / (vx + vy + c2))
    return np.mean(found)


@pytest.mark.parametrize(("data_range", "sigma"), [(1.0, 1.5), (6.0, 0.8), (255.0, 1.0)])
def test_ssim_is_that_by_hand(data_range, sigma):
    a = make_maps(4)
    b = a + 0.7 * make_maps(4, seed=1)
    wanted = [ssim_by_hand(x, y, data_range, sigma) for x, y in zip(a, b, strict=True)]
    assert np.allclose(ssim(a, b, data_range=data_range, sigma=sigma), wanted)
    assert np.allclose(ssim(a, a), 1.0)


def test_ssim_is_that_of_scikit_image():
    metrics = pytest.importorskip("skimage.metrics")
    a = scale_maps(np.abs(make_maps(5, 28, 28)))
    b = scale_maps(np.abs(make_maps(5, 28, 28) + 0.5 * make_maps(5, 28, 28, seed=1)))
    wanted = [
        metrics.structural_similarity(
            x, y, data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False
        )
        for x, y in zip(a, b, strict=True)
    ]
    assert np.allclose(ssim(a, b), wanted, atol=1e-12)


def test_maps_are_scaled_by_their_largest_size():
    maps = make_maps(3)
    maps[1] = 0.0
    scaled = scale_maps(maps)
    assert np.abs(scaled).max(axis=(1, 2)).tolist() == [1.0, 0.0, 1.0]
    assert np.allclose(scaled[0] * np.abs(maps[0]).max(), maps[0])
    assert np.isfinite(ssim(scaled, scaled[::-1])).all()  # constant maps, too


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [spearman, top_share_iou, ssim])
def test_maps_that_do_not_fit_are_refused(measure):
    a = make_maps()
    for b in (a[:3], a[:, :-1], a.swapaxes(1, 2)):
        with pytest.raises(DataError, match="cannot be compared"):
            measure(a, b)
    for bad in (a[0], np.zeros((0, 4, 4)), "x", np.where(a > 2, np.nan, a), a + np.inf):
        with pytest.raises(DataError):
            measure(a, bad)


@pytest.mark.parametrize("share", [0, 1, -0.2, 1.5, math.nan, "all", True])
def test_a_bad_share_is_refused(share):
    with pytest.raises(SettingError, match="share"):
        top_share_iou(make_maps(), make_maps(), share)


def test_a_window_must_fit():
    with pytest.raises(DataError, match="smaller sigma"):
        ssim(make_maps(1, 8, 8), make_maps(1, 8, 8))
    assert ssim(make_maps(1, 8, 8), make_maps(1, 8, 8), sigma=0.5) == pytest.approx(1.0)
    with pytest.raises(SettingError, match="data_range"):
        ssim(make_maps(), make_maps(), data_range=0)


# -- agreement ----------------------------------------------------------------------------------


def make_family(rows=60, seed=0):
    """A private and two plain networks' maps: what all see, what only the plain see, own noise."""
    rng = np.random.default_rng(seed)
    common, plain, *own = (np.abs(rng.normal(size=(rows, 12, 12))) for _ in range(6))
    a, b = common + plain + own[0], common + plain + own[1]
    return common + own[2] + 0.5 * own[0], a, b, own[3]


def test_agreement_is_the_mean_of_the_measures():
    private, a, b, untrained = make_family()
    found = compare_maps(private, a, b, random_init=untrained)
    for name, measure in (("spearman", spearman), ("top_share_iou", top_share_iou)):
        one = found[name]
        assert one.private.value == pytest.approx(
            (measure(private, a).mean() + measure(private, b).mean()) / 2
        )
        assert one.ceiling.value == pytest.approx(measure(a, b).mean())
        assert one.relative.value == pytest.approx(one.private.value / one.ceiling.value)
        floor = one.shuffled.value
        assert one.beyond.value == pytest.approx(
            (one.private.value - floor) / (one.ceiling.value - floor)
        )
        assert one.shuffled.value < one.private.value < one.ceiling.value
        assert one.untrained.value < one.private.value
        assert (one.images, one.undefined) == (60, 0)
    scaled = [scale_maps(maps) for maps in (private, a, b)]
    wanted = (ssim(scaled[0], scaled[1]).mean() + ssim(scaled[0], scaled[2]).mean()) / 2
    assert found["ssim"].private.value == pytest.approx(wanted)
    with pytest.raises(KeyError):
        found["cosine"]


def test_a_network_without_privacy_agrees_as_far_as_seeds_do():
    rng = np.random.default_rng(1)
    common, *own = (np.abs(rng.normal(size=(300, 12, 12))) for _ in range(4))
    found = compare_maps(*(common + one for one in own))
    for one in found.measures:
        # Same law for all three: 5 standard errors are exceeded once in more than a million.
        assert abs(one.relative.value - 1) < 5 * one.relative.error
        assert abs(one.beyond.value - 1) < 5 * one.beyond.error
        assert one.untrained is None


def test_bootstrap_errors_are_those_of_means_and_seeded():
    private, a, b, _ = make_family(200)
    found = compare_maps(private, a, b, resamples=2000, seed=3)
    values = (spearman(private, a) + spearman(private, b)) / 2
    wanted = values.std() / math.sqrt(200)
    # The relative error of a spread of 2,000 draws is 1.6 %: 10 % is six of them.
    assert found["spearman"].private.error == pytest.approx(wanted, rel=0.1)
    ratio = values.mean() / spearman(a, b).mean()
    spread = (values - ratio * spearman(a, b)).std() / math.sqrt(200) / spearman(a, b).mean()
    assert found["spearman"].relative.error == pytest.approx(spread, rel=0.1)
    assert compare_maps(private, a, b, resamples=2000, seed=3) == found
    assert compare_maps(private, a, b, resamples=2000, seed=4) != found


def test_no_image_keeps_its_own_map_in_the_floor():
    maps = np.random.default_rng(0).normal(size=(7, 12, 12))
    for seed in range(30):
        found = compare_maps(maps, maps, maps, seed=seed, resamples=2)
        assert found["spearman"].private.value == pytest.approx(1.0)
        # One own map among seven would lift the mean above 1/7; others have about 0 +- 0.08.
        assert found["spearman"].shuffled.value < 0.14
    given = compare_maps(maps, maps, maps, shuffled=maps, resamples=2)
    assert given["spearman"].shuffled.value == pytest.approx(1.0)
    assert math.isnan(given["spearman"].beyond.value)


def test_undefined_images_are_left_out_of_all_comparisons_and_counted():
    private, a, b, untrained = make_family(20)
    private[3], a[5], untrained[7] = 0.0, 2.0, 0.0
    shuffled = np.roll(private, 1, axis=0)  # so that image 4 has the empty map of image 3
    found = compare_maps(private, a, b, shuffled, untrained)
    kept = [i for i in range(20) if i not in (3, 4, 5, 7)]
    for one in found.measures:
        assert (one.images, one.undefined) == (16, 4)
    assert found["spearman"].ceiling.value == pytest.approx(spearman(a[kept], b[kept]).mean())
    clean = compare_maps(private[kept], a[kept], b[kept], shuffled[kept], untrained[kept])
    for one, other in zip(found.measures, clean.measures, strict=True):
        assert one.private.value == pytest.approx(other.private.value)
        assert one.untrained.value == pytest.approx(other.untrained.value)


def test_agreement_of_nothing_is_undefined_not_wrong():
    flat = np.zeros((4, 12, 12))
    found = compare_maps(flat, flat, flat, resamples=5)
    assert all((one.images, one.undefined) == (0, 4) for one in found.measures)
    assert "undefined" in str(found)
    data = json.loads(found.to_json())
    assert data["measures"][0]["private"] == {"value": None, "standard_error": None}
    maps = make_maps(3)
    against = compare_maps(maps, maps, -maps, resamples=5)["spearman"]
    assert math.isnan(against.relative.value)  # a ceiling below 0 is none


def test_agreement_prints_and_goes_to_json():
    private, a, b, untrained = make_family()
    found = compare_maps(private, a, b, random_init=untrained)
    text = str(found)
    for words in ("60 images", "Spearman", "IoU of top 20 %", "SSIM", "two seeds", "other image"):
        assert words in text
    assert f"{found['ssim'].private.value:.3f} ±" in text
    data = json.loads(found.to_json())
    assert [one["measure"] for one in data["measures"]] == ["spearman", "top_share_iou", "ssim"]
    assert data["measures"][1]["relative"]["value"] == pytest.approx(
        found["top_share_iou"].relative.value, rel=1e-5
    )
    assert data["measures"][0]["untrained"]["standard_error"] > 0
    assert json.loads(compare_maps(private, a, b).to_json())["measures"][0]["untrained"] is None


def test_maps_that_cannot_be_compared_are_refused():
    private, a, b, _ = make_family(5)
    with pytest.raises(DataError, match=r"reference_b \(4, 12, 12\)"):
        compare_maps(private, a, b[:4])
    with pytest.raises(DataError, match="at least two images"):
        compare_maps(private[:1], a[:1], b[:1])
    with pytest.raises(DataError, match="random_init maps"):
        compare_maps(private, a, b, random_init=a[0])
    with pytest.raises(SettingError, match="resamples"):
        compare_maps(private, a, b, resamples=1)
    with pytest.raises(SettingError, match="seed"):
        compare_maps(private, a, b, seed=-1)
    with pytest.raises(SettingError, match="share"):
        compare_maps(private, a, b, share=2)
