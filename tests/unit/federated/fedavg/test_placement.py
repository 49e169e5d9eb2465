"""Where published noise is left out, how much there is, and how many clients are needed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from voile.errors import SettingError
from voile.federated.fedavg.estimator import FedAvgClassifier
from voile.federated.fedavg.placement import (
    grad_cam_weights,
    least_important,
    place,
    target_layers,
)
from voile.federated.fedavg.population import client_noise, clients_needed
from voile.federated.fedavg.work import (
    ClientUpdate,
    LocalTraining,
    PublishedUpload,
)
from voile.models.networks.architectures import (
    Description,
    initial_weights,
)
from voile.models.networks.images import CLASSES, IMAGES
from voile.models.networks.parameters import (
    flatten,
)
from voile.models.networks.per_example_engine import one_thread
from voile.privacy.wire import Packer, Unpacker

SHAPE = (1, 12, 12)


def training(**changes):
    values = {
        "architecture": "cnn", "image_shape": SHAPE, "classes": 3, "network_seed": 1,
        "weights": initial_weights(Description("cnn", SHAPE, 3, 1)), "means": (0.5,),
        "spreads": (0.5,), "bits": 8, "epochs": 1, "batch": 5, "learning_rate": 0.1, "seed": 2,
        **changes,
    }  # fmt: skip
    return LocalTraining(**values)


def blocks(rows=10, seed=0):
    rng = np.random.default_rng(seed)
    kept = {
        IMAGES: rng.integers(0, 256, (rows, 144)).astype(np.uint8),
        CLASSES: rng.integers(0, 3, rows).astype(np.int32),
    }
    return [SimpleNamespace(kept=kept)]


# -- layers and their weights --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count", "part"),
    [
        ("cnn", 2, None),
        ("resnet8", 3, 0.62),
        pytest.param("resnet18", 8, 0.56, marks=pytest.mark.slow),
    ],
)
def test_the_last_convolution_of_each_block_is_chosen(name, count, part):
    """Eight tensors of ResNet18, as published; short cuts and the first layer are none."""
    module = Description(name, (1, 28, 28), 10).build()
    found = target_layers(module)
    assert len(found) == count
    if name != "cnn":
        assert all(one.layer.kernel_size == (3, 3) for one in found)
        blocks = [one for one in module.children() if hasattr(one, "second")]
        assert [one.layer for one in found] == [one.second for one in blocks]
        weights = sum(one.channels * one.size for one in found)
        assert weights / len(flatten(module)) == pytest.approx(part, abs=0.01)
    vector = flatten(module)
    for one in found:
        expected = one.layer.weight.detach().double().numpy().reshape(one.channels, -1)
        assert (one.of(vector) == expected).all()


def test_networks_inside_one_part_are_looked_into():
    inner = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 3, 3))
    assert [one.channels for one in target_layers(nn.Sequential(inner))] == [2, 3]


def test_frozen_convolutions_are_left_out():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 3, 3))
    module[0].weight.requires_grad_(False)
    assert [one.channels for one in target_layers(module)] == [3]
    module[1].weight.requires_grad_(False)
    with pytest.raises(SettingError, match="convolution"):
        target_layers(module)


def test_grad_cam_weights_are_mean_slopes():
    """A bias moves all places of its map: its slope is the sum that the weight is the mean of."""
    module = Description("cnn", SHAPE, 3, 5).build()
    found = target_layers(module)
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.normal(size=(6, *SHAPE)).astype(np.float32))
    classes = torch.tensor([0, 1, 2, 2, 1, 0])
    weights = grad_cam_weights(module, found, images, classes)
    for one, mine in zip(found, weights, strict=True):
        chosen = module(images).gather(1, classes[:, None]).sum()
        (slope,) = torch.autograd.grad(chosen, [one.layer.bias])
        places = 12 * 12 if one is found[0] else 6 * 6
        assert mine == pytest.approx(slope.double().numpy() / (6 * places), abs=1e-6)
    assert not module[0]._forward_hooks


@pytest.mark.parametrize(
    ("share", "count", "expected"),
    [(0.25, 32, 8), (0.5, 32, 16), (0.75, 32, 24), (0.25, 1, 1), (0.01, 4, 1), (0.99, 4, 3)],
)
def test_the_share_of_lowest_weights_is_noised(share, count, expected):
    weights = np.random.default_rng(count).normal(size=count)
    noised = least_important(weights, share)
    assert noised.sum() == expected
    if not noised.all():
        assert weights[noised].max() <= weights[~noised].min()


def test_noise_is_placed_and_long_filters_are_shortened():
    module = Description("cnn", SHAPE, 3).build()
    found = target_layers(module)
    weights = flatten(module)
    noise = np.random.default_rng(1).normal(size=len(weights))
    noised = [np.arange(one.channels) < one.channels // 4 for one in found]
    plain = place(weights, noise, found, noised, shorten=False)
    short = place(weights, noise, found, noised, shorten=True)
    inside = np.zeros(len(weights), dtype=bool)
    for one, which in zip(found, noised, strict=True):
        assert (one.of(plain)[~which] == one.of(weights)[~which]).all()
        assert (one.of(plain)[which] == one.of(weights + noise)[which]).all()
        lengths = np.linalg.norm(one.of(short), axis=1)
        before = np.linalg.norm(one.of(weights), axis=1)
        most = np.maximum(before, before[~which].min())
        assert (lengths <= most * (1 + 1e-12)).all()
        inside[one.start : one.start + one.channels * one.size] = True
    assert (short[~inside] == (weights + noise)[~inside]).all()
    assert (plain != short).any()


# -- uploads -------------------------------------------------------------------------------------


def exact(work):
    with one_thread():  # as at a client: threads change the last bits
        return flatten(work.training.train(*work.training.read(blocks())))


@pytest.mark.parametrize("placement", ["everywhere", "random", "gradcam"])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_kept_filters_are_exact_and_all_else_is_noised(placement, share):
    """The leak in one line: what is kept can be read to the bit."""
    work = PublishedUpload(training(), 1.0, placement, share)
    upload = work.run(blocks())
    true = exact(work)
    assert upload.shape == (work.size,)
    assert upload[-1] == 10.0
    same = upload[:-1] == 10.0 * true
    found = target_layers(Description("cnn", SHAPE, 3, 1).build())
    expected = 0
    for one in found:
        mine = one.of(same.astype(np.float64))
        assert set(mine.mean(axis=1)) <= {0.0, 1.0}  # whole filters
        kept = 0 if placement == "everywhere" else one.channels - round(share * one.channels)
        assert mine[:, 0].sum() == kept
        expected += kept * one.size
    assert same.sum() == expected


def test_filters_are_shortened_on_request():
    plain = PublishedUpload(training(), 50.0, "gradcam", 0.75).run(blocks())
    short = PublishedUpload(training(), 50.0, "gradcam", 0.75, shorten=True).run(blocks())
    for one in target_layers(Description("cnn", SHAPE, 3, 1).build()):
        longest = [np.linalg.norm(one.of(some), axis=1).max() / 10 for some in (plain, short)]
        assert longest[0] > 5.0  # noise of 5 in each of at least 9 numbers
        assert longest[1] < 2.0


def test_noise_has_the_published_spread():
    """40 runs: the standard deviation is known to 1 % (100,000 draws)."""
    work = PublishedUpload(training(), 2.0, "everywhere", 0.25)
    true = exact(work)
    found = np.concatenate([work.run(blocks())[:-1] / 10 - true for _ in range(8)])
    assert found.std() == pytest.approx(2.0 / 10, rel=0.02)
    assert abs(found.mean()) < 0.01


def test_the_published_formula_gives_the_published_variance():
    """Learning rate .001, clip 5, 600 rows, epsilon 1 over 100 accesses: about 1e-4, as told."""
    settings = FedAvgClassifier(
        noise="dp_faithful", rounds=1000, fraction=0.1, learning_rate=0.001
    )._settings()
    assert settings.bound == 5.0
    scale = settings.published_scale(1.0, 1e-5) / 600
    assert scale == pytest.approx(math.sqrt(2 * math.log(1.25e5)) * 2 * 0.001 * 5 / 600 / 0.01)
    assert 3e-5 < scale**2 < 1e-3


def test_gradients_are_clipped_where_published():
    """A step is no longer than learning rate x clip."""
    start = training().weights.astype(np.float32).astype(np.float64)
    one = training(batch=10, gradient_clip=1e-3)
    moved = flatten(one.train(*one.read(blocks()))) - start
    assert np.linalg.norm(moved) == pytest.approx(0.1 * 1e-3, rel=1e-2)


def test_updates_are_no_longer_than_their_bound():
    for bound in (1e-3, 0.05, 1e3):
        work = ClientUpdate(training(), bound)
        grid = bound * 2.0**-30
        length = np.linalg.norm(work.clipped(blocks(), grid).astype(np.float64)) * grid
        assert length <= bound * (1 + 1e-9)
        if bound < 0.01:
            assert length == pytest.approx(bound, rel=1e-5)


def test_work_is_deterministic_and_travels():
    for work in (ClientUpdate(training(), 1.0, counted=True), ClientUpdate(training(), 1.0)):
        packed = Packer().pack(work)
        other = Unpacker().unpack(packed.body)
        assert (other.run(blocks()) == work.run(blocks())).all()
        assert other.size == work.size
    packed = Packer().pack(PublishedUpload(training(), 1.0, "gradcam", 0.5))
    assert Unpacker().unpack(packed.body).placement == "gradcam"


@pytest.mark.parametrize("weights", [np.zeros(3), np.full(10, np.nan), np.full(10, np.inf)])
def test_weights_that_fit_no_network_are_refused(weights):
    count = len(training().weights)
    given = weights if len(weights) == 3 else np.resize(weights, count)
    with pytest.raises(SettingError):
        training(weights=given)


def test_rows_without_a_class_are_left_out():
    some = blocks()
    more = blocks()
    more[0].kept[IMAGES] = np.concatenate([some[0].kept[IMAGES], some[0].kept[IMAGES][:3]])
    more[0].kept[CLASSES] = np.concatenate([some[0].kept[CLASSES], np.array([-1, 3, 99], np.int32)])
    work = ClientUpdate(training(), 1.0)
    assert (work.run(some) == work.run(more)).all()


# -- how many clients ----------------------------------------------------------------------------


def test_more_clients_need_less_noise_each():
    few, many = (client_noise(n, epsilon=0.5) for n in (100, 10_000))
    assert few.delta == pytest.approx(100**-1.1)
    assert many.noise_multiplier > few.noise_multiplier  # a smaller delta
    assert many.length < few.length / 50
    assert few.per_round == 10
    assert few.length == pytest.approx(math.sqrt(26_010) * few.noise_multiplier / 10)


def test_the_number_of_clients_is_enough_and_not_far_too_many():
    settings = {"fraction": 1.0, "rounds": 20, "parameters": 1000}
    found = clients_needed(epsilon=2.0, **settings)
    assert found.length <= 1.0
    assert client_noise(int(found.clients / 1.2), epsilon=2.0, **settings).length > 1.0
    assert clients_needed(epsilon=8.0, **settings).clients < found.clients


def test_all_clients_in_every_round_have_a_closed_form():
    one = client_noise(1000, epsilon=1.0, fraction=1.0, rounds=4, delta=1e-5)
    assert one.noise_multiplier == pytest.approx(2 * 3.7303, rel=1e-3)


@pytest.mark.parametrize(
    "settings",
    [{"clients": 1}, {"clients": 2.5}, {"rounds": 0}, {"fraction": 0.0}, {"fraction": 2.0},
     {"parameters": 0}, {"epsilon": math.inf}, {"epsilon": 0.0}, {"delta": 3.0}],
)  # fmt: skip
def test_impossible_populations_are_refused(settings):
    with pytest.raises(SettingError):
        client_noise(**{"clients": 100, **settings})


@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf])
def test_impossible_lengths_are_refused(length):
    with pytest.raises(SettingError):
        clients_needed(length=length)


# -- what a hostile server may ask -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"epochs": one}, "epochs") for one in (0, 1001, 10**12, 1.5, True, "1")),
        *(({"batch": one}, "batch") for one in (0, -1, 2**20 + 1, 2.0)),
        *(({"seed": one}, "seed") for one in (-1, 2**64, 0.5)),
        *(({"learning_rate": one}, "learning_rate") for one in (0.0, -1.0, 1e4, math.nan, "1")),
        *(({"gradient_clip": one}, "gradient_clip") for one in (0.0, math.inf, math.nan, 1e7)),
        *(({"means": one}, "means") for one in ((math.nan,), (1e7,), ("dark",))),
        *(({"spreads": one}, "spreads") for one in ((0.0,), (math.inf,), (1e7,))),
        ({"means": (0.5, 0.5), "spreads": (1.0, 1.0)}, "one per channel"),
        *(({"bits": one}, "bits") for one in (7, 64, 8.0)),
        ({"weights": np.zeros(3)}, "must have shape"),
        ({"image_shape": (1, 4096, 4096)}, "numbers"),
    ],
)
def test_no_question_keeps_a_client_at_work_for_ever(change, message):
    with pytest.raises(SettingError, match=message):
        training(**change)


def test_questions_that_make_sense_are_answered():
    training(epochs=1000, batch=2**20, seed=2**64 - 1, learning_rate=1e3, gradient_clip=1e6)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf, 1e10, "1"])
def test_bounds_of_updates_are_checked(bound):
    with pytest.raises(SettingError, match="bound"):
        ClientUpdate(training(), bound)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ((math.nan, "everywhere", 0.5), "scale"),
        ((-1.0, "everywhere", 0.5), "scale"),
        ((1.0, "nowhere", 0.5), "placement"),
        ((1.0, ["random"], 0.5), "placement"),
        ((1.0, "random", 0.0), "noisy_share"),
        ((1.0, "random", math.nan), "noisy_share"),
        ((1.0, "random", 2.0), "noisy_share"),
    ],
)
def test_published_uploads_are_checked(facts, message):
    with pytest.raises(SettingError, match=message):
        PublishedUpload(training(), *facts)
