"""Attention for many continuations of few prompts, with nothing computed or stored twice.

A GRPO group is G responses to one prompt. Stock attention sees G rows, each with the prompt in
it. Here the prompt's keys and values exist once, and the G branches attend to them and to
themselves. One function serves sampling (branches grow by a token) and training (branches are
whole): prompts that share a few-shot prefix are themselves branches of that prefix.

It is plugged into any transformers model through its public ``AttentionInterface``; which rows
are prompt and which are branches is the active ``Plan``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from .blocks import block_attention

NAME = "mint_branches"

#: Scores, of all heads and rows of one layer, that are held while it is fast: 4 MB in float32.
_SCORES = 1 << 20

#: One forward pass at a time: the active plan is a module-level variable.
LOCK = threading.RLock()


class Plan(Protocol):
    """What the attention of one forward pass attends to."""

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        """Return the attention output [rows, heads, tokens, head_dim] of one layer."""
        ...


_plan: Plan | None = None


def is_active() -> bool:
    """Whether a forward pass of ours is under way, and not one of the model by itself."""
    return _plan is not None


@contextmanager
def active(plan: Plan) -> Iterator[None]:
    """Run a forward pass under ``plan``. The caller holds ``LOCK``."""
    global _plan
    _plan = plan
    try:
        yield
    finally:
        _plan = None


class UnknownAttentionError(Exception):
    """A model's attention asks for more than is computed here."""


#: What models hand to attention that changes nothing here. (A window bounds the context instead.)
_HARMLESS = frozenset(
    (
        "dropout", "sliding_window", "position_ids", "cache_position", "position_embeddings",
        "use_cache", "return_dict", "output_attentions", "output_hidden_states",
        "output_router_logits", "logits_to_keep",
    )
)  # fmt: skip


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **asked: Any,
) -> tuple[Tensor, None]:
    assert _plan is not None, "this model samples and learns through LocalBackend only"
    unknown = [name for name, value in asked.items() if value is not None]
    unknown = [name for name in unknown if name not in _HARMLESS]
    unknown += ["a mask"] * (attention_mask is not None) + ["both ways"] * (is_causal is False)
    if unknown:
        raise UnknownAttentionError(f"its attention takes {', '.join(sorted(unknown))}")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    out = _plan.attend(module.layer_idx, query, key, value, scaling)
    return out.transpose(1, 2).contiguous(), None  # some take a view of it


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, lambda *args, **kwargs: None)


def branch_attention(
    q: Tensor,
    prefix: tuple[Tensor, Tensor] | None,
    prefix_bias: Tensor | None,
    own: tuple[Tensor, Tensor],
    own_bias: Tensor | None,
    scaling: float,
) -> Tensor:
    """Attend from branches to their shared prefix and to themselves; softmax in float32.

    Args:
        q: [B, G, H, T, d], G branches of T tokens for each of B prefixes.
        prefix: keys and values [B, K, P, d], shared by the G branches (H is a multiple of K).
        prefix_bias: [B, P], 0 or -inf for padding; None if there is none.
        own: keys and values [B, G, K, S, d] of the branches themselves.
        own_bias: [T, S], 0 or -inf (causal); None if every token sees all S.

    Returns:
        [B, G, H, T, d]; d is that of the values, where it differs.
    """
    keys, values = own
    B, G, H, T, d = q.shape
    K, size = keys.shape[2], values.shape[-1]
    g = H // K
    q = (q * scaling).reshape(B, G, K, g, T, d)
    scores = q.reshape(B, G, K, g * T, d) @ keys.transpose(-1, -2)
    scores = scores.view(B, G, K, g, T, -1).float()
    if own_bias is not None:
        scores = scores + own_bias
    if prefix is None:
        weights = torch.softmax(scores, -1).to(values.dtype)
        out = weights.view(B, G, K, g * T, -1) @ values
        return out.view(B, G, H, T, size)
    P = prefix[0].shape[2]
    # [B, K, G*g*T, d]: the branches of a prefix become one matrix, one product for all of them.
    flat = q.permute(0, 2, 1, 3, 4, 5).reshape(B, K, G * g * T, d)
    far = (flat @ prefix[0].transpose(-1, -2)).view(B, K, G, g, T, P)
    far = far.permute(0, 2, 1, 3, 4, 5).float()
    if prefix_bias is not None:
        far = far + prefix_bias[:, None, None, None, None, :]
    weights = torch.softmax(torch.cat([far, scores], -1), -1).to(values.dtype)
    near = weights[..., P:].reshape(B, G, K, g * T, -1) @ values
    to_prefix = weights[..., :P].permute(0, 2, 1, 3, 4, 5).reshape(B, K, G * g * T, P)
    far_out = (to_prefix @ prefix[1]).view(B, K, G, g, T, size).permute(0, 2, 1, 3, 4, 5)
    return (near.view(B, G, K, g, T, size) + far_out).reshape(B, G, H, T, size)


