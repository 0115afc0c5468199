"""Attention for many continuations of few prompts, with nothing computed or stored twice.

A GRPO group is G responses to one prompt. Stock attention sees G rows, each with the prompt in
it. Here the prompt's keys and values exist once, and the G branches attend to them and to
themselves: whole in training, and growing by a token in sampling. Prompts that share a few-shot
prefix are themselves branches of that prefix.

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

from .blocks import Shared, block_attention

NAME = "mint_branches"

#: One forward pass at a time: the active plan is a module-level variable.
LOCK = threading.RLock()


class Plan(Protocol):
    """What the attention of one forward pass attends to."""

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        """Return the attention output [rows, heads, tokens, head_dim] of one layer."""
        ...


_plan: Plan | None = None


def under_way() -> Plan:
    """The plan of the forward pass that is under way."""
    assert _plan is not None, "this model samples and learns through LocalBackend only"
    return _plan


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
    plan = under_way()
    unknown = [name for name, value in asked.items() if value is not None]
    unknown = [name for name in unknown if name not in _HARMLESS]
    unknown += ["a mask"] * (attention_mask is not None) + ["both ways"] * (is_causal is False)
    if unknown:
        raise UnknownAttentionError(f"its attention takes {', '.join(sorted(unknown))}")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    out = plan.attend(module.layer_idx, query, key, value, scaling)
    return out.transpose(1, 2).contiguous(), None  # some take a view of it


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, lambda *args, **kwargs: None)


def padding_bias(lengths: Tensor, size: int) -> Tensor:
    """Return [rows, size], 0 on the first ``lengths`` positions of each row and -inf after."""
    positions = torch.arange(size, device=lengths.device)
    bias = torch.zeros(len(lengths), size, device=lengths.device)
    return bias.masked_fill(positions >= lengths[:, None], float("-inf"))


class Tree:
    """Rows of a prompt of P tokens and G branches of R tokens each; with R = 0 plain texts.

    Args:
        lengths: [rows], tokens of each prompt; the rest, up to P, is padding.
        keep: ``cache`` gets the keys and values of each layer [rows * G, K, P + R, d], of every
            branch with its prompt; of plain texts [rows, K, P, d].
        stem: first tokens that all prompts share, and that P and ``lengths`` are without. They
            stand once, before the rows, which follow one another in a single row. Not with
            ``keep``.
    """

    def __init__(
        self, lengths: Tensor, P: int, G: int = 0, R: int = 0, keep: bool = False, stem: int = 0
    ) -> None:
        self._P, self._G, self._R, self._keep = P, G, R, keep
        self._stem, self._many = stem, len(lengths)
        self._padding = padding_bias(stem + lengths, stem + P)
        self.cache: list[tuple[Tensor, Tensor]] = []

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        if self._stem:
            return self._from_stem(q, k, v, scaling)
        shared = (k[:, :, : self._P], v[:, :, : self._P])
        out = _plain_causal(q[:, :, : self._P], *shared, scaling)
        if self._keep:
            self.cache.append((self._texts(k), self._texts(v)))
        if self._R == 0:
            return out
        return torch.cat([out, self._far(q, shared, k, v, scaling)], 2)

    def _from_stem(self, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        """Attend where prompts are branches of what they share, and responses branches of both."""
        S, P = self._stem, self._P
        stem = (k[:, :, :S], v[:, :, :S])
        first = _plain_causal(q[:, :, :S], *stem, scaling)
        q, k, v = (
            x[:, :, S:].reshape(x.shape[1], self._many, -1, x.shape[3]).transpose(0, 1)
            for x in (q, k, v)
        )
        queries, keys, values = (x[None, :, :, :P] for x in (q, k, v))
        out = block_attention(queries, stem, None, keys, values, scaling)[0]
        if self._R:
            far_keys, far_values = (
                torch.cat([shared.expand(self._many, -1, -1, -1), x[:, :, :P]], 2)
                for shared, x in zip(stem, (k, v), strict=True)
            )
            out = torch.cat([out, self._far(q, (far_keys, far_values), k, v, scaling)], 2)
        return torch.cat([first, out.transpose(0, 1).flatten(1, 2)[None]], 2)

    def _far(self, q: Tensor, shared: Shared, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        """Attend from the branches [rows, heads, P + G*R, d]; return [rows, heads, G*R, d]."""
        queries, keys, values = map(self._branches, (q, k, v))
        far = block_attention(queries, shared, self._padding, keys, values, scaling)
        return far.transpose(1, 2).flatten(2, 3)

    def _branches(self, x: Tensor) -> Tensor:  # [B, heads, P + G*R, d] -> [B, G, heads, R, d]
        B, heads, _, d = x.shape
        return x[:, :, self._P :].reshape(B, heads, self._G, self._R, d).transpose(1, 2)

    def _texts(self, x: Tensor) -> Tensor:
        if self._R == 0:
            return x
        prompts = x[:, None, :, : self._P].expand(-1, self._G, -1, -1, -1)
        return torch.cat([prompts, self._branches(x)], 3).flatten(0, 1)


def _plain_causal(q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
    """Attention of plain texts. On a CPU torch's own is slow: see ``blocks``."""
    if q.device.type == "cpu":
        return block_attention(q[:, None], None, None, k[:, None], v[:, None], scaling)[:, 0]
    return F.scaled_dot_product_attention(
        q, k, v, is_causal=q.shape[2] > 1, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
    )
