"""Sampling: each prompt once, its responses together, finished rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .. import Sample, SampleRequest, SamplingParams
from .attention import Tree, active, padding_bias
from .blocks import newest_attention
from .products import together

_BLOCK = 256
#: Below a sum by more than a float64 is rounded.
_BELOW_ONE = 1 - 1e-12
#: Tokens by which the room for keys and values grows.
_ROOM = 64
#: Rows that are drawn from at once: their float32 logits stay near the processor.
_ROWS = 8

Cache = list[tuple[Tensor, Tensor]]


def draw(logits: Tensor, uniform: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Draw one token a row by inverse CDF, in two levels.

    A draw over a whole vocabulary costs a random number, or a cumulative sum, per entry; here
    one uniform number a row picks a block of 256 by the blocks' sums, then a token in the block.

    Args:
        logits: [N, V]; overwritten, if they are float32. All is computed in that.
        uniform: [N] float64 in [0, 1).
        temperature: 0 is the largest logit.

    Returns:
        tokens [N], and their log-probabilities at temperature 1, [N] float32.
    """
    size = _ROWS if logits.device.type == "cpu" else len(logits)
    pairs = zip(torch.split(logits, size), torch.split(uniform, size), strict=True)
    drawn = [_draw(some.float(), numbers, temperature) for some, numbers in pairs]
    return torch.cat([tokens for tokens, _ in drawn]), torch.cat([lp for _, lp in drawn])


