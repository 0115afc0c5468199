"""Learning: a GRPO group is one row, a tree with the prompt as its stem.

The prompt is computed once for all G responses, forward and backward. So is what all prompts of a
batch begin with (an example, a system prompt), and a response that was drawn several times, whose
derivatives are added. The output layer runs in chunks, with the derivative of the loss by the
logits worked by hand, so that logits for all tokens never exist at once. A model that knows no
trees gets a row for each response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .. import Datum, Floats
from .attention import Tree, active
from .drawing import common_prefix
from .products import together

#: (log-probs [n], [(datum, position)] of each) to d loss / d log-prob [n].
Slope = Callable[[Floats, Sequence[tuple[int, int]]], Floats]
#: Tokens of output layer at once: 256 rows of a 49,152-token vocabulary are 50 MB in float32.
_CHUNK = 128
#: Rows of them whose derivative is worked out at once.
_ROWS = 8
#: What prompts share is a stem of their own where that saves so many tokens.
_SAVED = 32
#: A single row that takes more than this part of the budget is computed twice, to hold less.
_LONG = 1.0


@dataclass(frozen=True)
class _Branch:
    """Equal datums within a row: where they are in the batch, and their part after the prompt."""

    indices: tuple[int, ...]
    tokens: tuple[int, ...]  # what follows the prompt
    act: Floats  # 1.0 where such a token is an act, shape (len(tokens),)


@dataclass(frozen=True)
class _Row:
    """A prompt, with the first tokens that all its responses share, and the rest of each."""

    prompt: tuple[int, ...]
    branches: tuple[_Branch, ...]
    acts: tuple[int, ...] = ()  # places of the prompt that are acts, of all branches

    @property
    def longest(self) -> int:
        return max(len(branch.tokens) for branch in self.branches)


def plan_rows(datums: Sequence[Datum], budget: int, trees: bool = True) -> list[list[_Row]]:
    """Group datums by prompt into rows, and rows into batches of about ``budget`` tokens.

    Without ``trees`` every datum is a row of its own.
    """
    equal: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for index, datum in enumerate(datums):
        equal.setdefault((datum.tokens, datum.mask.tobytes()), []).append(index)
    groups: dict[tuple[tuple[int, ...], int], list[_Branch]] = {}
    for indices in equal.values():
        datum = datums[indices[0]]
        first = int(np.argmax(datum.mask > 0))
        branch = _Branch(tuple(indices), datum.tokens[first:], datum.mask[first:])
        own = 0 if trees else indices[0]
        groups.setdefault((datum.tokens[:first], own), []).append(branch)
    rows = [row for (prompt, _), group in groups.items() for row in _split(prompt, group, budget)]
    return list(_batches(rows, budget))


def _split(prompt: tuple[int, ...], branches: list[_Branch], budget: int) -> Iterator[_Row]:
    """Cut a group whose branches are long into several rows (each repeats the prompt)."""
    branches = sorted(branches, key=lambda branch: len(branch.tokens))
    while branches:
        count = len(branches)
        while count > 1 and len(prompt) + count * len(branches[count - 1].tokens) > budget:
            count -= 1
        yield _row(prompt, branches[:count])
        branches = branches[count:]


def _row(prompt: tuple[int, ...], branches: Sequence[_Branch]) -> _Row:
    """Return the row of these branches; what they begin with goes to the prompt."""
    shared = common_prefix([branch.tokens for branch in branches])
    acts = branches[0].act[:shared]
    differ = [np.flatnonzero(branch.act[:shared] != acts) for branch in branches]
    shared = min([shared, *(int(places[0]) for places in differ if len(places))])
    rest = (
        replace(branch, tokens=branch.tokens[shared:], act=branch.act[shared:])
        for branch in branches
    )
    places = tuple(int(t) + len(prompt) for t in np.flatnonzero(acts[:shared]))
    return _Row(prompt + branches[0].tokens[:shared], tuple(rest), places)


def _batches(rows: list[_Row], budget: int) -> Iterator[list[_Row]]:
    """Put rows of like shape together; a batch is padded to its largest row."""
    batch: list[_Row] = []
    for row in sorted(rows, key=lambda row: (len(row.branches), row.longest, len(row.prompt))):
        forks = len(row.branches) > 1
        if batch and (
            forks != (len(batch[-1].branches) > 1)
            or (len(batch) + 1) * _width([*batch, row]) > budget
        ):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _width(rows: Sequence[_Row]) -> int:
    prompt = max(len(row.prompt) for row in rows)
    branches = max(len(row.branches) for row in rows)
    if branches == 1:
        return max(len(row.prompt) + row.longest for row in rows)
    return prompt + branches * max(row.longest for row in rows)


class _Laid:
    """A batch of rows as tensors: ids and positions [B, P + G*R], and what to predict where.

    Rows of one branch are plain texts: P is their whole length then, and R is 0. Where prompts
    share S first tokens and ``stems``, they stand once before the rows: [1, S + B * (P + G*R)], P
    being without them.
    """

    def __init__(self, rows: Sequence[_Row], device: torch.device, stems: bool = False) -> None:
        B = len(rows)
        S = common_prefix([row.prompt for row in rows]) if stems else 0
        S = S if S * (B - 1) >= _SAVED else 0
        P = max(len(row.prompt) for row in rows) - S
        G = max(len(row.branches) for row in rows)
        R = max(row.longest for row in rows) - 1  # the last token predicts nothing
        forks = G > 1
        if not forks:
            P, G, R = _width(rows) - 1 - S, 0, 0
        self.B, self.S, self.P, self.G, self.R = B, S, P, G, R
        ids = np.zeros((B, P + G * R), dtype=np.int64)
        positions = np.zeros((B, P + G * R), dtype=np.int64)
        predictors: list[int] = []  # flat place of the hidden state that predicts a target
        targets: list[int] = []
        #: (datum, position in its tokens) of each target, for each of equal datums.
        self.where: list[list[tuple[int, int]]] = []
        for b, row in enumerate(rows):
            whole, own = len(row.prompt), len(row.prompt) - S
            begun = S + b * (P + G * R)
            members = [index for branch in row.branches for index in branch.indices]
            for place in row.acts:
                before = place - 1
                predictors.append(before if before < S else begun + before - S)
                targets.append(row.prompt[place])
                self.where.append([(index, place) for index in members])
            ids[b, :own] = row.prompt[S:]
            positions[b, :P] = S + np.arange(P)
            for j, branch in enumerate(row.branches):
                start, count = P + j * R if forks else own, len(branch.tokens) - 1
                ids[b, start : start + count] = branch.tokens[:count]
                positions[b, start : start + R] = whole + np.arange(R)
                for t in np.flatnonzero(branch.act):
                    place = own - 1 if t == 0 else start + int(t) - 1
                    predictors.append(begun + place)
                    targets.append(branch.tokens[t])
                    self.where.append([(index, whole + int(t)) for index in branch.indices])
        if S:
            ids = np.append(rows[0].prompt[:S], ids)[None]
            positions = np.append(np.arange(S), positions)[None]
        self.ids = torch.from_numpy(ids).to(device)
        self.positions = torch.from_numpy(positions).to(device)
        self.predictors = torch.tensor(predictors, device=device)
        self.targets = torch.tensor(targets, device=device)
        self.prompt_lengths = torch.tensor([len(row.prompt) - S for row in rows], device=device)

    def tree(self) -> Tree:
        """The plan of its attention."""
        return Tree(self.prompt_lengths, self.P, self.G, self.R, stem=self.S)


class Learner:
    """Computes log-probabilities of act tokens, and gradients of a loss on them.

    Args:
        body: the transformers decoder.
        head: hidden states [N, D] to logits [N, V], differentiable.
        device: where the model is.
        budget: tokens of one pass: what bounds memory. A single row that is as long, or longer,
            keeps what enters each layer alone, and computes the rest twice.
        trees: whether the attention that is set knows trees; else a row is one text.
        few: whether layers that read one input compute together.
    """

    def __init__(
        self,
        body: Any,
        head: Callable[[Tensor], Tensor],
        device: torch.device,
        budget: int,
        trees: bool = True,
        few: bool = True,
    ) -> None:
        self._body, self._head, self._device = body, head, device
        self._budget, self._trees, self._few = budget, trees, few

    def logprobs(self, datums: Sequence[Datum]) -> list[Floats]:
        """Return the log-probability of each act token, arrays shaped as ``Datum.tokens``."""
        result = [np.zeros(len(datum.tokens)) for datum in datums]
        with torch.no_grad(), together(self._few):
            for laid in self._batches(datums):
                with self._hidden(laid) as hidden:
                    for part in _chunks(len(hidden)):
                        logits = self._head(hidden[part]).float()
                        lp = _target_logprobs(logits, laid.targets[part])
                        _scatter(result, laid.where[part], lp.double().cpu().numpy())
        return result

    def sizes(self, datums: Sequence[Datum]) -> list[tuple[int, list[int]]]:
        """Return the tokens that each batch of ``backward`` computes, and which datums it has."""
        found = []
        for rows in plan_rows(datums, self._budget, self._trees):
            laid = _Laid(rows, torch.device("cpu"), self._trees)
            branches = [branch for row in rows for branch in row.branches]
            found.append((laid.ids.numel(), [i for branch in branches for i in branch.indices]))
        return found

    def backward(
        self,
        datums: Sequence[Datum],
        slope: Slope,
        after: Callable[[], None],
    ) -> list[Floats]:
        """Accumulate gradients; return the log-probabilities as ``logprobs`` does.

        Args:
            datums: what to learn from.
            slope: the derivative of the loss by the log-probabilities.
            after: called whenever gradients have grown, to move them into float32.
        """
        result = [np.zeros(len(datum.tokens)) for datum in datums]
        for laid in self._batches(datums):
            with together(self._few), self._hidden(laid) as hidden:
                gradient = torch.empty_like(hidden)
                for part in _chunks(len(hidden)):
                    leaf = hidden[part].detach().requires_grad_()
                    logits = self._head(leaf)
                    wave = self._wave(logits.detach(), laid, part, slope, result)
                    torch.autograd.backward(logits, wave)
                    assert leaf.grad is not None
                    gradient[part] = leaf.grad
                    after()
                if hidden.requires_grad:  # not if the output layer alone is learned
                    torch.autograd.backward(hidden, gradient)
            after()
        return result

    @torch.no_grad()
    def _wave(
        self, logits: Tensor, laid: _Laid, part: slice, slope: Slope, result: list[Floats]
    ) -> Tensor:
        """Return the derivative of the loss by a chunk of logits; log-probabilities go into result.

        A few rows at a time, on a CPU: their float32 logits stay near the processor.
        """
        wave = torch.empty_like(logits)
        for rows in _chunks(len(logits), _ROWS if self._device.type == "cpu" else _CHUNK):
            targets, where = laid.targets[part][rows], laid.where[part][rows]
            probs = logits[rows].to(torch.float32, copy=True)
            probs.sub_(probs.amax(-1, keepdim=True))
            chosen = probs.gather(1, targets[:, None])
            total = probs.exp_().sum(-1, keepdim=True)
            lp = (chosen - total.log())[:, 0].double().cpu().numpy()
            _scatter(result, where, lp)
            found = torch.from_numpy(_summed(slope, lp, where))
            slopes = found.to(self._device, torch.float32)[:, None]
            # d lp / d logits = onehot - softmax
            probs.mul_(-slopes / total)
            wave[rows] = probs.scatter_add_(1, targets[:, None], slopes)
        return wave

    def _batches(self, datums: Sequence[Datum]) -> Iterator[_Laid]:
        rows = plan_rows(datums, self._budget, self._trees)
        return (_Laid(batch, self._device, self._trees) for batch in rows)

    @contextmanager
    def _hidden(self, laid: _Laid) -> Iterator[Tensor]:
        """Yield the hidden states that predict act tokens, [n, D]; their gradient is worked inside.

        What is computed twice needs the plan of attention the second time too.
        """
        with ExitStack() as stack:
            given = {}
            if self._trees:
                stack.enter_context(active(laid.tree()))
                given["position_ids"] = laid.positions
            long = laid.B == 1 and laid.ids.numel() > _LONG * self._budget
            if long and torch.is_grad_enabled():
                again = getattr(self._body, "recomputed", None)
                stack.enter_context(again() if again else _recomputed(self._body))
            out = self._body(input_ids=laid.ids, use_cache=False, **given)
            yield out[0].flatten(0, 1)[laid.predictors]


@contextmanager
def _recomputed(body: Any) -> Iterator[None]:
    """Keep only what enters each layer of ``body``; the gradient computes the rest again."""
    lists = (part for part in body.modules() if isinstance(part, torch.nn.ModuleList))
    layers = list(next(lists, ()))
    for layer in layers:
        layer.forward = partial(
            checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False
        )
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _chunks(length: int, size: int | None = None) -> Iterator[slice]:
    size = size or _CHUNK
    return (slice(start, start + size) for start in range(0, length, size))


def _target_logprobs(logits: Tensor, targets: Tensor) -> Tensor:
    """Turn logits into log-probabilities in place; return those of the targets."""
    logits.sub_(logits.logsumexp(-1, keepdim=True))
    return logits.gather(1, targets[:, None])[:, 0]


def _scatter(
    arrays: list[Floats], where: Sequence[Sequence[tuple[int, int]]], values: Floats
) -> None:
    for equal, value in zip(where, values, strict=True):
        for datum, position in equal:
            arrays[datum][position] = value


def _summed(slope: Slope, lp: Floats, where: Sequence[Sequence[tuple[int, int]]]) -> Floats:
    """Return the derivatives by ``lp``, those of equal datums added."""
    counts = [len(equal) for equal in where]
    each = slope(np.repeat(lp, counts), [place for equal in where for place in equal])
    return np.add.reduceat(each, np.cumsum([0, *counts[:-1]]))
