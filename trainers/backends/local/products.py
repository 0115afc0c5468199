"""Linear layers with LoRA as few products: those that read one input are one.

A decoding pass of SmolLM2 is 633 products as its layers are written: query, key and value, gate and
up, each with two of LoRA's. Here the frozen matrices that read one input stand in one, and so do
LoRA's first halves; the second halves stand in one along its diagonal, and are added in place. That
makes 361. Which layers read one input is seen in a pass, never looked up. The layers' own weights
are views of what stands together, so a step changes both.

It computes what peft's layers do, rounded once less. It is so on the fast path only: a plain pass
of the model goes through the layers as they were, and is what the fast path is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import psutil
import torch
from torch import Tensor

_on = False
#: Weights are held a second time, packed, where that takes no more than this part of free memory.
_SPARE = 0.2


@contextmanager
def together(on: bool = True) -> Iterator[None]:
    """Compute as few products meanwhile. The caller holds ``attention.LOCK``."""
    global _on
    _on, before = on, _on
    try:
        yield
    finally:
        _on = before


def stand_together(model: Any, run: Callable[[], object]) -> list[Together]:
    """Let the LoRA layers of a model compute as few products, within ``together``; return groups.

    Args:
        model: with LoRA on it.
        run: makes a short plain pass, by which it is seen which layers read one input.
    """
    layers = {name: layer for name, layer in model.named_modules() if _is_plain(layer)}
    groups = [Together(group) for group in list(_readers(layers, run))]
    size = sum(group.weight.numel() * group.weight.element_size() for group in groups)
    if size < _SPARE * psutil.virtual_memory().available:
        for group in groups:
            group.packed = _packed(group.weight)
        head = model.get_output_embeddings()
        if type(head) is torch.nn.Linear:  # it is not learned
            packed = _packed(head.weight)
            if packed is not None:
                read: Any = head
                read.forward = partial(_read_out, packed, head.bias, head.forward)
    return groups


def _read_out(
    packed: Tensor, bias: Tensor | None, plain: Callable[[Tensor], Tensor], hidden: Tensor
) -> Tensor:
    """The output layer: what is packed has no gradient."""
    if not _on or torch.is_grad_enabled():
        return plain(hidden)
    return _times(hidden.flatten(0, -2), packed, bias).view(*hidden.shape[:-1], -1)


def _packed(weight: Tensor) -> Tensor | None:
    """Return a bfloat16 matrix as a processor multiplies few rows by it, or None.

    A product of few rows spends a third of its time in laying out the matrix. Done once, that is
    saved. The operations are torch's own, made for its compiler: where they are not, or say
    something else, there is none.
    """
    if weight.dtype != torch.bfloat16 or weight.device.type != "cpu":
        return None
    rows = torch.linspace(-1, 1, 4 * weight.shape[1]).view(4, -1).to(weight.dtype)
    wanted = torch.nn.functional.linear(rows, weight)
    try:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
        found = _times(rows, packed, None)
    except (AttributeError, RuntimeError, TypeError):
        return None
    return packed if torch.allclose(found, wanted, rtol=0.02, atol=1e-3) else None


def _times(rows: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
    return out


def _is_plain(layer: Any) -> bool:
    """Whether it is peft's LoRA around a linear layer, and nothing more than that."""
    from peft.tuners.lora import Linear

    if type(layer) is not Linear or type(layer.base_layer) is not torch.nn.Linear:
        return False
    halves = [*layer.lora_A.values(), *layer.lora_B.values()]
    return (
        len(halves) == 2
        and all(type(half) is torch.nn.Linear and half.bias is None for half in halves)
        and all(isinstance(dropout, torch.nn.Identity) for dropout in layer.lora_dropout.values())
        and not layer.lora_variant
        and layer.base_layer.weight.is_floating_point()
    )


def _readers(layers: dict[str, Any], run: Callable[[], object]) -> Iterator[list[Any]]:
    """Yield groups of layers of one parent that read the very same tensor, one after the other.

    A layer that is called twice in a pass, or never, is in none.
    """
    calls: list[tuple[str, Tensor]] = []  # held, so that no two have one address
    hooks = [
        layer.register_forward_pre_hook(partial(_note, calls, name))
        for name, layer in layers.items()
    ]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    names = [name for name, _ in calls]
    group: list[str] = []
    last: tuple[str, Tensor] | None = None
    for name, read in calls:
        if names.count(name) > 1:
            continue
        parent = name.rpartition(".")[0]
        if last is None or last[0] != parent or last[1] is not read:
            if group:
                yield [layers[member] for member in group]
            group = []
        group.append(name)
        last = (parent, read)
    if group:
        yield [layers[member] for member in group]


def _note(calls: list[tuple[str, Tensor]], name: str, layer: Any, given: tuple[Tensor]) -> None:
    calls.append((name, given[0]))


