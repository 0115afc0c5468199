"""What ``rollouts.jsonl`` holds of an episode: enough to read it, and to score it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .rollout import Episode

Decode = Callable[[Sequence[int]], str]


def rollout_row(episode: Episode, decode: Decode) -> dict[str, Any]:
    """Return ``episode`` as JSON can hold it.

    ``turns`` are the responses, ``observations`` what the environment said after each but the
    last. ``pieces`` and ``logprobs`` have one item for each token of the responses;
    ``advantage`` is that of the whole episode in its group (None: it was not measured), ``weights``
    the steps that the weights had learned when it was begun.
    """
    last = episode.infos[-1] if episode.infos else {}
    return {
        **episode.ref.to_row(),
        "problem_id": last.get("problem_id", ""),
        "prompt": last.get("prompt", ""),
        "response": last.get("response", ""),
        "turns": [info.get("response", "") for info in episode.infos],
        "observations": _observations(episode, decode),
        "reward": episode.reward,
        "scored": episode.scored,
        "truncated": episode.truncated,
        "parts": last.get("parts", {}),
        "metadata": last.get("metadata", {}),
        "advantage": episode.advantage,
        "weights": episode.weights,
        "tokens": episode.tokens,
        "acts": episode.acts,
        "pieces": [
            decode([token]) for start, end in episode.acts for token in episode.tokens[start:end]
        ],
        "logprobs": episode.logprobs,
    }


def _observations(episode: Episode, decode: Decode) -> list[str]:
    """Return the text between one act and the next."""
    ends = [end for _, end in episode.acts]
    starts = [start for start, _ in episode.acts[1:]]
    return [decode(episode.tokens[end:start]) for end, start in zip(ends, starts, strict=False)]
