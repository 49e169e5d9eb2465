"""Heat maps of networks: right where they are known by hand, and nothing left behind."""

import json
import sys

import numpy as np
import pytest
from explained_models import make_receipt
from heat_map_networks import SIDE, Copy, Small, make_images, nn, torch

from voile.errors import DataError, MissingExtra, ModelError, SettingError
from voile.explain.explanation import Explanation
from voile.explain.networks import HeatMaps, explain_images
from voile.explain.networks.attribution import METHODS
from voile.explain.networks.record import NO_RECEIPT

HALF = SIDE // 2


def quadrant():
    result = np.zeros((SIDE, SIDE))
    result[:HALF, :HALF] = 1.0
    return result


def scores_of(module, images):
    module.eval()
    with torch.no_grad():
        return module(torch.as_tensor(images)).numpy()


# -- known by hand ------------------------------------------------------------------------------


@pytest.mark.parametrize("inplace", [False, True])
def test_grad_cam_of_a_copy_is_the_image_times_the_mean_gradient(inplace):
    images = make_images().astype(np.float32)
    found = explain_images(Copy(inplace=inplace), images, target=1)
    # An in-place ReLU zeroes the gradient where the image is below 0, and must not touch the copy.
    seen = images[:, 0] > 0 if inplace else np.ones((len(images), SIDE, SIDE), dtype=bool)
    means = (quadrant() * seen).mean(axis=(1, 2))
    wanted = np.maximum(images[:, 0] * means[:, None, None], 0.0)
    assert found.layer == "copy"
    assert found.maps.dtype == np.float64
    assert np.allclose(found.maps, wanted, atol=1e-6)
    assert not found.empty.any()


def test_grad_cam_of_a_class_that_nothing_speaks_for_is_empty_and_flagged():
    found = explain_images(Copy(), make_images(), target=0)  # its weights are all 0
    assert found.empty.all()
    assert found.constant.all()
    assert not found.maps.any()
    assert "6 of 6 maps are empty" in str(found)


def test_integrated_gradients_of_a_copy_are_the_pixels_that_are_read():
    images = make_images()
    found = explain_images(Copy().double(), images, method="integrated_gradients", target=1)
    assert np.allclose(found.maps, images[:, 0] * quadrant(), atol=1e-12)
    assert found.signed
    assert found.layer == ""
    moved = explain_images(
        Copy().double(), images, method="integrated_gradients", target=1, baseline=2.0
    )
    assert np.allclose(moved.maps, (images[:, 0] - 2.0) * quadrant(), atol=1e-12)


def test_smooth_grad_of_a_copy_is_the_weights():
    found = explain_images(Copy().double(), make_images(), method="smooth_grad", target=1)
    assert np.allclose(found.maps, np.broadcast_to(quadrant(), found.maps.shape), atol=1e-12)


def test_maps_are_drawn_out_bilinearly():
    class Coarse(nn.Module):
        def __init__(self):
            super().__init__()
            self.pick = nn.Conv2d(1, 1, 2, stride=2, bias=False)
            with torch.no_grad():
                self.pick.weight.fill_(0.25)

        def forward(self, images):
            total = self.pick(images).sum(dim=(1, 2, 3))
            return torch.stack([0 * total, total], dim=1)

    images = np.kron(np.array([[1.0, 3.0], [5.0, 9.0]]), np.ones((2, 2)))[None]
    found = explain_images(Coarse().double(), images, target=1)
    along = np.array([[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]])
    wanted = along @ np.array([[1.0, 3.0], [5.0, 9.0]]) @ along.T
    assert np.allclose(found.maps[0], wanted)


