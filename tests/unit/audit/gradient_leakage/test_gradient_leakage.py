"""Attacks on updates rebuild what is sent without noise, and nothing of what is noised."""

import sys

import numpy as np
import pytest
import torch

from voile.audit.gradient_leakage import (
    attack,
    clipped,
    gaussian,
    leaky_net,
    measure_images,
    noise_only,
    psnr,
    selective_faithful,
    un_noised,
)
from voile.audit.gradient_leakage.analytic import infer_labels
from voile.audit.gradient_leakage.gradients import example_gradients
from voile.errors import DataError, MissingExtra, SettingError
from voile.privacy import noise

SHAPE, CLASSES = (1, 8, 8), 3


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# Every pixel is drawn by itself: by chance, no smooth guess looks like such an image.
CHANCE = np.random.default_rng(31)
IMAGES, LABELS = CHANCE.uniform(0, 1, (6, *SHAPE)), CHANCE.integers(0, CLASSES, 6)


def net(kind):
    return leaky_net(kind, SHAPE, CLASSES)


def send(mode, kind, first=0):
    order = np.roll(np.arange(len(IMAGES)), -first)
    return mode(net(kind), IMAGES[order], LABELS[order])


# --- un-noised updates ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [un_noised(), clipped(0.5)], ids=["raw", "clipped"])
@pytest.mark.parametrize(
    ("kind", "method", "least"),
    [("sigmoid_lenet", "dlg", 40), ("mlp", "analytic", 100), ("relu_cnn", "cosine_tv", 25)],
)
def test_an_update_without_noise_gives_the_image_away(kind, method, least, mode):
    seen = send(mode, kind)
    found = attack(
        net(kind), seen.vector, SHAPE, CLASSES, method=method, reference=IMAGES[:1], restarts=1,
        steps=150,
    )  # fmt: skip
    assert found.method == method
    assert found.labels == (LABELS[0],)
    assert found.psnr == pytest.approx(psnr(found.images[0], IMAGES[0]))
    assert found.psnr > least
    assert found.gain > 15
    assert found.scores[0].ssim > 0.9


def test_the_sign_rule_reads_labels_off_the_update():
    module = net("mlp").double()
    rows = example_gradients(module, IMAGES, LABELS)
    for row, label in zip(rows, LABELS, strict=True):
        assert infer_labels(module, row, CLASSES, 1).tolist() == [label]
    mixed = infer_labels(module, rows[:2].sum(axis=0), CLASSES, 2)
    assert sorted(mixed) == sorted(LABELS[:2])


def test_labels_may_be_found_with_the_image():
    seen = send(un_noised(), "sigmoid_lenet")
    found = attack(
        net("sigmoid_lenet"), seen.vector, SHAPE, CLASSES, method="dlg", labels="optimise",
        reference=IMAGES[:1],
    )  # fmt: skip
    assert found.psnr > 25


def test_two_images_in_one_update_are_told_apart():
    seen = send(un_noised(lot=2), "sigmoid_lenet")
    found = attack(
        net("sigmoid_lenet"), seen.vector, SHAPE, CLASSES, method="dlg", labels=LABELS[:2],
        reference=IMAGES[:2],
    )  # fmt: skip
    assert sorted(one.truth for one in found.scores) == [0, 1]
    assert min(one.psnr for one in found.scores) > 25


def test_best_takes_the_highest_psnr():
    seen = send(un_noised(), "mlp")
    settings = {"reference": IMAGES[:1], "steps": 30, "restarts": 1}
    best = attack(net("mlp"), seen.vector, SHAPE, CLASSES, **settings)
    each = [
        attack(net("mlp"), seen.vector, SHAPE, CLASSES, method=name, **settings)
        for name in ("analytic", "dlg", "cosine_tv")
    ]
    assert best.psnr == max(one.psnr for one in each)
    assert min(one.psnr for one in each) < best.psnr