def _draw(logits: Tensor, uniform: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    top = logits.amax(-1, keepdim=True)
    if temperature == 0.0:
        tokens = logits.argmax(-1)
        return tokens, (top - logits.logsumexp(-1, keepdim=True))[:, 0]
    at_one = None if temperature == 1.0 else logits.logsumexp(-1, keepdim=True)
    chosen_from = logits.clone() if at_one is not None else logits
    weights = logits.sub_(top)
    weights = (weights if temperature == 1.0 else weights.div_(temperature)).exp_()
    N, V = weights.shape
    whole = V % _BLOCK == 0
    blocks = weights if whole else torch.nn.functional.pad(weights, (0, -V % _BLOCK))
    blocks = blocks.view(N, -1, _BLOCK)
    sums = blocks.sum(-1).double().cumsum(-1)
    total = sums[:, -1:]
    point = uniform[:, None] * total
    block = torch.searchsorted(sums, point, right=True).clamp_(max=sums.shape[1] - 1)
    below = torch.where(block > 0, sums.gather(1, (block - 1).clamp_(min=0)), 0.0)
    rows = torch.arange(N, device=logits.device)
    inner = blocks[rows, block[:, 0]].double().cumsum(-1)
    # Both sums are rounded, each in its way: what is over belongs to the last that can be drawn.
    inside = (point - below).clamp_(max=inner[:, -1:] * _BELOW_ONE)
    offset = torch.searchsorted(inner, inside, right=True).clamp_(max=_BLOCK - 1)
    tokens = (block * _BLOCK + offset).clamp_(max=V - 1)
    if at_one is not None:
        return tokens[:, 0], (chosen_from.gather(1, tokens) - at_one)[:, 0]
    return tokens[:, 0], (weights.gather(1, tokens).log() - total.log().float())[:, 0]


class _Growing:
    """The attention plan of decoding: each branch grows by one token a pass.

    Rows stand in a grid of [prompts, branches]; ``keep`` drops what has finished. Keys and values
    of the branches have room for some tokens more than there are, which the bias leaves out: so
    they lie in one piece, and a product of one shape serves many passes. (Each new shape costs
    milliseconds, and so does each copy of a piece.)
    """

    def __init__(self, cache: Cache, lengths: Tensor, branches: int, most: int) -> None:
        self._prefix = [(k.contiguous(), v.contiguous()) for k, v in cache]
        self._grid = (len(lengths), branches)
        self._own: list[tuple[Tensor, Tensor] | None] = [None] * len(cache)
        self._prompt = cache[0][0].shape[2]
        self._most, self._filled = most, 0
        bias = padding_bias(lengths, self._prompt).to(cache[0][0].dtype)
        self._bias = _longer(bias, self._room(0), float("-inf"), 1)
        self._bias[:, self._prompt] = 0.0

    def _room(self, filled: int) -> int:
        """Tokens of a branch that there is room for, while ``filled`` are there."""
        return min(self._most, (filled // _ROOM + 1) * _ROOM)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        B, G = self._grid
        keys, values = own = self._held(layer, k, v)
        for held, newest in ((keys, k), (values, v)):
            grid = newest.view(B, G, -1, newest.shape[-1])
            held[:, :, :, self._filled] = grid.transpose(1, 2)
        return newest_attention(q, self._prefix[layer], self._bias, *own, scaling)

    def _held(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values [B, K, G, room, d] of the branches, with room for one more."""
        own, room = self._own[layer], self._room(self._filled)
        B, G = self._grid
        if own is None:
            keys, values = (x.new_zeros((B, x.shape[1], G, room, x.shape[3])) for x in (k, v))
        elif own[0].shape[3] < room:
            keys, values = (_longer(x, room - x.shape[3], 0.0, 3) for x in own)
        else:
            return own
        self._own[layer] = (keys, values)
        return keys, values

    def grown(self) -> None:
        """Say that every layer has taken its token."""
        self._filled += 1
        room = self._prompt + self._room(self._filled)
        if room > self._bias.shape[1]:
            self._bias = _longer(self._bias, room - self._bias.shape[1], float("-inf"), 1)
        self._bias[:, min(self._prompt + self._filled, room - 1)] = 0.0

    def keep(self, prompts: Tensor, rows: Tensor, branches: int) -> None:
        """Keep only these prompts, and these rows as a grid of ``branches`` for each."""
        if len(prompts) < self._grid[0]:
            self._prefix = [(k[prompts], v[prompts]) for k, v in self._prefix]
            self._bias = self._bias[prompts]
        self._grid, before = (len(prompts), branches), self._grid[1]
        places = rows.view(self._grid)
        found, branch = places // before, places % before

        def kept(x: Tensor) -> Tensor:
            return x.transpose(1, 2)[found, branch].transpose(1, 2).contiguous()

        self._own = [None if own is None else (kept(own[0]), kept(own[1])) for own in self._own]


def _longer(x: Tensor, more: int, value: float, dimension: int) -> Tensor:
    shape = list(x.shape)
    shape[dimension] = more
    return torch.cat([x, x.new_full(shape, value)], dimension)


class Sampler:
    """Draws responses from a model.

    Args:
        body: the transformers decoder, ``body(input_ids=, position_ids=)`` to hidden states.
        head: hidden states [N, D] to logits [N, V].
        decode: token ids to text, for stop strings.
        device: where the model is.
        room: tokens whose keys and values may be held at once.
        few: whether layers that read one input compute together.
    """

    def __init__(
        self,
        body: Any,
        head: Callable[[Tensor], Tensor],
        decode: Callable[[Sequence[int]], str],
        device: torch.device,
        room: int,
        few: bool = True,
    ) -> None:
        self._body, self._head, self._decode, self._device = body, head, decode, device
        self._room, self._few = room, few

    @torch.inference_mode()
    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request, in order; see ``in_parts``."""
        with together(self._few):
            return in_parts(requests, params, self._room, self._sample)

    def _sample(
        self, requests: Sequence[SampleRequest], uniform: Tensor, params: SamplingParams
    ) -> list[list[Sample]]:
        cache, lengths, hidden = self._prefill([request.context for request in requests])
        state = State(requests, lengths, uniform.to(self._device), params, self._decode)
        branches = state.branches
        # The first token of all branches comes from the one set of logits of their prompt.
        logits = self._head(hidden).repeat_interleave(branches, 0)
        state.take(*draw(logits, state.uniform(), params.temperature))
        plan = _Growing(cache, lengths, branches, params.max_tokens)
        while state.unfinished:
            kept = state.shrink()
            if kept is not None:
                plan.keep(*kept)
            with active(plan):
                hidden = self._forward(state.last[:, None], state.positions[:, None])
            plan.grown()
            state.take(*draw(self._head(hidden[:, 0]), state.uniform(), params.temperature))
        return state.samples()

    def _prefill(self, contexts: Sequence[Sequence[int]]) -> tuple[Cache, Tensor, Tensor]:
        """Return keys and values [B, K, P, d] a layer, lengths [B], last hidden states [B, D]."""
        shared = common_prefix(contexts)  # it is the stem of a tree, or there is none
        device = self._device
        rest = _pad([context[shared:] for context in contexts], device)
        many, longest = rest.shape
        lengths = torch.tensor([len(context) - shared for context in contexts], device=device)
        positions = shared + torch.arange(longest, device=device).expand_as(rest)
        plan = Tree(lengths, longest, keep=True)
        if shared:
            stem = torch.arange(shared, device=device)
            plan = Tree(torch.tensor([shared], device=device), shared, many, longest, keep=True)
            positions = torch.cat([stem, positions.flatten()])[None]
            first = torch.tensor(contexts[0][:shared], device=device)
            rest = torch.cat([first, rest.flatten()])[None]
        with active(plan):
            hidden = self._forward(rest, positions)
        last = shared + longest * torch.arange(many, device=device) + lengths - 1
        return plan.cache, lengths + shared, hidden.flatten(0, 1)[last]

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        hidden: Tensor = self._body(input_ids=ids, position_ids=positions, use_cache=False)[0]
        return hidden


class State:
    """The responses as they grow. Rows stand in a grid of [prompts, branches]."""

    def __init__(
        self,
        requests: Sequence[SampleRequest],
        lengths: Tensor,
        uniform: Tensor,
        params: SamplingParams,
        decode: Callable[[Sequence[int]], str],
    ) -> None:
        self.params = params
        self.branches = branches = uniform.shape[1]
        self._requests, self._decode = requests, decode
        self._uniform = uniform.flatten(0, 1)  # [B * G, R]
        self._device = lengths.device
        total = len(requests) * branches
        self._tokens: list[list[int]] = [[] for _ in range(total)]
        self._logprobs: list[list[float]] = [[] for _ in range(total)]
        wanted = [b < r.n for r in requests for b in range(branches)]
        self._alive = np.array(wanted)
        self._rows = np.arange(total)  # which response each row of the grid is
        self._grid = (len(requests), branches)
        self.positions = lengths.repeat_interleave(branches)
        self.last = torch.zeros(total, dtype=torch.long, device=self._device)
        self._step = 0
        self._stops = frozenset(params.stop_tokens)
        # Every character is at least one token, or part of one: so many last tokens hold a stop.
        self._tail = max((len(s.encode()) for s in params.stop), default=0)

    @property
    def unfinished(self) -> bool:
        return bool(self._alive.any()) and self._step < self.params.max_tokens

    def uniform(self) -> Tensor:
        """The random numbers of this step, one a row."""
        index = torch.from_numpy(self._rows).to(self._device)
        return self._uniform[index, self._step]

    def take(self, tokens: Tensor, logprobs: Tensor) -> None:
        """Append the drawn tokens to the rows that go on; find out which have ended."""
        if self._step:
            self.positions = self.positions + 1
        self._step += 1
        self.last = tokens
        for row, token, logprob in zip(
            self._rows.tolist(), tokens.tolist(), logprobs.tolist(), strict=True
        ):
            if self._alive[row]:
                self._tokens[row].append(token)
                self._logprobs[row].append(logprob)
                if token in self._stops or self._hit_stop(row):
                    self._alive[row] = False

    def _hit_stop(self, row: int) -> bool:
        if not self._tail:
            return False
        text = self._decode(self._tokens[row][-self._tail :])
        return any(stop in text for stop in self.params.stop)

    def shrink(self) -> tuple[Tensor, Tensor, int] | None:
        """Leave out what has finished; return what to keep, or None if it is not worth it.

        The grid stays a grid: a prompt with fewer live branches than the fullest one is filled
        up with a finished row, whose tokens are not taken.
        """
        B, G = self._grid
        live = self._alive[self._rows].reshape(B, G)
        counts = live.sum(1)
        prompts = np.flatnonzero(counts)
        branches = int(counts.max())
        if len(prompts) * branches > 0.9 * B * G:
            return None
        order = np.argsort(~live[prompts], axis=1, kind="stable")[:, :branches]
        rows = (prompts[:, None] * G + order).ravel()
        self._rows = self._rows[rows]
        self._grid = (len(prompts), branches)
        index = torch.from_numpy(rows).to(self._device)
        self.last, self.positions = self.last[index], self.positions[index]
        return torch.from_numpy(prompts).to(self._device), index, branches

    def samples(self) -> list[list[Sample]]:
        return [
            [
                Sample(tuple(self._tokens[row]), tuple(self._logprobs[row]))
                for row in range(i * self.branches, i * self.branches + request.n)
            ]
            for i, request in enumerate(self._requests)
        ]


def in_parts(
    requests: Sequence[SampleRequest],
    params: SamplingParams,
    room: int,
    sample: Callable[..., list[list[Sample]]],
    alike: bool = False,
) -> list[list[Sample]]:
    """Return ``n`` samples for each request, in order, drawn in parts of at most ``room`` tokens.

    Randomness comes from ``params.seed`` and the place of a sample in ``requests`` alone.

    Args:
        requests: what to draw.
        params: how.
        room: tokens of prompts and responses of one part, at their longest.
        sample: called with requests, their random numbers [requests, most n, tokens], ``params``.
        alike: whether contexts of one part must be equally long.
    """
    rng = np.random.Generator(np.random.Philox(params.seed))
    branches = max(request.n for request in requests)
    numbers = rng.random((len(requests), branches, params.max_tokens))
    found: list[list[Sample]] = [[] for _ in requests]
    for part in _parts(requests, params.max_tokens, room, alike):
        asked = [SampleRequest(requests[i].context, count) for i, _, count in part]
        uniform = np.zeros((len(part), max(r.n for r in asked), params.max_tokens))
        for row, (i, first, count) in zip(uniform, part, strict=True):
            row[:count] = numbers[i, first : first + count]
        for (i, _, _), samples in zip(
            part, sample(asked, torch.from_numpy(uniform), params), strict=True
        ):
            found[i] += samples
    return found


def _parts(
    requests: Sequence[SampleRequest], max_tokens: int, room: int, alike: bool
) -> Iterator[list[tuple[int, int, int]]]:
    """Yield parts of (request, first sample, number of samples); a single sample always fits."""
    part: list[tuple[int, int, int]] = []
    used = last = 0
    order = range(len(requests))
    for i in sorted(order, key=lambda i: len(requests[i].context)) if alike else order:
        length = len(requests[i].context)
        most = max(1, (room - length) // max_tokens)
        for first in range(0, requests[i].n, most):
            count = min(most, requests[i].n - first)
            size = length + count * max_tokens
            if part and (used + size > room or (alike and length != last)):
                yield part
                part, used = [], 0
            part.append((i, first, count))
            used, last = used + size, length
    if part:
        yield part


def common_prefix(contexts: Sequence[Sequence[int]]) -> int:
    """Return how many first tokens all contexts share, leaving each at least one of its own."""
    if len(contexts) < 2:
        return 0
    low, high = min(map(tuple, contexts)), max(map(tuple, contexts))  # they differ earliest
    length = min(map(len, contexts)) - 1
    return next((i for i in range(length) if low[i] != high[i]), max(length, 0))


def _pad(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return [rows, longest], right-padded with 0."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(device)
