"""Attention on a CPU, in blocks of queries: memory is linear in the length, forward and backward.

torch's own kernel takes a quarter of an update of long responses, three quarters of that for the
gradient. Here both are products of matrices. What is kept between them are queries, keys and
values: weights are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

#: Queries of a branch at once. Shapes come back so from text to text, and with them the kernels.
_BLOCK = 128

#: Keys and values that all branches of a row see, each [B, K, P, d].
Shared = tuple[Tensor, Tensor]


def block_attention(
    q: Tensor,
    shared: Shared | None,
    bias: Tensor | None,
    keys: Tensor,
    values: Tensor,
    scaling: float,
) -> Tensor:
    """Attend from branches to what they share, and causally to themselves.

    Args:
        q: [B, G, H, T, d], G branches of T tokens in each of B rows.
        shared: keys and values [B, K, P, d] that all branches of a row see; None if there are none.
        bias: [B, P], 0 or -inf for padding of what is shared; None if there is none.
        keys, values: [B, G, K, T, d] of the branches themselves (H is a multiple of K).
        scaling: of the products of queries and keys.

    Returns:
        [B, G, H, T, d], d that of the values where it differs.
    """
    B, G, H, T, _ = q.shape
    K = keys.shape[2]
    far_keys, far_values = shared or (None, None)
    laid = _Laid(B, G, K, H // K, scaling, bias)
    own = (x.reshape(B * G * K, T, -1) for x in (keys, values))
    rows = q.reshape(B * G * K, H // K, T, -1)
    shared_and_own = (far_keys, far_values, *own)
    out: Tensor = _Attention.apply(laid, rows, *shared_and_own)  # type: ignore[no-untyped-call]
    return out.view(B, G, H, T, -1)


def newest_attention(
    q: Tensor, shared: Shared, bias: Tensor, keys: Tensor, values: Tensor, scaling: float
) -> Tensor:
    """Attend from the newest token of each branch: as ``block_attention``, without a gradient.

    Args:
        q: [B * G, H, 1, d], of G branches in each of B rows.
        shared: keys and values [B, K, P, d] that all branches of a row see.
        bias: [B, P + S], 0 or -inf for what is not there, in the dtype of the scores.
        keys, values: [B, K, G, S, d] of the branches.
        scaling: of the products of queries and keys.

    Returns:
        [B * G, H, 1, d], d that of the values where it differs.
    """
    B, K, G, S, _ = keys.shape
    P, g = shared[0].shape[2], q.shape[1] // K
    queries = (q * scaling).view(B, G, K, g, -1).transpose(1, 2).contiguous()
    near = torch.bmm(queries.view(B * K * G, g, -1), keys.flatten(0, 2).transpose(1, 2))
    far = torch.bmm(queries.view(B * K, G * g, -1), shared[0].flatten(0, 1).transpose(1, 2))
    scores = torch.cat([far.view(B, K, G * g, P), near.view(B, K, G * g, S)], 3)
    weights = torch.softmax(scores.add_(bias[:, None, None]), -1)
    own = torch.bmm(weights[..., P:].reshape(B * K * G, g, S), values.flatten(0, 2))
    all_ = torch.baddbmm(
        own.view(B * K, G * g, -1), weights[..., :P].flatten(0, 1), shared[1].flatten(0, 1)
    )
    return all_.view(B, K, G, g, -1).transpose(1, 2).reshape(B * G, K * g, 1, -1)


@dataclass(frozen=True)
class _Laid:
    """How branches and heads stand in rows: N is B * G * K, each has g heads that read its keys."""

    B: int
    G: int
    K: int
    g: int
    scaling: float
    bias: Tensor | None

    def together(self, x: Tensor) -> Tensor:
        """[N, rows, d] to [B * K, G * rows, d]: one product for all branches of a row."""
        _, rows, d = x.shape
        x = x.view(self.B, self.G, self.K, rows, d).transpose(1, 2)
        return x.reshape(self.B * self.K, self.G * rows, d)

    def apart(self, x: Tensor) -> Tensor:
        """[B * K, G * rows, d] to [B, G, K, rows, d], a view."""
        return x.view(self.B, self.K, self.G, -1, x.shape[-1]).transpose(1, 2)

    def grid(self, x: Tensor) -> Tensor:
        """[N, rows, d] to [B, G, K, rows, d], a view."""
        return x.view(self.B, self.G, self.K, *x.shape[1:])

    def join(self, queries: Tensor, far: Tensor | None, near: Tensor) -> Tensor:
        """Products [N, rows, P + n] with what is shared [B, K, P, d], and with near [N, n, d]."""
        close = torch.bmm(queries, near.transpose(1, 2))
        if far is None:
            return close
        P = far.shape[2]
        both = close.new_empty(*close.shape[:2], P + close.shape[2])
        both[..., P:] = close
        product = torch.bmm(self.together(queries), far.flatten(0, 1).transpose(1, 2))
        self.grid(both)[..., :P] = self.apart(product)
        return both

    def mix(self, weights: Tensor, far: Tensor | None, near: Tensor) -> Tensor:
        """Sums [N, rows, d] of what is shared and near, by weights [N, rows, P + n]."""
        if far is None:
            return torch.bmm(weights, near)
        P = far.shape[2]
        out = torch.bmm(weights[..., P:], near)
        shared = torch.bmm(self.together(weights[..., :P]), far.flatten(0, 1))
        self.grid(out).add_(self.apart(shared))
        return out

    def weights(self, queries: Tensor, far: Tensor | None, near: Tensor, block: slice) -> Tensor:
        """Weights [N, g * rows, P + end]; the softmax computes in float32."""
        scores = self.join(queries, far, near[:, : block.stop])
        P = 0 if far is None else far.shape[2]
        if far is not None and self.bias is not None:
            self.grid(scores)[..., :P].add_(self.bias[:, None, None, None, :])
        size = block.stop - block.start
        later = torch.full((size, size), float("-inf"), device=scores.device).triu_(1)
        diagonal = scores.view(len(scores), self.g, size, -1)[..., P + block.start :]
        diagonal.add_(later)
        return torch.softmax(scores, -1)


def _blocks(length: int) -> Iterator[slice]:
    return (slice(at, min(at + _BLOCK, length)) for at in range(0, length, _BLOCK))


class _Attention(torch.autograd.Function):
    """Queries [N, g, T, d]; what is shared [B, K, P, d] or None; keys and values [N, T, d]."""

    @staticmethod
    def forward(
        ctx: Any,
        laid: _Laid,
        q: Tensor,
        far_keys: Tensor | None,
        far_values: Tensor | None,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        N, g, T, _ = q.shape
        out = q.new_empty(N, g, T, values.shape[-1])
        for block in _blocks(T):
            queries = (q[:, :, block] * laid.scaling).flatten(1, 2)
            weights = laid.weights(queries, far_keys, keys, block)
            mixed = laid.mix(weights, far_values, values[:, : block.stop])
            out[:, :, block] = mixed.view(N, g, -1, values.shape[-1])
        ctx.laid = laid
        ctx.save_for_backward(q, far_keys, far_values, keys, values)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, far_keys, far_values, keys, values = ctx.saved_tensors
        laid: _Laid = ctx.laid
        N, g, T, _ = q.shape
        dq = torch.empty_like(q)
        # Sums over blocks: in float32, as one product would have it.
        near = [torch.zeros_like(x, dtype=torch.float32) for x in (keys, values)]
        far = [
            None if x is None else torch.zeros_like(x, dtype=torch.float32)
            for x in (far_keys, far_values)
        ]
        P = 0 if far_keys is None else far_keys.shape[2]
        for block in _blocks(T):
            queries = (q[:, :, block] * laid.scaling).flatten(1, 2)
            given = grad[:, :, block].flatten(1, 2)
            weights = laid.weights(queries, far_keys, keys, block)
            slopes = laid.join(given, far_values, values[:, : block.stop])
            # ... of the scores, from those of the weights
            slopes = torch._softmax_backward_data(slopes, weights, -1, slopes.dtype)
            wanted = laid.mix(slopes, far_keys, keys[:, : block.stop])
            dq[:, :, block] = wanted.view(N, g, -1, q.shape[-1]).mul_(laid.scaling)
            for found, parts, rows in ((0, slopes, queries), (1, weights, given)):
                near[found][:, : block.stop] += torch.bmm(parts[..., P:].transpose(1, 2), rows)
                total = far[found]
                if total is not None:
                    shared = laid.together(parts[..., :P]).transpose(1, 2)
                    total += torch.bmm(shared, laid.together(rows)).view(total.shape)
        kind = q.dtype
        shared_grads = (None if x is None else x.to(kind) for x in far)
        return (None, dq, *shared_grads, *(x.to(kind) for x in near))
