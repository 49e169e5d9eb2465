"""Placing noise: the split is the best at its price, masks and groups are what they say."""

import network_modules  # noqa: F401
import numpy as np
import pytest
import torch

from voile.errors import SettingError
from voile.models.networks.architectures import (
    Description,
    initial_weights,
)
from voile.models.networks.parameters import (
    unflatten,
)
from voile.models.networks.placement import (
    Placed,
    channel_groups,
    channel_importances,
    made_up_images,
    selective,
    sparse,
    split_noise,
    uniform,
)

DESCRIPTION = Description("cnn", (1, 12, 12), 3, 4)


def images(rows=8):
    return made_up_images(DESCRIPTION, np.random.default_rng(1), rows)


def test_the_split_costs_its_price_and_no_other_split_is_better():
    generator = np.random.default_rng(0)
    for _ in range(20):
        clips, importances, sizes = generator.uniform(0.1, 3.0, (3, 7))
        mu = generator.uniform(0.1, 2.0)
        scales = split_noise(clips, importances, sizes, mu)
        assert np.sqrt(((clips / scales) ** 2).sum()) == pytest.approx(mu)
        harm = (importances * sizes * scales**2).sum()
        for size in (0.01, 0.3):
            other = scales * np.exp(size * generator.normal(size=7))
            other *= np.sqrt(((clips / other) ** 2).sum()) / mu
            assert (importances * sizes * other**2).sum() > harm


def test_equal_importance_is_uniform_noise():
    sizes = np.array([3.0, 50.0, 700.0])
    scales = split_noise(np.sqrt(sizes), np.ones(3), sizes, np.sqrt(sizes.sum()))
    assert np.allclose(scales, 1.0)


def test_groups_are_the_channels_of_convolutions():
    groups, layers = channel_groups(DESCRIPTION)
    assert [channels for _, _, channels in layers] == [16, 32]
    assert len(groups) == len(initial_weights(DESCRIPTION))
    counts = np.bincount(groups)
    assert counts[1:17].tolist() == [3 * 3 + 1] * 16
    assert counts[17:49].tolist() == [16 * 3 * 3 + 1] * 32
    module = DESCRIPTION.build()
    unflatten(module, (groups == 5).astype(np.float64))
    first = module[0].requires_grad_(False)
    assert float(first.weight[4].min()) == float(first.bias[4]) == 1.0
    assert float(first.weight.sum()) == 9.0


def test_importances_are_grad_cam_weights():
    weights = initial_weights(DESCRIPTION)
    found = channel_importances(DESCRIPTION, weights, images())
    last = [name for name in found if len(found[name]) == 32]
    assert len(found) == 2
    # By finite differences: all pixels of one channel of the last convolution raised a little.
    module = DESCRIPTION.build()
    unflatten(module, weights)
    module.double()
    chosen = dict(module.named_modules())[last[0]]
    with torch.no_grad():
        plain = module(images().double())
        best = plain.argmax(1)
        slopes = []
        for step in (1e-6, -1e-6):
            handle = chosen.register_forward_hook(
                lambda _, i, out, step=step: out + step * torch.eye(32).double()[7][:, None, None]
            )
            slopes.append(module(images().double())[torch.arange(8), best])
            handle.remove()
        pixels = chosen(torch.zeros(1, 16, 6, 6).double())[0, 0].numel()
    expected = ((slopes[0] - slopes[1]) / 2e-6 / pixels).abs().mean()
    assert found[last[0]][7] == pytest.approx(float(expected), rel=1e-3, abs=1e-9)


def test_selective_noise_spares_important_channels_at_the_same_price():
    weights = initial_weights(DESCRIPTION)
    placed = selective(DESCRIPTION, weights, images())
    found = channel_importances(DESCRIPTION, weights, images())
    _, layers = channel_groups(DESCRIPTION)
    scales = np.array(placed.scales)
    for name, first, channels in layers:
        own = scales[first : first + channels]
        assert np.argmin(own) == np.argmax(found[name])
        assert own.max() > 1.05 * own.min()
    sizes = np.bincount(placed.groups)
    assert (sizes / scales**2).sum() == pytest.approx(sizes.sum())


def test_the_control_deals_the_same_importances_out_to_other_channels():
    weights = initial_weights(DESCRIPTION)
    right = selective(DESCRIPTION, weights, images())
    dealt = selective(DESCRIPTION, weights, images(), np.random.default_rng(0))
    assert np.allclose(sorted(right.scales[1:17]), sorted(dealt.scales[1:17]))
    assert right.scales[1:17] != dealt.scales[1:17]


def test_importance_needs_convolutions():
    description = Description("test odd", (1, 6, 6), 3)
    with pytest.raises(SettingError, match="no convolutions"):
        selective(description, initial_weights(description), torch.zeros(2, 1, 6, 6))


def test_a_network_without_slopes_gets_uniform_noise():
    weights = np.zeros_like(initial_weights(DESCRIPTION))
    placed = selective(DESCRIPTION, weights, images())
    assert np.allclose(placed.scales, 1.0)


def test_public_images_are_left_as_they_are():
    public = images()
    before = public.clone()
    channel_importances(DESCRIPTION, initial_weights(DESCRIPTION), public)
    assert torch.equal(public, before)
    assert not public.requires_grad


def test_sparse_sends_the_largest_or_any():
    weights = np.array([0.1, -5.0, 3.0, 0.0, 2.0])
    assert sparse(weights, 0.4).mask.tolist() == [1, 2]
    assert sparse(weights, 1e-9).mask.tolist() == [1]
    drawn = sparse(weights, 0.4, np.random.default_rng(0)).mask
    assert len(drawn) == 2
    assert (np.diff(drawn) > 0).all()


def test_released_sums_come_back_to_the_parameters():
    released = np.array([1.0, 2.0, 3.0])
    assert uniform().gradient(released, 3).tolist() == [1.0, 2.0, 3.0]
    assert Placed(mask=np.array([0, 2, 4])).gradient(released, 5).tolist() == [1, 0, 2, 0, 3]
    placed = Placed(np.array([0, 1, 0]), (2.0, 0.5))
    assert placed.gradient(released, 3).tolist() == [2.0, 1.0, 6.0]


def test_made_up_images_are_standardised_and_repeatable():
    found = images(5)
    assert found.shape == (5, 1, 12, 12)
    assert torch.equal(found, images(5))
    assert np.allclose(found.mean((1, 2, 3)), 0.0, atol=1e-5)
    assert np.allclose(found.std((1, 2, 3)), 1.0, atol=1e-4)