class Together:
    """LoRA layers that read one input. The first one that is called computes for all."""

    def __init__(self, layers: Sequence[Any]) -> None:
        if len({(layer.scaling["default"], _kind(layer)) for layer in layers}) > 1:
            layers = layers[:1]  # the rest stay as they are
        self.layers = layers
        self.scaling = float(layers[0].scaling["default"])
        self.sizes = [layer.base_layer.weight.shape[0] for layer in layers]
        self.ranks = [layer.lora_A["default"].weight.shape[0] for layer in layers]
        self.halves = [layer.lora_A["default"].weight for layer in layers]
        self.halves += [layer.lora_B["default"].weight for layer in layers]
        self.weight = _one([layer.base_layer.weight for layer in layers])
        self.down = _one(self.halves[: len(layers)])
        self.up = _diagonal(self.halves[len(layers) :])
        biases = [layer.base_layer.bias for layer in layers]
        self.bias = None
        if any(bias is not None for bias in biases):
            self.bias = torch.cat(
                [
                    layer.base_layer.weight.new_zeros(size) if bias is None else bias.detach()
                    for bias, layer, size in zip(biases, layers, self.sizes, strict=True)
                ]
            )
        self.packed: Tensor | None = None  # the weight once more
        self._read: Tensor | None = None
        self._said: Sequence[Tensor] = ()
        for index, layer in enumerate(layers):
            layer.forward = partial(self._forward, index, layer.forward)

    def _forward(self, index: int, plain: Callable[..., Tensor], x: Tensor) -> Tensor:
        if not _on or x.dtype != self.weight.dtype:
            return plain(x)
        if self._read is not x:
            self._read, self._said = x, self._compute(x)
        said = self._said[index]
        if index == len(self.layers) - 1:
            self._read, self._said = None, ()
        return said

    def _compute(self, x: Tensor) -> Sequence[Tensor]:
        if self.layers[0].disable_adapters:
            out = torch.nn.functional.linear(x, self.weight, self.bias)
        elif torch.is_grad_enabled():
            out = _Product.apply(x, self, *self.halves)  # type: ignore[no-untyped-call]
        else:
            out = self.product(x.reshape(-1, x.shape[-1]))[0].view(*x.shape[:-1], -1)
        return torch.split(out, self.sizes, -1)

    def product(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return what all layers make of rows [N, in]: [N, out]; and what is between the halves."""
        if self.layers[0].disable_adapters:
            return torch.nn.functional.linear(rows, self.weight, self.bias), rows[:, :0]
        between = rows @ self.down.T
        if self.packed is None:
            out = torch.nn.functional.linear(rows, self.weight, self.bias)
        else:
            out = _times(rows, self.packed, self.bias)
        return out.addmm_(between, self.up.T, alpha=self.scaling), between

    def gradients(
        self, rows: Tensor, between: Tensor, given: Tensor, wanted: bool = True
    ) -> tuple[Tensor, list[Tensor]]:
        """Return derivatives by the rows (nothing useful, if not wanted), and by the halves."""
        behind = (given @ self.up).mul_(self.scaling)
        by_rows = (given @ self.weight).addmm_(behind, self.down) if wanted else given
        downs = torch.split(behind.T @ rows, self.ranks)
        ups = (given.T @ between).mul_(self.scaling)
        wide = enumerate(torch.split(ups, self.sizes))
        parts = [torch.split(part, self.ranks, 1)[index] for index, part in wide]
        return by_rows, [*downs, *parts]


class _Product(torch.autograd.Function):
    """``Together.product``; LoRA's halves are handed over so that autograd knows of them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Together, *halves: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        out, between = group.product(rows)
        ctx.group, ctx.shape = group, x.shape
        ctx.save_for_backward(rows, between)
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, between = ctx.saved_tensors
        given, wanted = grad.reshape(-1, grad.shape[-1]), ctx.needs_input_grad[0]
        by_rows, halves = ctx.group.gradients(rows, between, given, wanted)
        return (by_rows.view(ctx.shape) if wanted else None, None, *halves)


def _kind(layer: Any) -> tuple[torch.dtype, torch.device, bool]:
    weight = layer.base_layer.weight
    return (weight.dtype, weight.device, layer.lora_A["default"].weight.dtype == weight.dtype)


@torch.no_grad()
def _one(weights: Sequence[Tensor]) -> Tensor:
    """Return the matrices under each other; they become views of it."""
    if len(weights) == 1:
        return weights[0].detach()
    whole = torch.cat([weight.detach() for weight in weights])
    for weight, part in zip(weights, torch.split(whole, list(map(len, weights))), strict=True):
        weight.data = part
    return whole


@torch.no_grad()
def _diagonal(weights: Sequence[Tensor]) -> Tensor:
    """Return a matrix with the others along its diagonal; they become views of it."""
    if len(weights) == 1:
        return weights[0].detach()
    halves = [weight.detach() for weight in weights]
    whole: Tensor = torch.block_diag(*halves)  # type: ignore[no-untyped-call]
    row = column = 0
    for weight in weights:
        rows, columns = weight.shape
        weight.data = whole[row : row + rows, column : column + columns]
        row, column = row + rows, column + columns
    return whole