def test_grad_cam_agrees_with_its_formula_on_an_ordinary_network():
    module, images = Small().double().eval(), make_images()
    kept = {}
    hook = module.second.register_forward_hook(lambda _m, _i, result: kept.update(z=result))
    scores = module(torch.as_tensor(images))
    hook.remove()
    target = scores.argmax(dim=1)
    picked = scores[torch.arange(len(images)), target].sum()
    weights = torch.autograd.grad(picked, kept["z"])[0].mean(dim=(2, 3), keepdim=True)
    coarse = torch.relu((weights * kept["z"]).sum(dim=1, keepdim=True))
    wanted = nn.functional.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear")[:, 0]
    found = explain_images(module, images)
    assert found.layer == "second"  # used last, but for the shortcut of one pixel
    assert np.allclose(found.maps, wanted.detach().numpy())
    assert (found.targets == target.numpy()).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_integrated_gradients_are_complete(channels):
    module, images = Small(channels=channels).double(), make_images(channels=channels)
    baseline = make_images(1, channels, seed=5)[0]
    found = explain_images(
        module, images, method="integrated_gradients", target=2, baseline=baseline, steps=60
    )
    gained = scores_of(module, images)[:, 2] - scores_of(module, baseline[None])[0, 2]
    assert np.allclose(found.maps.sum(axis=(1, 2)), gained, atol=1e-8)
    assert np.abs(gained).max() > 1e-3


def test_smooth_grad_agrees_with_its_formula():
    module, images = Small(channels=3).double().eval(), make_images(2, channels=3)
    found = explain_images(module, images, method="smooth_grad", target=1, samples=4, seed=3)
    shocks = np.random.default_rng(3).standard_normal((4, 3, SIDE, SIDE))
    for row, image in enumerate(images):
        moved = torch.as_tensor(image + 0.15 * np.ptp(image) * shocks).requires_grad_()
        mean = torch.autograd.grad(module(moved)[:, 1].sum(), moved)[0].mean(dim=0)
        assert np.allclose(found.maps[row], mean.abs().amax(dim=0).numpy())


# -- reproducible -------------------------------------------------------------------------------


def test_smooth_grad_is_equal_for_equal_seeds_only():
    module, images = Small(), make_images()
    settings = {"method": "smooth_grad", "samples": 5, "target": 1}
    torch.manual_seed(1)
    one = explain_images(module, images, seed=7, **settings)
    torch.manual_seed(2)
    assert (one.maps == explain_images(module, images, seed=7, **settings).maps).all()
    other = explain_images(module, images, seed=8, **settings)
    assert not np.allclose(one.maps, other.maps, rtol=1e-3)


def test_torchs_own_chance_is_not_touched():
    torch.manual_seed(4)
    wanted = torch.rand(3)
    torch.manual_seed(4)
    for method in METHODS:
        explain_images(Small(), make_images(2), method=method, samples=2, steps=4)
    assert (torch.rand(3) == wanted).all()


@pytest.mark.parametrize("method", METHODS)
def test_maps_depend_neither_on_batches_nor_on_the_order_of_images(method):
    module, images = Small().double(), make_images(7)
    settings = {"method": method, "samples": 3, "steps": 8}
    whole = explain_images(module, images, **settings)
    for batch_size in (1, 3, 10):
        cut = explain_images(module, images, batch_size=batch_size, **settings)
        assert np.allclose(cut.maps, whole.maps, atol=1e-12)
        assert np.allclose(cut.probabilities, whole.probabilities)
    order = np.random.default_rng(0).permutation(7)
    moved = explain_images(module, images[order], **settings)
    assert np.allclose(moved.maps, whole.maps[order], atol=1e-12)
    assert (moved.targets == whole.targets[order]).all()


@pytest.mark.parametrize("method", METHODS)
def test_renumbered_classes_have_the_same_maps(method):
    module, images = Small().double(), make_images()
    order = [2, 0, 1]
    other = Small().double()
    with torch.no_grad():
        other.head.weight.copy_(module.head.weight[order])
        other.head.bias.copy_(module.head.bias[order])
    settings = {"method": method, "samples": 3, "steps": 8}
    one, two = (explain_images(each, images, **settings) for each in (module, other))
    assert np.allclose(one.maps, two.maps)
    assert [order[k] for k in two.targets] == one.targets.tolist()


