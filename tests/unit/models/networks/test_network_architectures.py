"""Networks by name: what is built, what is refused, and what stays as it began."""

import network_modules  # noqa: F401
import numpy as np
import pytest
import torch
from torch import nn

from voile.errors import SettingError
from voile.models.networks.architectures import (
    Description,
    initial_weights,
    parameter_count,
    register,
)
from voile.models.networks.included import make_cnn, make_resnet18
from voile.models.networks.parameters import (
    flatten,
    trained_parameters,
    unflatten,
)


def test_the_small_cnn_has_26010_parameters():
    assert parameter_count(Description("cnn", (1, 28, 28), 10)) == 26_010


def test_residual_networks_are_as_large_as_they_say():
    assert 77_000 < parameter_count(Description("resnet8", (1, 28, 28), 10)) < 79_000
    with torch.device("meta"):
        count = sum(p.numel() for p in make_resnet18((3, 32, 32), 10).parameters())
    assert 11_100_000 < count < 11_200_000


@pytest.mark.parametrize("name", ["cnn", "resnet8"])
@pytest.mark.parametrize(
    "shape",
    [(1, 28, 28), (3, 28, 28), (1, 8, 8), (2, 5, 9), (1, 1, 1), (3, 48, 33), (1, 64, 64)],
)
def test_included_networks_read_images_of_any_shape(name, shape):
    module = Description(name, shape, 7).build()
    assert module(torch.randn(3, *shape)).shape == (3, 7)
    assert not [one for one in module.modules() if isinstance(one, nn.BatchNorm2d)]
    assert sum(p.numel() for p in module.parameters()) < 80_000


def test_a_seed_decides_the_beginning_and_leaves_torch_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, same, other = (initial_weights(Description("cnn", (1, 8, 8), 3, s)) for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert np.abs(one - other).max() > 0.01
    assert torch.equal(torch.rand(3), expected)


def test_weights_go_in_and_out_with_parameters_without_dimensions():
    description = Description("test odd", (1, 4, 4), 3)
    module = description.build()
    weights = np.arange(parameter_count(description), dtype=np.float64)
    assert len(weights) == 1 + 6 * 3 + 3
    unflatten(module, weights)
    assert module.gain.item() == 0.0
    assert np.array_equal(flatten(module), weights)
    with pytest.raises(SettingError, match="22 parameters"):
        unflatten(module, weights[1:])


def test_frozen_parameters_are_not_trained():
    module = Description("test odd", (1, 4, 4), 3).build()
    assert module.frozen.numel() == 16
    assert not any(p is module.frozen for p in trained_parameters(module))


@pytest.mark.parametrize(
    "layer",
    [nn.BatchNorm2d(1), nn.SyncBatchNorm(1), nn.InstanceNorm2d(1, track_running_stats=True)],
)
def test_running_statistics_are_refused(layer):
    name = f"test statistics of {type(layer).__name__}"

    def factory(shape, classes):
        return nn.Sequential(layer, nn.Flatten(), nn.Linear(16, classes))

    register(name, factory)
    with pytest.raises(SettingError, match=r"running statistics.*Use GroupNorm"):
        Description(name, (1, 4, 4), 3).build()


class Remembers(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.register_buffer("sum", torch.zeros(3) if kind != "count" else torch.tensor(0))
        self.last = nn.Linear(16, 3)

    def forward(self, images):
        if self.training:
            if self.kind == "new":
                self.sum = images.mean().expand(3)
            elif self.kind == "count":
                self.sum += len(images)
            else:
                self.sum.add_(images.mean())
        return self.last(images.flatten(1))


@pytest.mark.parametrize("kind", ["in place", "new", "count"])
def test_buffers_that_training_changes_are_refused(kind):
    register(f"test remembers {kind}", lambda shape, classes: Remembers(kind))
    with pytest.raises(SettingError, match=r"buffer 'sum'.*without noise"):
        Description(f"test remembers {kind}", (1, 4, 4), 3).build()


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda shape, classes: "no module", "made no torch"),
        (lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(16, 9)), "scores of shape"),
        (lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(15, 3)), "cannot read"),
        (lambda shape, classes: nn.Flatten(), "0 parameters"),
    ],
)
def test_factories_that_make_something_else_are_refused(factory, message):
    name = f"test bad {message}"
    register(name, factory)
    with pytest.raises(SettingError, match=message):
        Description(name, (1, 4, 4), 3).build()


def test_names_belong_to_one_factory():
    register("cnn", make_cnn)
    with pytest.raises(SettingError, match="another architecture 'cnn'"):
        register("cnn", lambda shape, classes: nn.Flatten())
    for name, factory in (("", nn.Flatten), (3, nn.Flatten), ("x", 3)):
        with pytest.raises(SettingError, match="needs a name"):
            register(name, factory)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", (1, 4, 4), 3), "no architecture 'nothing'"),
        (("cnn", (4, 4), 3), "image shape"),
        (("cnn", (1, 0, 4), 3), "image shape"),
        (("cnn", (1, 4.0, 4), 3), "image shape"),
        (("cnn", (1, 4, 4), 1), "classes"),
        (("cnn", (1, 4, 4), True), "classes"),
        (("cnn", (1, 4, 4), 3, -1), "seed"),
        (("cnn", (1, 4, 4), 3, 2**63), "seed"),
    ],
)
def test_descriptions_are_checked(arguments, message):
    with pytest.raises(SettingError, match=message):
        Description(*arguments)