def long_branch_attention(
    q: Tensor, prefix: tuple[Tensor, Tensor], bias: Tensor, own: tuple[Tensor, Tensor], scale: float
) -> Tensor:
    """Compute what ``branch_attention`` does, in memory that is linear in the branches' length.

    Keys of the prefix are repeated for each branch, which scores would outgrow. ``bias`` is
    [1 or B, 1, T, P + T], 0 or -inf.
    """
    B, G, H, T, _ = q.shape
    K = own[0].shape[2]

    def whole(far: Tensor, near: Tensor) -> Tensor:  # [B * G, H, P + T, d]
        row = torch.cat([far[:, None].expand(B, G, -1, -1, -1), near], 3).flatten(0, 1)
        return row.repeat_interleave(H // K, 1)

    keys, values = (whole(far, near) for far, near in zip(prefix, own, strict=True))
    bias = bias.to(q.dtype)
    mask = bias if len(bias) == 1 else bias.repeat_interleave(G, 0)
    out = F.scaled_dot_product_attention(q.flatten(0, 1), keys, values, mask, scale=scale)
    return out.view(B, G, H, T, -1)


def causal_bias(length: int, device: torch.device) -> Tensor:
    """Return [length, length], 0 where a token may look and -inf where it may not."""
    return torch.full((length, length), float("-inf"), device=device).triu(1)


def padding_bias(lengths: Tensor, size: int) -> Tensor:
    """Return [rows, size], 0 on the first ``lengths`` positions of each row and -inf after."""
    positions = torch.arange(size, device=lengths.device)
    bias = torch.zeros(len(lengths), size, device=lengths.device)
    return bias.masked_fill(positions >= lengths[:, None], float("-inf"))


class Whole:
    """A plain causal pass over right-padded rows; keeps the keys and values of each layer."""

    def __init__(self, keep: bool = False) -> None:
        self.cache: list[tuple[Tensor, Tensor]] = []
        self._keep = keep

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        if self._keep:
            self.cache.append((k, v))
        if q.device.type == "cpu":
            return block_attention(q[:, None], None, None, k[:, None], v[:, None], scaling)[:, 0]
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=q.shape[2] > 1, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
        )


class AfterShared:
    """Prompts that go on from one shared beginning; keeps the whole keys and values."""

    def __init__(self, shared: list[tuple[Tensor, Tensor]], length: int, device: torch.device):
        self.cache: list[tuple[Tensor, Tensor]] = []
        self._shared = shared
        self._causal = causal_bias(length, device)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        shared_k, shared_v = self._shared[layer]
        rows = (len(k), -1, -1, -1)
        self.cache.append(
            (
                torch.cat([shared_k.expand(rows), k], 2),
                torch.cat([shared_v.expand(rows), v], 2),
            )
        )
        out = branch_attention(
            q[None], (shared_k, shared_v), None, (k[None], v[None]), self._causal, scaling
        )
        return out[0]


class Tree:
    """Training rows: a prompt of P tokens, then G branches of R tokens, in one row each.

    With R = 0 they are plain texts of P tokens.
    """

    def __init__(self, prompt_lengths: Tensor, P: int, G: int, R: int) -> None:
        device = prompt_lengths.device
        self._P, self._G, self._R = P, G, R
        self._padding = padding_bias(prompt_lengths, P)
        self._alike = bool((prompt_lengths == prompt_lengths[0]).all())
        self._causal = causal_bias(R, device)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        P, G, R = self._P, self._G, self._R
        if q.device.type == "cpu":
            return self._in_blocks(q, k, v, scaling)
        prompt = F.scaled_dot_product_attention(
            q[:, :, :P],
            k[:, :, :P],
            v[:, :, :P],
            is_causal=True,
            scale=scaling,
            enable_gqa=q.shape[1] != k.shape[1],
        )
        if R == 0:
            return prompt
        branches = self._branches
        prefix, own = (k[:, :, :P], v[:, :, :P]), (branches(k), branches(v))
        if q.shape[0] * q.shape[1] * G * R * (P + R) > _SCORES:
            padding = self._padding[:1] if self._alike else self._padding
            rows = padding[:, None, None, :].expand(-1, 1, R, P)
            bias = torch.cat([rows, self._causal.expand(len(rows), 1, R, R)], -1)
            out = long_branch_attention(branches(q), prefix, bias, own, scaling)
        else:
            out = branch_attention(branches(q), prefix, self._padding, own, self._causal, scaling)
        return torch.cat([prompt, out.transpose(1, 2).flatten(2, 3)], 2)

    def _branches(self, x: Tensor) -> Tensor:  # [B, heads, P + G*R, d] -> [B, G, heads, R, d]
        B, heads, _, d = x.shape
        return x[:, :, self._P :].reshape(B, heads, self._G, self._R, d).transpose(1, 2)

    def _in_blocks(self, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        shared = (k[:, :, : self._P], v[:, :, : self._P])
        keys, values = (x[:, None] for x in shared)
        queries = q[:, None, :, : self._P]
        stem = block_attention(queries, None, None, keys, values, scaling)[:, 0]
        if self._R == 0:
            return stem
        queries, keys, values = map(self._branches, (q, k, v))
        out = block_attention(queries, shared, self._padding, keys, values, scaling)
        return torch.cat([stem, out.transpose(1, 2).flatten(2, 3)], 2)