# -- nothing left behind ------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("grad", [True, False])
def test_the_module_is_left_as_it_was(method, grad):
    module = Small()
    module.train()
    module.first.eval()
    module.second.weight.requires_grad_(False)
    module.head.weight.grad = torch.full_like(module.head.weight, 3.0)
    modes = {name: part.training for name, part in module.named_modules()}
    state = {name: value.clone() for name, value in module.state_dict().items()}
    images = torch.as_tensor(make_images().astype(np.float32))
    with torch.set_grad_enabled(grad):
        explain_images(module, images, method=method, samples=2, steps=4)
        assert torch.is_grad_enabled() == grad
    assert {name: part.training for name, part in module.named_modules()} == modes
    assert all((value == state[name]).all() for name, value in module.state_dict().items())
    assert (module.head.weight.grad == 3.0).all()
    assert module.first.weight.grad is None
    assert module.first.weight.requires_grad
    assert not module.second.weight.requires_grad
    assert not images.requires_grad
    assert not any(part._forward_hooks or part._backward_hooks for part in module.modules())


def test_a_refused_module_is_left_as_it_was():
    class Broken(Small):
        def forward(self, images):
            return super().forward(images.detach()).detach()

    module = Broken()
    with pytest.raises(ModelError, match="no gradient"):
        explain_images(module, make_images(), method="smooth_grad")
    assert module.training
    assert all(part.training for part in module.modules())
    assert not module.second._forward_hooks


def test_dropout_is_off_and_inference_mode_does_no_harm():
    module, images = Small().train(), make_images().astype(np.float32)
    with torch.inference_mode():
        found = explain_images(module, images)
    assert np.allclose(found.maps, explain_images(module.eval(), images).maps)


@pytest.mark.parametrize("method", METHODS)
def test_a_module_that_opacus_has_wrapped_gives_the_same_maps(method):
    opacus = pytest.importorskip("opacus")
    images, settings = make_images(), {"method": method, "samples": 2, "steps": 4}
    wanted = explain_images(Small().double(), images, **settings)
    wrapped = opacus.GradSampleModule(Small().double()).train()
    assert np.allclose(explain_images(wrapped, images, **settings).maps, wanted.maps)
    assert wrapped.hooks_enabled
    assert wrapped.training
    assert all(one.grad_sample is None for one in wrapped.parameters())


def test_images_of_the_caller_are_not_written_to():
    images = make_images()
    images.setflags(write=False)
    kept = images.copy()
    for method in METHODS:
        explain_images(Small().double(), images, method=method, samples=2, steps=4)
    assert (images == kept).all()


# -- what can be given --------------------------------------------------------------------------


def test_images_without_channels_tensors_and_other_numbers():
    images = np.random.default_rng(0).integers(0, 256, (3, SIDE, SIDE)).astype(np.uint8)
    wanted = explain_images(Small(), images.astype(np.float32)[:, None])
    for given in (images, images.tolist(), torch.as_tensor(images), torch.as_tensor(images).half()):
        assert np.allclose(explain_images(Small(), given).maps, wanted.maps)
    assert wanted.pictures.min() == 0
    assert wanted.pictures.max() == 255
    assert np.abs(wanted.pictures.astype(int) - images).max() <= 1  # stretched to the full range


def test_a_network_behind_to_torch_brings_classes_and_receipt():
    class Private:
        classes_ = np.array(["cat", "dog", "owl"])
        receipt_ = make_receipt()

        def to_torch(self):
            return Small()

    found = explain_images(Private(), make_images(2))
    assert found.outputs == ("cat", "dog", "owl")
    assert found.receipt == make_receipt()
    assert "differential privacy" in str(found)
    plain = explain_images(Small(), make_images(2), classes=["a", "b", "c"])
    assert plain.outputs == ("a", "b", "c")
    assert plain.receipt is NO_RECEIPT
    assert not plain.receipt.has_guarantee
    assert explain_images(Small(), make_images(1), receipt=make_receipt()).receipt.has_guarantee


@pytest.mark.parametrize("flat", [True, False])
def test_a_single_output_is_log_odds_of_the_second_class(flat):
    class Single(Copy):
        def forward(self, images):
            score = super().forward(images)[:, 1:]
            return score[:, 0] if flat else score

    images = make_images()
    found = explain_images(Single().double(), images, method="integrated_gradients", target=1)
    odds = (images[:, 0] * quadrant()).sum(axis=(1, 2))
    assert np.allclose(found.probabilities[:, 1], 1 / (1 + np.exp(-odds)))
    assert np.allclose(found.maps.sum(axis=(1, 2)), odds / 2)
    other = explain_images(Single().double(), images, method="integrated_gradients", target=0)
    assert np.allclose(other.maps, -found.maps)