def test_the_closed_form_sees_through_standardised_pixels_and_needs_no_reference():
    class Standardised(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = net("mlp")

        def forward(self, x):
            return self.layers((x - 0.13) / 0.31)

    update = example_gradients(Standardised(), IMAGES[:1], LABELS[:1])[0]
    found = attack(Standardised(), update, SHAPE, CLASSES, method="analytic")
    assert psnr(found.images[0], IMAGES[0]) > 100
    assert found.scores == ()
    assert found.psnr is None


def test_the_course_of_a_search_is_kept():
    seen = send(un_noised(), "sigmoid_lenet")
    found = attack(
        net("sigmoid_lenet"), seen.vector, SHAPE, CLASSES, method="dlg", steps=30, restarts=1
    )
    assert found.iterations[:4] == (0, 1, 2, 5)
    assert found.iterations[-1] == len(found.objective) - 1
    assert found.snapshots.shape == (len(found.iterations), 1, *SHAPE)
    assert found.objective[-1] < 0.1 * found.objective[0]
    assert (found.snapshots[-1] == found.images).all()
    assert found.snapshots.min() >= 0
    assert found.snapshots.max() <= 1
    measured = [measure_images(one, IMAGES[:1])[0].psnr for one in found.snapshots]
    assert measured[-1] > measured[0]


def test_an_attack_does_not_begin_at_images_drawn_with_its_seed():
    found = attack(
        net("mlp"), np.ones(4355), SHAPE, CLASSES, method="dlg", steps=1, restarts=1, seed=0
    )
    assert (found.snapshots[0] != np.random.default_rng(0).uniform(0, 1, (1, *SHAPE))).all()


def test_one_seed_gives_one_answer_and_leaves_the_module_and_torch_alone():
    module = net("relu_cnn").train()
    before = [one.clone() for one in module.parameters()]
    state = torch.get_rng_state()
    seen = send(un_noised(), "relu_cnn")
    runs = [
        attack(module, seen.vector, SHAPE, CLASSES, method="cosine_tv", steps=20, seed=seed)
        for seed in (3, 3, 4)
    ]
    assert (runs[0].images == runs[1].images).all()
    assert runs[0].objective == runs[1].objective
    assert (runs[0].images != runs[2].images).any()
    assert all((a == b).all() for a, b in zip(before, module.parameters(), strict=True))
    assert module.training
    assert (torch.get_rng_state() == state).all()
    assert (leaky_net("mlp", seed=1)[1].weight != leaky_net("mlp", seed=2)[1].weight).any()


# --- noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lot", [1, 2])
@pytest.mark.parametrize("kind", ["sigmoid_lenet", "mlp", "relu_cnn"])
def test_noise_on_every_coordinate_leaves_nothing_to_see(kind, lot):
    with noise.fixed_noise(7):
        seen = send(gaussian(clip=1.0, noise_multiplier=0.5, lot=lot), kind)
    found = attack(
        net(kind), seen.vector, SHAPE, CLASSES, labels=LABELS[:lot], reference=IMAGES[:lot],
        steps=60,
    )  # fmt: skip
    assert max(one.gain for one in found.scores) < 1
    assert max(one.toned_gain for one in found.scores) < 1


def test_the_noise_has_the_scale_it_says():
    module = net("mlp")
    with noise.fixed_noise(1):
        seen = gaussian(clip=0.5, noise_multiplier=2.0)(module, IMAGES, LABELS)
    plain = clipped(0.5)(module, IMAGES, LABELS).vector
    drawn = seen.vector - plain
    assert np.linalg.norm(plain) <= 0.5 + 1e-12
    # 4,355 draws: the standard deviation is within 5 % but for a chance below 1e-5.
    assert drawn.std() == pytest.approx(1.0, rel=0.05)
    assert (drawn != 0).all()


def test_noise_alone_has_nothing_of_the_images():
    module = net("mlp")
    with noise.fixed_noise(4):
        first = noise_only(1.0, 0.5)(module, IMAGES, LABELS)
    with noise.fixed_noise(4):
        second = noise_only(1.0, 0.5)(module, 1 - IMAGES, LABELS)
    assert (first.vector == second.vector).all()
    assert first.vector.std() == pytest.approx(0.5, rel=0.05)


# --- coordinates left without noise ---------------------------------------------------------------


def test_a_row_left_without_noise_gives_the_image_away():
    module, pixels = net("mlp"), 64
    rows = example_gradients(module, IMAGES[:1], LABELS[:1])[0]
    bias_at = 64 * pixels
    unit = int(np.abs(rows[bias_at : bias_at + 64]).argmax())
    importance = np.zeros(len(rows))
    importance[unit * pixels : (unit + 1) * pixels] = 1
    importance[bias_at + unit] = 1
    share = (pixels + 1.5) / len(rows)
    mode = selective_faithful(share, 1.0, 5.0, importance=importance)
    seen = mode(module, IMAGES, LABELS)
    assert seen.clean.sum() == pixels + 1
    found = attack(
        module, seen.vector, SHAPE, CLASSES, clean=seen.clean, labels=LABELS[:1], method="analytic"
    )
    assert psnr(found.images[0], IMAGES[0]) > 100
    # An enemy who is not told which they are finds the row among all with the oracle.
    unaware = attack(
        module, seen.vector, SHAPE, CLASSES, method="analytic", labels=LABELS[:1],
        reference=IMAGES[:1],
    )  # fmt: skip
    assert unaware.psnr > 100


@pytest.mark.parametrize(("kind", "method"), [("sigmoid_lenet", "dlg"), ("relu_cnn", "cosine_tv")])
def test_the_largest_quarter_without_noise_gives_the_image_away(kind, method):
    with noise.fixed_noise(2):
        seen = send(selective_faithful(0.25, 1.0, 1.0), kind)
    found = attack(
        net(kind), seen.vector, SHAPE, CLASSES, method=method, clean=seen.clean,
        reference=IMAGES[:1], labels=LABELS[:1], steps=150, restarts=1,
    )  # fmt: skip
    assert found.gain > 5


def test_noised_coordinates_are_cut_to_the_smallest_that_was_kept():
    seen = send(selective_faithful(0.1, 1.0, 1.0), "mlp")
    kept = np.abs(seen.vector[seen.clean]).min()
    assert np.abs(seen.vector[~seen.clean]).max() <= kept


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["best", "dlg", "cosine_tv", "analytic"])
def test_an_update_of_zeros_says_nothing(method):
    module = net("mlp")
    size = sum(one.numel() for one in module.parameters())
    found = attack(
        module, np.zeros(size), SHAPE, CLASSES, method=method, reference=IMAGES[:1], steps=5
    )
    assert (found.images == 0.5).all()
    assert found.objective == ()
    assert found.scores[0].toned_gain == pytest.approx(0.0, abs=1e-9)


