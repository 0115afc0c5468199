"""Sampling: each prompt once, its responses together; finished rows make room for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .. import Sample, SampleRequest, SamplingParams
from .attention import Tree, active, padding_bias
from .blocks import newest_attention
from .drawing import Part, State, common_prefix, cut, gathered
from .products import together

_BLOCK = 256
#: Below a sum by more than a float64 is rounded.
_BELOW_ONE = 1 - 1e-12
#: What does not fit at once comes in so many parts to a room.
_PIECES = 4
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

    def __init__(
        self, cache: Cache, lengths: Tensor, branches: int, most: int, filled: int = 0
    ) -> None:
        self._prefix = [(k.contiguous(), v.contiguous()) for k, v in cache]
        self._grid = (len(lengths), branches)
        self._own: list[tuple[Tensor, Tensor] | None] = [None] * len(cache)
        self._prompt = cache[0][0].shape[2]
        self._most, self._filled = most, filled  # what is filled is zeros
        bias = padding_bias(lengths, self._prompt).to(cache[0][0].dtype)
        self._bias = _longer(bias, self._room(filled), float("-inf"), 1)
        self._bias[:, self._prompt : self._prompt + filled + 1] = 0.0

    @property
    def rows(self) -> int:
        return self._grid[0] * self._grid[1]

    @property
    def size(self) -> int:
        """Tokens that it may come to hold."""
        return self._grid[0] * self._prompt + self.rows * self._most

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


class _Beside:
    """Several plans at once: the rows of each follow one another."""

    def __init__(self, plans: Sequence[_Growing]) -> None:
        self._plans = plans

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, scaling: float) -> Tensor:
        if len(self._plans) == 1:
            return self._plans[0].attend(layer, q, k, v, scaling)
        sizes = [plan.rows for plan in self._plans]
        parts = zip(self._plans, *(torch.split(x, sizes) for x in (q, k, v)), strict=True)
        return torch.cat([plan.attend(layer, *three, scaling) for plan, *three in parts])


@dataclass(frozen=True)
class _UnderWay:
    """A part that is being drawn: which one, its responses, and what they attend to."""

    number: int
    state: State
    plan: _Growing


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

    @property
    def room(self) -> int:
        """Tokens whose keys and values may be held at once."""
        return self._room

    @torch.inference_mode()
    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request, in order, by the numbers of ``cut``.

        What does not fit at once is drawn in parts. When rows of one have finished, the next one
        begins beside those that go on: so there are many rows to a pass until the last part.
        """
        all_parts = list(cut(requests, params, self._room, pieces=_PIECES))
        waiting = list(enumerate(all_parts))[::-1]
        drawn: dict[int, list[list[Sample]]] = {}
        parts: list[_UnderWay] = []
        with together(self._few):
            while waiting or parts:
                used = sum(part.plan.size for part in parts)
                while waiting and (not parts or used + waiting[-1][1].size <= self._room):
                    parts.append(self._begun(*waiting.pop(), params))
                    used += parts[-1].plan.size
                for part in parts:
                    if not part.state.unfinished:
                        drawn[part.number] = part.state.samples()
                parts = [part for part in parts if part.number not in drawn]
                if parts:
                    self._pass(parts, params.temperature)
        return gathered(requests, all_parts, drawn)

    def passing(
        self, prompt: tuple[int, ...], many: int, branches: int, filled: int, most: int
    ) -> Callable[[], None]:
        """Return what makes a pass as in the middle of sampling, at most so often, for a clock.

        Args:
            prompt: what stands before every response.
            many, branches: so many prompts, so many responses to each.
            filled: tokens that responses have; they are zeros.
        """
        request = SampleRequest(prompt, branches)
        params = SamplingParams(filled + most + 1)
        with torch.inference_mode(), together(self._few):
            cache, lengths, _ = self._prefill([prompt])
            wide = [(k.expand(many, -1, -1, -1), v.expand(many, -1, -1, -1)) for k, v in cache]
            uniform = torch.zeros(many, branches, most + 1, device=self._device)
            lengths = lengths.expand(many)
            state = State([request] * many, lengths + filled, uniform, params, self._decode)
            plan = _Growing(wide, lengths, branches, params.max_tokens, filled)

        @torch.inference_mode()
        def once() -> None:
            with together(self._few):
                self._pass([_UnderWay(0, state, plan)], 1.0)

        return once

    def _begun(self, number: int, part: Part, params: SamplingParams) -> _UnderWay:
        """Read the prompts of a part, and draw the first token of each response."""
        cache, lengths, hidden = self._prefill([request.context for request in part.requests])
        uniform = part.uniform.to(self._device)
        state = State(part.requests, lengths, uniform, params, self._decode)
        # The first token of all branches comes from the one set of logits of their prompt.
        logits = self._head(hidden).repeat_interleave(state.branches, 0)
        state.take(*draw(logits, state.uniform(), params.temperature))
        return _UnderWay(number, state, _Growing(cache, lengths, state.branches, params.max_tokens))

    def _pass(self, parts: Sequence[_UnderWay], temperature: float) -> None:
        """Draw the next token of every row of all parts."""
        for part in parts:
            kept = part.state.shrink()
            if kept is not None:
                part.plan.keep(*kept)
        ids = torch.cat([part.state.last for part in parts])
        positions = torch.cat([part.state.positions for part in parts])
        with active(_Beside([part.plan for part in parts])):
            hidden = self._forward(ids[:, None], positions[:, None])
        uniform = torch.cat([part.state.uniform() for part in parts])
        tokens, logprobs = draw(self._head(hidden[:, 0]), uniform, temperature)
        sizes = [part.state.rows for part in parts]
        taken = zip(parts, torch.split(tokens, sizes), torch.split(logprobs, sizes), strict=True)
        for part, own_tokens, own_logprobs in taken:
            part.plan.grown()
            part.state.take(own_tokens, own_logprobs)

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


def _pad(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return [rows, longest], right-padded with 0."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(device)