def test_outputs_that_are_probabilities_stay_what_they_are():
    module, images = Small(), make_images().astype(np.float32)
    scores = torch.as_tensor(scores_of(module, images))
    found = explain_images(nn.Sequential(module, nn.Softmax(dim=1)), images)
    assert np.allclose(found.probabilities, torch.softmax(scores, dim=1).numpy(), atol=1e-6)
    logs = explain_images(nn.Sequential(module, nn.LogSoftmax(dim=1)), images)
    assert np.allclose(logs.probabilities, found.probabilities, atol=1e-6)


def test_a_layer_can_be_named_or_given():
    module, images = Small(), make_images()
    by_name = explain_images(module, images, layer="first")
    assert by_name.layer == "first"
    assert (explain_images(module, images, layer=module.first).maps == by_name.maps).all()
    assert not np.allclose(by_name.maps, explain_images(module, images).maps)
    assert explain_images(module, images, layer="shortcut").layer == "shortcut"


def test_the_last_convolution_is_the_one_used_last_not_the_one_written_last():
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.late = nn.Conv2d(2, 2, 3, padding=1)
            self.early = nn.Conv2d(1, 2, 3, padding=1)
            self.idle = nn.Conv2d(1, 2, 3, padding=1)

        def forward(self, images):
            return self.late(self.early(images)).mean(dim=(2, 3))

    assert explain_images(Turned(), make_images(1)).layer == "late"
    only = nn.Sequential(nn.Conv2d(1, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    assert explain_images(only, make_images(1)).layer == "0"


# -- refusals -----------------------------------------------------------------------------------


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, images):
        return self.conv(self.conv(images)).mean(dim=(2, 3)).repeat(1, 2)


REFUSED = [
    ({"method": "lime"}, SettingError, "method must be one of"),
    ({"method": "smooth_grad", "layer": "first"}, SettingError, "uses no layer"),
    ({"layer": "third"}, SettingError, "no layer 'third'.*first, second, shortcut"),
    ({"layer": "head"}, SettingError, "no feature maps"),
    ({"layer": ""}, SettingError, "no layer ''"),
    ({"target": 3}, SettingError, "target 3 is no class"),
    ({"target": -1}, SettingError, "target -1 is no class"),
    ({"target": [0, 1]}, SettingError, "one for each of the 6"),
    ({"target": 0.5}, SettingError, "number of a class"),
    ({"target": True}, SettingError, "number of a class"),
    ({"target": "cat"}, SettingError, "number of a class"),
    ({"classes": ["a"]}, SettingError, "3 classes, and there are 1 names"),
    ({"batch_size": 0}, SettingError, "batch_size"),
    ({"batch_size": 2.5}, SettingError, "batch_size"),
    ({"steps": 0}, SettingError, "steps"),
    ({"samples": True}, SettingError, "samples"),
    ({"noise": 0}, SettingError, "noise"),
    ({"noise": float("nan")}, SettingError, "noise"),
    ({"noise": "much"}, SettingError, "noise"),
    ({"seed": -1}, SettingError, "seed"),
    ({"baseline": np.zeros(5)}, DataError, "baseline"),
    ({"baseline": "black"}, DataError, "baseline"),
    ({"baseline": np.inf}, DataError, "finite"),
    ({"receipt": "trust me"}, SettingError, "voile.Receipt"),
]


@pytest.mark.parametrize(("settings", "error", "words"), REFUSED)
def test_bad_settings_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        explain_images(Small(), make_images(), **settings)


BAD_IMAGES = [
    (np.zeros((SIDE, SIDE)), "must have shape"),
    (np.zeros((1, 1, 1, SIDE, SIDE)), "must have shape"),
    (np.zeros((0, 1, SIDE, SIDE)), "nothing to explain"),
    (np.full((2, 1, SIDE, SIDE), np.nan), "2 of 2 images"),
    (np.array([["a"]]), "real numbers"),
    (np.zeros((1, SIDE, SIDE), dtype=complex), "real numbers"),
    ([[1.0], [1.0, 2.0]], "no common shape"),
    (None, "real numbers"),
    (np.zeros((1, 3, SIDE, SIDE)), "cannot take images of shape"),
]


@pytest.mark.parametrize(("images", "words"), BAD_IMAGES)
def test_bad_images_are_refused(images, words):
    with pytest.raises(DataError, match=words):
        explain_images(Small(), images)


def spoiled(value):
    module = Small()
    with torch.no_grad():
        module.head.bias.fill_(value)
    return module


class Steep(nn.Module):
    """Finite scores with an infinite gradient at black images."""

    def forward(self, images):
        return torch.sqrt(images).sum(dim=(1, 2, 3))[:, None].repeat(1, 2)


class Pair(Small):
    def forward(self, images):
        return super().forward(images), images


BAD_NETWORKS = [
    (spoiled(np.nan), {}, ModelError, "6 of 6 images"),
    (spoiled(np.inf), {}, ModelError, "not finite"),
    (Steep(), {"method": "smooth_grad", "images": np.zeros((2, 4, 4))}, ModelError, "gradients"),
    (Pair(), {}, ModelError, "a tuple for 6 images"),
    (nn.Conv2d(1, 2, 3), {}, ModelError, "outputs of shape"),
    (nn.Sequential(nn.Flatten(), nn.Linear(SIDE**2, 2)), {}, SettingError, "no convolution"),
    (Twice(), {}, SettingError, "no convolution that is used exactly once"),
    (Twice(), {"layer": "conv"}, SettingError, "used 2 times"),
    (lambda images: images, {}, SettingError, "no network"),
    (None, {}, SettingError, "NoneType is no network"),
]


@pytest.mark.parametrize(("module", "settings", "error", "words"), BAD_NETWORKS)
def test_bad_networks_are_refused(module, settings, error, words):
    settings = {"images": make_images(), **settings}
    with pytest.raises(error, match=words):
        explain_images(module, **settings)


@pytest.mark.parametrize("missing", ["torch", "captum.attr"])
def test_a_missing_library_names_its_extra(missing, monkeypatch):
    module = Small()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=r"voile\[federated\]"):
        explain_images(module, make_images(1))


