"""Sampling by the library's own ``generate``, with our draw: one row a response, its own cache.

For models whose layers remember in other ways than keys and values (recurrent ones, hybrids), or
whose attention does more than the fast path knows. Prompts of equal length run together, so that
nothing is ever padded: a state has no mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from .. import Sample, SampleRequest, SamplingParams
from .drawing import State, cut, gathered
from .sampling import draw


class PlainSampler:
    """Draws responses from any causal LM of transformers.

    Args:
        model: the causal LM; its generation config asks for nothing.
        vocab: ids that can be drawn are below it.
        decode: token ids to text, for stop strings.
        device: where the model is.
        room: tokens of prompts and responses that are held at once.
    """

    def __init__(
        self,
        model: Any,
        vocab: int,
        decode: Callable[[Sequence[int]], str],
        device: torch.device,
        room: int,
    ) -> None:
        self._model, self._vocab, self._decode = model, vocab, decode
        self._device, self._room = device, room

    @property
    def room(self) -> int:
        """Tokens of prompts and responses that are held at once."""
        return self._room

    @torch.no_grad()
    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        """Return ``n`` samples for each request, in order; see ``cut``."""
        parts = list(cut(requests, params, self._room, alike=True))
        drawn = [self._sample(part.requests, part.uniform, params) for part in parts]
        return gathered(requests, parts, dict(enumerate(drawn)))

    def _sample(
        self, requests: Sequence[SampleRequest], uniform: Tensor, params: SamplingParams
    ) -> list[list[Sample]]:
        contexts = torch.tensor([request.context for request in requests], device=self._device)
        lengths = torch.full((len(requests),), contexts.shape[1], device=self._device)
        state = State(requests, lengths, uniform.to(self._device), params, self._decode)
        ids = contexts.repeat_interleave(state.branches, 0)
        self._model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            generation_config=GenerationConfig(
                max_new_tokens=params.max_tokens, do_sample=False, use_cache=True, pad_token_id=0
            ),
            logits_processor=LogitsProcessorList([_Draw(state, self._vocab)]),
            stopping_criteria=StoppingCriteriaList([_Ended(state)]),
        )
        return state.samples()


class _Draw(LogitsProcessor):  # type: ignore[misc]
    """Draws the next token of every row, and leaves ``generate`` no other choice."""

    def __init__(self, state: State, vocab: int) -> None:
        self._state, self._vocab = state, vocab

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        logits = scores[:, : self._vocab].float().clone()
        tokens, logprobs = draw(logits, self._state.uniform(), self._state.params.temperature)
        self._state.take(tokens, logprobs)
        return torch.full_like(scores, float("-inf")).scatter_(1, tokens[:, None], 0.0)


class _Ended(StoppingCriteria):  # type: ignore[misc]
    """Whether no row goes on."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __call__(self, input_ids: Tensor, scores: Tensor, **_: Any) -> Tensor:
        ended = not self._state.unfinished
        return torch.full((len(input_ids),), ended, device=input_ids.device)
