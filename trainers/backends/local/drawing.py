"""What is drawn: the responses of a part as they grow, and work cut into parts that fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .. import Sample, SampleRequest, SamplingParams


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
    def rows(self) -> int:
        return len(self._rows)

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


@dataclass(frozen=True)
class Part:
    """Some of the samples that are asked for.

    Args:
        places: (request, first sample, number of samples) of each of ``requests``.
        requests: what to draw.
        uniform: their random numbers, [requests, most n, tokens].
        size: tokens of prompts and responses, at their longest.
    """

    places: Sequence[tuple[int, int, int]]
    requests: Sequence[SampleRequest]
    uniform: Tensor
    size: int


def cut(
    requests: Sequence[SampleRequest],
    params: SamplingParams,
    room: int,
    alike: bool = False,
    pieces: int = 1,
) -> Iterator[Part]:
    """Yield parts of at most ``room`` tokens, in the order of ``requests``.

    Randomness comes from ``params.seed`` and the place of a sample in ``requests`` alone.

    Args:
        requests: what to draw.
        params: how.
        room: tokens of prompts and responses of one part, at their longest; one sample always fits.
        alike: whether contexts of one part must be equally long.
        pieces: what does not fit at once is cut into parts of so many to a room, where requests
            are not longer.
    """
    rng = np.random.Generator(np.random.Philox(params.seed))
    branches = max(request.n for request in requests)
    numbers = rng.random((len(requests), branches, params.max_tokens))
    for places, size in _parts(requests, params.max_tokens, room, alike, pieces):
        asked = [SampleRequest(requests[i].context, count) for i, _, count in places]
        uniform = np.zeros((len(places), max(r.n for r in asked), params.max_tokens))
        for row, (i, first, count) in zip(uniform, places, strict=True):
            row[:count] = numbers[i, first : first + count]
        yield Part(places, asked, torch.from_numpy(uniform), size)


def gathered(
    requests: Sequence[SampleRequest],
    parts: Iterable[Part],
    drawn: Mapping[int, list[list[Sample]]],
) -> list[list[Sample]]:
    """Return the samples of each request, from those of each part by its number."""
    found: list[list[Sample]] = [[] for _ in requests]
    for number, part in enumerate(parts):
        for (i, _, _), samples in zip(part.places, drawn[number], strict=True):
            found[i] += samples
    return found


def _parts(
    requests: Sequence[SampleRequest], max_tokens: int, room: int, alike: bool, pieces: int
) -> Iterator[tuple[list[tuple[int, int, int]], int]]:
    """Yield places of samples, and the tokens of all of them."""
    whole = sum(len(request.context) + request.n * max_tokens for request in requests)
    piece = room if whole <= room else room // pieces
    part: list[tuple[int, int, int]] = []
    used = last = 0
    order = range(len(requests))
    for i in sorted(order, key=lambda i: len(requests[i].context)) if alike else order:
        length = len(requests[i].context)
        most = max(1, (room - length) // max_tokens)
        for first in range(0, requests[i].n, most):
            count = min(most, requests[i].n - first)
            size = length + count * max_tokens
            if part and (used + size > piece or (alike and length != last)):
                yield part, used
                part, used = [], 0
            part.append((i, first, count))
            used, last = used + size, length
    if part:
        yield part, used


def common_prefix(contexts: Sequence[Sequence[int]]) -> int:
    """Return how many first tokens all contexts share, leaving each at least one of its own."""
    if len(contexts) < 2:
        return 0
    low, high = min(map(tuple, contexts)), max(map(tuple, contexts))  # they differ earliest
    length = min(map(len, contexts)) - 1
    return next((i for i in range(length) if low[i] != high[i]), max(length, 0))
