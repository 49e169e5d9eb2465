"""Insertion and deletion areas equal the sum of single questions to the network."""

from itertools import pairwise

import numpy as np
import pytest
from heat_map_networks import SIDE, Copy, Small, make_images, nn, torch
from scipy.ndimage import gaussian_filter

from voile.errors import DataError, SettingError
from voile.explain.networks import deletion_auc, explain_images, insertion_auc


def area_by_hand(module, image, heat, target, steps, clear, show):
    """One image after the other, one step after the other."""
    order = sorted(range(heat.size), key=lambda i: (-heat.ravel()[i], i))
    curve = []
    for step in range(steps + 1):
        now = (clear if show else image).copy()
        for place in order[: round(heat.size * step / steps)]:
            y, x = divmod(place, heat.shape[1])
            now[:, y, x] = (image if show else clear)[:, y, x]
        with torch.no_grad():
            chances = torch.softmax(module(torch.as_tensor(now[None])), dim=1)
        curve.append(float(chances[0, target]))
    return sum((a + b) / 2 for a, b in pairwise(curve)) / steps


@pytest.mark.parametrize("baseline", ["blur", "mean"])
@pytest.mark.parametrize("steps", [1, 7])
def test_areas_are_those_by_hand(baseline, steps):
    module, images = Small(channels=2).double().eval(), make_images(3, channels=2)
    heat = np.rint(3 * make_images(3, seed=1)[:, 0])  # with ties
    for row, image in enumerate(images):
        clear = np.broadcast_to(image.mean(axis=(1, 2), keepdims=True), image.shape)
        if baseline == "blur":
            blurred = [gaussian_filter(one, SIDE / 10, mode="nearest") for one in image]
            clear = np.stack(blurred)
        target = int(module(torch.as_tensor(image[None])).argmax())
        for measure, show in ((insertion_auc, True), (deletion_auc, False)):
            found = measure(module, images, heat, steps=steps, baseline=baseline, batch_size=2)
            wanted = area_by_hand(module, image, heat[row], target, steps, clear, show)
            assert found[row] == pytest.approx(wanted)


def test_a_map_of_what_the_network_reads_beats_its_opposite():
    images = 0.2 + np.abs(make_images(5))
    images[:, :, SIDE // 2 :] *= -1
    right = explain_images(Copy().double(), images, method="integrated_gradients", target=1)
    settings = {"target": 1, "baseline": "mean"}
    for measure, sign in ((insertion_auc, 1), (deletion_auc, -1)):
        good = measure(Copy().double(), images, right, **settings)
        bad = measure(Copy().double(), images, -right.maps, **settings)
        assert (sign * good > sign * bad).all()


def test_areas_depend_neither_on_batches_nor_on_the_order_of_images_nor_on_scale():
    module, images = Small().double(), make_images(5)
    heat = explain_images(module, images).maps
    order = np.random.default_rng(0).permutation(5)
    for measure in (insertion_auc, deletion_auc):
        wanted = measure(module, images, heat)
        assert np.allclose(measure(module, images, heat, batch_size=1), wanted)
        assert np.allclose(measure(module, images[order], heat[order]), wanted[order])
        assert np.allclose(measure(module, images, 2 + 5 * heat), wanted)
        assert not np.allclose(measure(module, images, -heat), wanted)


def test_a_constant_map_gives_no_order():
    heat = np.ones((3, SIDE, SIDE))
    heat[1, 0, 0] = 2.0
    for measure in (insertion_auc, deletion_auc):
        found = measure(Small(), make_images(3), heat)
        assert np.isnan(found).tolist() == [True, False, True]


def test_the_module_and_the_images_are_left_as_they_were():
    module, images = Small().train(), make_images(2)
    kept = images.copy()
    deletion_auc(module, images, make_images(2)[:, 0])
    assert module.training
    assert module.drop.training
    assert (images == kept).all()
    assert all(one.grad is None for one in module.parameters())


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"baseline": "black"}, SettingError),
        ({"blur": 0}, SettingError),
        ({"steps": 0}, SettingError),
        ({"batch_size": 0}, SettingError),
        ({"target": 3}, SettingError),
        ({"maps": np.zeros((2, SIDE, SIDE))}, DataError),
        ({"maps": np.zeros((3, SIDE, SIDE - 1))}, DataError),
        ({"maps": np.full((3, SIDE, SIDE), np.nan)}, DataError),
        ({"images": np.full((3, SIDE, SIDE), np.inf)}, DataError),
        ({"module": nn.Identity}, SettingError),
    ],
)
def test_bad_questions_are_refused(settings, error):
    given = {"module": Small(), "images": make_images(3), "maps": make_images(3)[:, 0]}
    with pytest.raises(error):
        insertion_auc(**{**given, **settings})