def test_the_closed_form_refuses_a_convolution():
    seen = send(un_noised(), "relu_cnn")
    with pytest.raises(SettingError, match="convolution does not serve"):
        attack(net("relu_cnn"), seen.vector, SHAPE, CLASSES, method="analytic")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"update": np.zeros(7)}, DataError, "4355 parameters"),
        ({"update": np.full(4355, np.nan)}, DataError, "not finite"),
        ({"update": np.full(4355, np.inf)}, DataError, "not finite"),
        ({"update": np.zeros((4355, 1))}, DataError, "shape"),
        ({"update": "gradient"}, DataError, "no vector"),
        ({"module": "network"}, DataError, "torch.nn.Module"),
        ({"module": None}, DataError, "torch.nn.Module"),
        ({"image_shape": (64,)}, SettingError, "image_shape"),
        ({"image_shape": (1, 9, 8)}, DataError, "does not take images"),
        ({"image_shape": "28x28"}, SettingError, "image_shape"),
        ({"classes": 4}, DataError, "outputs"),
        ({"method": "guess"}, SettingError, "method is 'guess'"),
        ({"method": "best"}, SettingError, "reference"),
        ({"labels": [3]}, DataError, "0 to 2"),
        ({"labels": [0.5]}, DataError, "integers"),
        ({"labels": [0, 1], "images": 1}, DataError, "1 labels"),
        ({"labels": "guess"}, SettingError, "optimise"),
        ({"images": 0}, SettingError, "images"),
        ({"steps": 0}, SettingError, "steps"),
        ({"restarts": 0}, SettingError, "restarts"),
        ({"seed": -1}, SettingError, "seed"),
        ({"clean": np.ones(3, bool)}, DataError, "4355 truth values"),
        ({"clean": np.ones(4355)}, DataError, "4355 truth values"),
        ({"reference": np.zeros((1, 1, 9, 9))}, DataError, "reference"),
        ({"reference": np.full((1, *SHAPE), 255.0)}, DataError, "from 0 to 1"),
    ],
)
def test_bad_input_is_refused(change, error, words):
    given = {
        "module": net("mlp"),
        "update": np.ones(4355),
        "image_shape": SHAPE,
        "classes": CLASSES,
        "method": "dlg",
        "steps": 2,
    }
    with pytest.raises(error, match=words):
        attack(**{**given, **change})


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian(0.0, 1.0),
        lambda: gaussian(1.0, 0.0),
        lambda: gaussian(1.0, float("nan")),
        lambda: gaussian(1.0, 1.0, lot=0),
        lambda: noise_only(1.0, 0.0),
        lambda: clipped(-1.0),
        lambda: un_noised(0),
        lambda: selective_faithful(0.0),
        lambda: selective_faithful(1.0),
        lambda: leaky_net("transformer"),
        lambda: leaky_net("mlp", (28, 28)),
        lambda: leaky_net("mlp", classes=1),
    ],
)
def test_bad_settings_are_refused(make):
    with pytest.raises(SettingError):
        make()


def test_a_missing_torch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"voile\[federated\]"):
        leaky_net("mlp")
    with pytest.raises(MissingExtra):
        attack(object(), [1.0], SHAPE, CLASSES, method="dlg")


def test_a_lot_needs_its_images_and_an_importance_its_length():
    with pytest.raises(SettingError, match="lot of 7"):
        un_noised(lot=7)(net("mlp"), IMAGES, LABELS)
    with pytest.raises(DataError, match="importance"):
        selective_faithful(0.5, importance=[1.0])(net("mlp"), IMAGES, LABELS)


def test_a_module_without_parameters_or_scores_is_refused():
    with pytest.raises(DataError, match="no parameters"):
        attack(torch.nn.Flatten(), [], SHAPE, CLASSES, method="dlg")
    with pytest.raises(DataError, match="scores"):
        attack(torch.nn.Conv2d(1, 1, 3), np.ones(10), SHAPE, CLASSES, method="dlg")


def test_labels_that_cannot_be_read_off_are_asked_for():
    module = torch.nn.Sequential(net("mlp"), torch.nn.PReLU(1))
    size = sum(one.numel() for one in module.parameters())
    with pytest.raises(SettingError, match="Give labels"):
        attack(module, np.ones(size), SHAPE, CLASSES, method="dlg")
