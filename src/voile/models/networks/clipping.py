"""Gradients of single examples: each by itself, their lengths in closed form, and clipped sums.

Convolutions and dense layers need their inputs and what flows back into their outputs, recorded in
one pass (Goodfellow 2015). A length is computed without forming the gradient ("ghost", Li et al.
2022) where that is cheaper than forming it (Bu et al. 2022). Networks of other layers are
differentiated by `torch.func.vmap`. Opacus keeps state in modules and optimisers, adds rows up in
floating point and has no closed form for convolutions, hence own code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional, grad

from voile.models.networks.parameters import trained_parameters
from voile.models.networks.state import Snapshot

Pull = Callable[[torch.Tensor], torch.Tensor]
"""From scores (rows, classes) to the gradient of each row's loss by them, same shape."""


def cross_entropy_pull(classes: torch.Tensor) -> Pull:
    """For the cross-entropy of classes, shape (rows,); a class below 0 makes the row count nothing.

    The gradient by the scores is softmax minus one at the class.
    """
    known = classes >= 0
    places = classes.clamp(min=0).unsqueeze(1)

    def pull(scores: torch.Tensor) -> torch.Tensor:
        result = torch.softmax(scores, dim=1)
        result.scatter_add_(1, places, -torch.ones_like(result[:, :1]))
        return torch.where(known.unsqueeze(1), result, torch.zeros_like(result))

    return pull


@dataclass(frozen=True, eq=False)
class Layer:
    """A recorded layer: its module and where its parameters stand among the trained ones."""

    module: nn.Module
    weight: int | None
    bias: int | None