# -- the record ---------------------------------------------------------------------------------


def test_a_record_goes_to_json_and_back():
    found = explain_images(Small(), make_images(), classes=["a", "b", "c"])
    data = json.loads(found.to_json())
    assert data["method"] == "grad_cam"
    assert data["layer"] == "second"
    assert all(float(f"{one:.6g}") == one for line in data["maps"][0] for one in line)
    for back in (HeatMaps.from_json(found.to_json()), Explanation.from_dict(data)):
        assert back.to_dict() == found.to_dict()
        assert np.allclose(back.maps, found.maps, rtol=1e-5, atol=0)
        assert (back.pictures == found.pictures).all()
        assert back.pictures.dtype == np.uint8
    assert len(found.to_frame()) == 6
    assert set(found.to_frame()["target"]) <= {"a", "b", "c"}


def test_a_record_can_be_cut_and_not_written_to():
    found = explain_images(Small(), make_images(), target=[0, 1, 2, 0, 1, 2])
    assert len(found[2:4]) == 2
    assert found[2:4].targets.tolist() == [2, 0]
    assert (found[-1].maps[0] == found.maps[5]).all()
    with pytest.raises(IndexError):
        found[6]
    for array in (found.maps, found.pictures, found.targets, found.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"maps": [[1.0, 2.0]]}, "shape"),
        ({"maps": [[[None]]]}, "finite"),
        ({"pictures": [[[300]]]}, ">= 0 and <= 255"),
        ({"targets": [3]}, "from 0 to 2"),
        ({"targets": [0.5]}, "whole numbers"),
        ({"probabilities": [[0.5, 0.5]]}, "shape"),
        ({"format": 99}, "format"),
        ({"kind": "global"}, "global"),
        ({"maps": "x"}, "list"),
    ],
)
def test_a_spoiled_record_is_refused(change, words):
    data = explain_images(Small(), make_images(1)).to_dict() | change
    if "maps" not in change and set(change) & {"pictures"}:
        data["maps"] = [[[0.0]]]
    with pytest.raises(DataError, match=words):
        HeatMaps.from_dict(data)
