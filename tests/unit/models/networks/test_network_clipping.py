"""Gradients of single examples: three ways to find them agree, and so do clipped sums."""

import network_modules  # noqa: F401
import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from voile.models.networks.architectures import Description
from voile.models.networks.clipping import PerExample, cross_entropy_pull

CASES = [
    ("cnn", (1, 28, 28), "recorded"),
    ("cnn", (3, 8, 8), "recorded"),
    ("resnet8", (1, 12, 12), "recorded"),
    ("test varied", (2, 9, 8), "recorded"),
    ("test tokens", (1, 6, 7), "recorded"),
    ("test odd", (1, 4, 4), "vmap"),
    ("test in place", (1, 6, 6), "vmap"),
    ("test shared", (1, 5, 5), "vmap"),
    ("test deciding", (1, 4, 4), "one by one"),
]


def drawn(shape, rows=6, classes=5):
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(rows, *shape, generator=generator)
    return images, torch.arange(rows) % classes


def one_by_one(description, images, classes):
    """By plain autograd, an example at a time."""
    module = description.build()
    parameters = [p for p in module.parameters() if p.requires_grad]
    rows = []
    for image, own in zip(images, classes, strict=True):
        loss = cross_entropy(module(image[None]), own[None])
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        flat = [
            torch.zeros(p.numel()) if g is None else g.flatten()
            for g, p in zip(found, parameters, strict=True)
        ]
        rows.append(torch.cat(flat))
    return torch.stack(rows)


@pytest.mark.parametrize(("name", "shape", "way"), CASES)
def test_gradients_of_examples_are_right(name, shape, way):
    description = Description(name, shape, 5, 1)
    images, classes = drawn(shape)
    per_example = PerExample(description.build(), shape)
    assert per_example.way == way
    found = torch.cat(per_example.gradients(images, cross_entropy_pull(classes)), dim=1)
    expected = one_by_one(description, images, classes)
    assert float((found - expected).abs().max()) < 1e-5 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize(("name", "shape", "way"), CASES)
@pytest.mark.parametrize("clip", [0.1, 1.0, 1e6])
def test_clipped_sums_are_right(name, shape, way, clip):
    description = Description(name, shape, 5, 1)
    images, classes = drawn(shape)
    sums, norms = PerExample(description.build(), shape).clipped_sum(
        images, cross_entropy_pull(classes), clip
    )
    expected = one_by_one(description, images, classes)
    lengths = expected.norm(dim=1)
    total = (expected * (clip / lengths).clamp(max=1.0)[:, None]).sum(0)
    assert np.allclose(norms, lengths, rtol=1e-4)
    assert float((torch.cat(sums) - total).abs().max()) < 1e-5 * max(1.0, float(total.abs().max()))


def test_rows_without_class_count_nothing():
    description = Description("cnn", (1, 8, 8), 5)
    images, classes = drawn((1, 8, 8))
    classes[2] = -1
    found = PerExample(description.build(), (1, 8, 8)).gradients(
        images, cross_entropy_pull(classes)
    )
    assert all(float(part[2].abs().max()) == 0.0 for part in found)
    assert float(found[0][1].abs().max()) > 0.0


def test_rows_that_are_not_finite_count_nothing_in_quick_sums():
    description = Description("cnn", (1, 8, 8), 5)
    images, classes = drawn((1, 8, 8))
    per_example = PerExample(description.build(), (1, 8, 8))
    expected, _ = per_example.clipped_sum(images[:5], cross_entropy_pull(classes[:5]), 1.0)
    images[5] = torch.inf
    sums, norms = per_example.clipped_sum(images, cross_entropy_pull(classes), 1.0)
    assert not torch.isfinite(norms[5])
    assert all(torch.isfinite(one).all() for one in sums)
    assert np.allclose(torch.cat(sums), torch.cat(expected), atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # by Opacus' hooks
@pytest.mark.parametrize(("name", "shape"), [("cnn", (1, 28, 28)), ("resnet8", (3, 12, 12))])
def test_opacus_finds_the_same_gradients(name, shape):
    sampling = pytest.importorskip("opacus.grad_sample")
    description = Description(name, shape, 5, 2)
    images, classes = drawn(shape)
    module = sampling.GradSampleModule(description.build().train(), loss_reduction="sum")
    cross_entropy(module(images), classes, reduction="sum").backward()
    expected = torch.cat([p.grad_sample.flatten(1) for p in module.parameters()], dim=1)
    per_example = PerExample(description.build(), shape)
    found = torch.cat(per_example.gradients(images, cross_entropy_pull(classes)), dim=1)
    assert float((found - expected).abs().max()) < 1e-5