class PerExample:
    """Differentiates a network example by example.

    Parameters
    ----------
    module : nn.Module
        In evaluation mode; gets hooks, so it is not to be used elsewhere.
    image_shape : tuple of int
        Channels, height, width.
    way : str, optional
        As found for another copy; without it, found by passes over zeros.

    Attributes
    ----------
    way : {"recorded", "vmap", "one by one"}
        How gradients are found: recorded layers, or what this network needs instead.
    """

    def __init__(
        self, module: nn.Module, image_shape: tuple[int, int, int], way: str | None = None
    ) -> None:
        self.module = module
        self.parameters = trained_parameters(module)
        self._seen: list[tuple[Layer, torch.Tensor, torch.Tensor, object]] = []
        self.way = way or "recorded"
        layers = _layers(module, self.parameters) if self.way == "recorded" else None
        handles = [one.module.register_forward_hook(self._recorder(one)) for one in layers or ()]
        if way is None and (layers is None or not self._records(len(layers), image_shape)):
            for handle in handles:
                handle.remove()
            self.way = "vmap" if self._maps(image_shape) else "one by one"

    def _recorder(self, layer: Layer) -> Callable[..., None]:
        def record(module: nn.Module, inputs: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
            self._seen.append((layer, inputs[0], out, out.grad_fn))

        return record

    def _forward(self, images: torch.Tensor) -> torch.Tensor:
        self._seen.clear()
        scores: torch.Tensor = self.module(images)
        return scores

    def _records(self, layers: int, image_shape: tuple[int, int, int]) -> bool:
        """Whether each layer is used once, rows come first, and no output is changed in place."""
        with torch.enable_grad():
            self._forward(torch.zeros(2, *image_shape))
        seen, fits = self._seen, True
        for layer, before, after, made_by in seen:
            dimensions = 4 if isinstance(layer.module, nn.Conv2d) else 2
            fits &= before.dim() >= dimensions and len(before) == len(after) == 2
            fits &= after.grad_fn is made_by
        used = {id(one[0]) for one in seen}
        self._seen = []
        return bool(fits) and len(seen) == len(used) == layers

    def _maps(self, image_shape: tuple[int, int, int]) -> bool:
        """Whether vmap can follow, and leaves nothing behind (as it does in recurrent layers)."""
        before, classes = Snapshot(self.module, "", []), torch.zeros(2, dtype=torch.int64)
        try:
            self._mapped(torch.zeros(2, *image_shape), cross_entropy_pull(classes))
        except (RuntimeError, TypeError, ValueError):
            return False
        return before.change() is None

    def gradients(self, images: torch.Tensor, pull: Pull) -> list[torch.Tensor]:
        """Gradient of each row by each trained parameter, in order: each (rows, its numbers).

        Parameters
        ----------
        images : tensor of shape (rows, channels, height, width)
        pull : callable
            From `cross_entropy_pull`.
        """
        if self.way == "vmap":
            return self._mapped(images, pull)
        if self.way == "one by one":
            return self._one_by_one(images, pull)
        result: list[torch.Tensor | None] = [None] * len(self.parameters)
        for layer, before, back in self._backward(images, pull):
            for place, gradient in _layer_gradients(layer, before, back):
                result[place] = gradient
        # A parameter that the scores do not depend on.
        return [
            torch.zeros(len(images), p.numel()) if one is None else one
            for one, p in zip(result, self.parameters, strict=True)
        ]

    def clipped_sum(
        self, images: torch.Tensor, pull: Pull, clip: float
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Sum of the gradients, each cut to norm ``clip``, and their norms before, shape (rows,).

        Rows are added in floating point: quick, and not for sums that are noised
        (docs/proofs/network.md). Rows whose gradient is not finite count nothing.
        """
        if self.way != "recorded":
            gradients = self.gradients(images, pull)
            norms = sum((g.double().square().sum(1) for g in gradients), torch.zeros(len(images)))
            factors, norms = _factors(norms, clip)
            lost = ~norms.isfinite()
            return [factors @ _without(g, lost) for g in gradients], norms
        flows = self._backward(images, pull)
        squares = torch.zeros(len(images), dtype=torch.float64)
        formed: list[list[tuple[int, torch.Tensor]] | None] = []
        for layer, before, back in flows:
            if _ghost_is_cheaper(layer, before, back):
                squares += _ghost_squares(layer, before, back).double()
                formed.append(None)
            else:
                formed.append(_layer_gradients(layer, before, back))
                for _, gradient in formed[-1] or ():
                    squares += gradient.square().sum(1).double()
        factors, norms = _factors(squares, clip)
        result = [torch.zeros(p.numel()) for p in self.parameters]
        lost = ~norms.isfinite()
        for (layer, before, back), own in zip(flows, formed, strict=True):
            if own is None:
                before, back = _without(before, lost), _without(back, lost)
                own = _weighted_sums(layer, before, back, factors)
            else:
                own = [(place, factors @ _without(gradient, lost)) for place, gradient in own]
            for place, total in own:
                result[place] = total.reshape(-1)
        return result, norms

    def _backward(
        self, images: torch.Tensor, pull: Pull
    ) -> list[tuple[Layer, torch.Tensor, torch.Tensor]]:
        """Each layer with its inputs and what flows back into its outputs."""
        with torch.enable_grad():
            scores = self._forward(images)
        outputs = [after for _, _, after, _ in self._seen]
        back = torch.autograd.grad(scores, outputs, pull(scores.detach()), allow_unused=True)
        result = [
            (layer, before.detach(), torch.zeros_like(after) if flow is None else flow)
            for (layer, before, after, _), flow in zip(self._seen, back, strict=True)
        ]
        self._seen.clear()
        return result

    def _mapped(self, images: torch.Tensor, pull: Pull) -> list[torch.Tensor]:
        named = dict(self.module.named_parameters())
        trained = {name: p.detach() for name, p in named.items() if p.requires_grad}
        with torch.no_grad():
            pulls = pull(self.module(images))

        def loss(
            parameters: dict[str, torch.Tensor], image: torch.Tensor, flow: torch.Tensor
        ) -> torch.Tensor:
            scores = torch.func.functional_call(self.module, parameters, (image.unsqueeze(0),))
            value: torch.Tensor = (scores[0] * flow).sum()
            return value

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
        found: dict[str, torch.Tensor] = each(trained, images, pulls)
        return [found[name].reshape(len(images), -1) for name in trained]

    def _one_by_one(self, images: torch.Tensor, pull: Pull) -> list[torch.Tensor]:
        with torch.no_grad():
            pulls = pull(torch.cat([self.module(image.unsqueeze(0)) for image in images]))
        rows = []
        for image, flow in zip(images, pulls, strict=True):
            with torch.enable_grad():
                scores = self.module(image.unsqueeze(0))
            found = torch.autograd.grad(scores[0], self.parameters, flow, allow_unused=True)
            rows.append(
                [
                    torch.zeros(p.numel()) if g is None else g.reshape(-1)
                    for g, p in zip(found, self.parameters, strict=True)
                ]
            )
        return [torch.stack(column) for column in zip(*rows, strict=True)]


def _factors(squares: torch.Tensor, clip: float) -> tuple[torch.Tensor, torch.Tensor]:
    norms = squares.clamp(min=0.0).sqrt()
    factors = (clip / norms.clamp(min=1e-30)).clamp(max=1.0)
    return torch.where(norms.isfinite(), factors, torch.zeros_like(factors)).float(), norms


def _without(values: torch.Tensor, lost: torch.Tensor) -> torch.Tensor:
    """Zeros instead of lost rows: infinity times a factor of 0 is not 0."""
    if not lost.any():
        return values
    return torch.where(lost.reshape(-1, *[1] * (values.dim() - 1)), 0.0, values)


def _layers(module: nn.Module, parameters: list[nn.Parameter]) -> list[Layer] | None:
    """All layers with trained parameters, or None if one of them cannot be recorded."""
    places = {id(parameter): place for place, parameter in enumerate(parameters)}
    result, found = [], 0
    for one in module.modules():
        own = {name: places[id(p)] for name, p in one._parameters.items() if id(p) in places}
        if not own:
            continue
        if not isinstance(one, nn.Conv2d | nn.Linear | nn.GroupNorm | nn.LayerNorm):
            return None
        if isinstance(one, nn.Conv2d) and (
            one.padding_mode != "zeros" or isinstance(one.padding, str)
        ):
            return None
        found += len(own)
        result.append(Layer(one, own.get("weight"), own.get("bias")))
    # A parameter of two layers, or under another name.
    places_seen = {place for one in result for place in (one.weight, one.bias) if place is not None}
    return result if found == len(places_seen) == len(parameters) else None


def _windows(layer: nn.Conv2d, images: torch.Tensor) -> torch.Tensor:
    """What each output pixel sees: (rows, groups, pixels, inputs per group)."""
    seen = functional.unfold(images, layer.kernel_size, layer.dilation, layer.padding, layer.stride)  # type: ignore[arg-type]
    return seen.reshape(len(images), layer.groups, -1, seen.shape[2]).transpose(2, 3)


def _flows(layer: nn.Conv2d, back: torch.Tensor) -> torch.Tensor:
    """What flows back, (rows, groups, outputs per group, pixels)."""
    rows, channels = back.shape[:2]
    return back.reshape(rows, layer.groups, channels // layer.groups, -1)


def _layer_gradients(
    layer: Layer, before: torch.Tensor, back: torch.Tensor
) -> list[tuple[int, torch.Tensor]]:
    """Place of each parameter of a layer, and its gradients of shape (rows, numbers)."""
    module, rows, result = layer.module, len(before), []
    if isinstance(module, nn.Conv2d):
        if layer.weight is not None:
            result.append((layer.weight, _convolution_gradients(module, before, back)))
        if layer.bias is not None:
            result.append((layer.bias, back.flatten(2).sum(2)))
        return result
    if isinstance(module, nn.Linear):
        inputs = before.reshape(rows, -1, before.shape[-1])
        flow = back.reshape(rows, -1, back.shape[-1])
        if layer.weight is not None:
            result.append((layer.weight, (flow.transpose(1, 2) @ inputs).reshape(rows, -1)))
        if layer.bias is not None:
            result.append((layer.bias, flow.sum(1)))
        return result
    return _norm_gradients(layer, before, back)


def _convolution_gradients(
    layer: nn.Conv2d, before: torch.Tensor, back: torch.Tensor
) -> torch.Tensor:
    """One convolution with a group per row finds all rows' gradients (Rochette et al. 2019)."""
    rows, channels = before.shape[:2]
    outputs, *window = layer.weight.shape
    found: torch.Tensor = grad.conv2d_weight(  # type: ignore[no-untyped-call]
        before.reshape(1, rows * channels, *before.shape[2:]),
        (rows * outputs, *window),
        back.reshape(1, rows * outputs, *back.shape[2:]),
        layer.stride,
        layer.padding,
        layer.dilation,
        rows * layer.groups,
    )
    return found.reshape(rows, -1)


def _norm_gradients(
    layer: Layer, before: torch.Tensor, back: torch.Tensor
) -> list[tuple[int, torch.Tensor]]:
    module, rows, result = layer.module, len(before), []
    if isinstance(module, nn.GroupNorm):
        plain = functional.group_norm(before, module.num_groups, eps=module.eps)
        both = (plain * back).reshape(rows, module.num_channels, -1).sum(2)
        sums = back.reshape(rows, module.num_channels, -1).sum(2)
    else:
        assert isinstance(module, nn.LayerNorm)
        shape = list(module.normalized_shape)
        plain = functional.layer_norm(before, shape, eps=module.eps)
        size = module.weight.numel()
        both = (plain * back).reshape(rows, -1, size).sum(1)
        sums = back.reshape(rows, -1, size).sum(1)
    if layer.weight is not None:
        result.append((layer.weight, both))
    if layer.bias is not None:
        result.append((layer.bias, sums))
    return result


def _ghost_is_cheaper(layer: Layer, before: torch.Tensor, back: torch.Tensor) -> bool:
    """Whether 2 T^2 numbers are fewer than those of the gradient; T the number of pixels."""
    module = layer.module
    if isinstance(module, nn.Conv2d):
        pixels = back[0, 0].numel()
        return 2 * pixels**2 * module.groups < module.weight.numel()
    if isinstance(module, nn.Linear):
        tokens = before[0].numel() // before.shape[-1]
        return 2 * tokens**2 < module.weight.numel()
    return False


def _ghost_squares(layer: Layer, before: torch.Tensor, back: torch.Tensor) -> torch.Tensor:
    """Squared length of each row's gradient, from products of inputs and of flows, (rows,)."""
    module, rows = layer.module, len(before)
    result = torch.zeros(rows)
    if isinstance(module, nn.Conv2d):
        flow = _flows(module, back)
        if layer.weight is not None:
            seen = _windows(module, before)
            alike = (seen @ seen.transpose(2, 3)) * (flow.transpose(2, 3) @ flow)
            result = alike.flatten(1).sum(1)
        if layer.bias is not None:
            result = result + back.flatten(2).sum(2).square().sum(1)
        return result
    inputs = before.reshape(rows, -1, before.shape[-1])
    flow = back.reshape(rows, -1, back.shape[-1])
    if layer.weight is not None:
        if inputs.shape[1] == 1:
            result = inputs.square().sum((1, 2)) * flow.square().sum((1, 2))
        else:
            alike = (inputs @ inputs.transpose(1, 2)) * (flow @ flow.transpose(1, 2))
            result = alike.flatten(1).sum(1)
    if layer.bias is not None:
        result = result + flow.sum(1).square().sum(1)
    return result


def _weighted_sums(
    layer: Layer, before: torch.Tensor, back: torch.Tensor, factors: torch.Tensor
) -> list[tuple[int, torch.Tensor]]:
    """Sum over rows of factor times gradient, without the gradients."""
    module = layer.module
    weighted = back * factors.reshape(-1, *[1] * (back.dim() - 1))
    result = []
    if isinstance(module, nn.Conv2d):
        if layer.weight is not None:
            total = grad.conv2d_weight(  # type: ignore[no-untyped-call]
                before,
                module.weight.shape,
                weighted,
                module.stride,
                module.padding,
                module.dilation,
                module.groups,
            )
            result.append((layer.weight, total))
        if layer.bias is not None:
            result.append((layer.bias, weighted.sum((0, 2, 3))))
        return result
    flow = weighted.reshape(-1, back.shape[-1])
    if layer.weight is not None:
        result.append((layer.weight, flow.T @ before.reshape(-1, before.shape[-1])))
    if layer.bias is not None:
        result.append((layer.bias, flow.sum(0)))
    return result
