"""What a step costs, before anything is trained: a few timed passes, the rest by counting.

Sampling is a pass for each token of the longest response. Passes are timed at as many rows as a
step has and at a quarter of them, with as much before them as in the middle of a response. An
update is batches of tokens: one is timed, the others are counted. Weights stay as they are.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
import torch

from .. import Datum, SampleRequest, SamplingParams
from .attention import LOCK
from .backend import LocalBackend
from .sampling import Sampler

#: Tokens of prompts that are read to time the reading.
_READ = 2048
#: Passes that are timed, after one that is not.
_PASSES = 4
#: A batch that took less is timed once more: the first time makes its kernels.
_SHORT_S = 10.0
#: Seconds of what; ``benchmarks.estimate`` may set the processor's, which others do not disturb.
clock = time.perf_counter


@dataclass(frozen=True)
class Cost:
    """What a step costs where all groups are learned from: seconds by part, tokens, memory."""

    read_s: float  # prompts, for sampling
    draw_s: float
    update_s: float
    drawn: int  # tokens of responses
    learned: int  # tokens of an update: prompts once a group, and what fills batches up
    memory_mb: float

    @property
    def seconds(self) -> float:
        return self.read_s + self.draw_s + self.update_s


def cost_of(
    backend: LocalBackend,
    prompts: Sequence[tuple[int, ...]],
    group: int,
    lengths: Sequence[int],
    again: float = 0.0,
) -> Cost:
    """Return what a step costs.

    Args:
        backend: whose model, device and budget are meant.
        prompts: those of a step, as tokens.
        group: responses to each.
        lengths: tokens of some responses; those of a step are taken to be spread like these.
        again: tokens that later turns read again, for each response.
    """
    rows = len(prompts) * group
    each = np.maximum(np.random.default_rng(0).permutation(np.resize(lengths, rows)), 1)
    with LOCK, backend._memory("estimating"):
        read_s = _read_seconds(backend, prompts) * (sum(map(len, prompts)) + again * rows)
        draw_s, held = _drawing(backend, prompts, group, each)
        update_s, learned = _updating(backend, _datums(backend, prompts, group, each))
        memory_mb = _peak_mb(backend) + held * _bytes_of_token(backend) / 2**20
    return Cost(read_s, draw_s, update_s, int(each.sum()), learned, memory_mb)


def _read_seconds(backend: LocalBackend, prompts: Sequence[tuple[int, ...]]) -> float:
    """Return seconds of a token of prompts that are read together."""
    mean = float(np.mean([len(prompt) for prompt in prompts]))
    few = [SampleRequest(prompt, 1) for prompt in prompts[: max(1, int(_READ / mean))]]
    seconds = _timed(lambda: backend._path.sampler.sample(few, SamplingParams(1)))
    return seconds / sum(len(request.context) for request in few)


def _drawing(
    backend: LocalBackend, prompts: Sequence[tuple[int, ...]], group: int, each: Any
) -> tuple[float, int]:
    """Return seconds of drawing, and the tokens that are held at most."""
    longest = int(each.max())
    prompt = sorted(prompts, key=len)[len(prompts) // 2]
    sampler = backend._path.sampler
    # What does not fit at once is drawn by as many rows as do, until all are drawn.
    branches = max(1, min(group, (sampler.room - len(prompt)) // longest))
    size = len(prompt) + branches * longest
    many = max(1, min(-(-len(each) // branches), sampler.room // size))
    rows = many * branches
    pass_s = _pass_seconds(sampler, prompt, many, branches, longest)
    few = (-(-many // 4), branches) if many > 1 else (1, -(-branches // 4))
    less_s = _pass_seconds(sampler, prompt, *few, longest)
    slope = (pass_s - less_s) / max(rows - few[0] * few[1], 1)
    going = np.array([(each > t).sum() for t in range(1, longest)]) * rows / len(each)
    at_once = float(np.maximum(pass_s - (rows - going) * slope, 0.0).sum())
    return at_once * len(each) / rows, many * size


def _pass_seconds(
    sampler: Any, prompt: tuple[int, ...], many: int, branches: int, longest: int
) -> float:
    """Return seconds of a pass in the middle of responses of ``longest`` tokens."""
    if isinstance(sampler, Sampler):
        go_on = sampler.passing(prompt, many, branches, longest // 2, _PASSES + 1)
        go_on()  # it makes its kernels
        return float(np.median([_timed(go_on) for _ in range(_PASSES)]))
    asked = [SampleRequest(prompt, branches)] * many
    few, more = (
        _timed(lambda tokens=tokens: sampler.sample(asked, SamplingParams(tokens)))  # type: ignore[misc]
        for tokens in (2, 2 + _PASSES)
    )
    return max(more - few, 0.0) / _PASSES


def _datums(
    backend: LocalBackend, prompts: Sequence[tuple[int, ...]], group: int, each: Any
) -> list[Datum]:
    """Return responses of random tokens: time hangs on their number only."""
    rng = np.random.default_rng(1)
    made = []
    for row, length in enumerate(each.tolist()):
        context = prompts[row // group]
        tokens = context + tuple(rng.integers(backend._model.vocab, size=length).tolist())
        mask = np.append(np.zeros(len(context)), np.ones(length))
        made.append(Datum(tokens, mask, mask * -1.0, mask * 0.0))
    return made


def _updating(backend: LocalBackend, datums: Sequence[Datum]) -> tuple[float, int]:
    """Return seconds of an update, and the tokens that it computes."""
    learner, model = backend._path.learner, backend._model
    sizes = learner.sizes(datums)
    order = np.argsort([tokens for tokens, _ in sizes])
    tokens, chosen = sizes[order[len(order) // 2]]  # the batch in the middle
    batch = [datums[index] for index in chosen]

    def learn() -> None:
        learner.backward(batch, lambda lp, where: np.ones(len(where)), lambda: None)
        for weight in model.trained:
            weight.grad = None

    seconds = _timed(learn)
    if seconds < _SHORT_S:
        seconds = min(seconds, _timed(learn))
    copies = [torch.zeros_like(master, requires_grad=True) for master in model.masters]
    optimizer = torch.optim.AdamW(copies)
    for copy in copies:
        copy.grad = torch.zeros_like(copy)
    total = sum(size for size, _ in sizes)
    return seconds * total / tokens + _timed(optimizer.step), total


def _timed(work: Callable[[], object]) -> float:
    """Return seconds; an accelerator is waited for."""
    start = clock()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def _peak_mb(backend: LocalBackend) -> float:
    """Return the most that was held so far: on the accelerator, else by this process."""
    if backend.device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    if sys.platform == "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return float(psutil.Process().memory_info().rss) / 2**20


def _bytes_of_token(backend: LocalBackend) -> int:
    """Return what keys and values of a token take in all layers."""
    config = backend._model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return 2 * int(config.num_hidden_layers * heads * size) * backend.dtype.itemsize
