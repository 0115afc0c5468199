"""A task of ours behind the methods of an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core import Reward, Task, as_reward
from ...errors import RewardError, require
from ...problems import ProblemRef
from ...tokens import Codec
from .adapter import RLAdapter


class EnvAdapter(RLAdapter):
    """A task behind the methods of an adapter. Its samples are problems."""

    def __init__(self, task: Task[Any], size: int, seed: int, unmeasured: float | None) -> None:
        super().__init__()
        require(size >= 1, f"size={size} must be 1 or more")
        self.task, self._size, self._next, self._unmeasured = task, size, seed, unmeasured
        self._codec = Codec()
        self._problems: dict[tuple[int, ...], Any] = {}

    def build_dataset(self) -> list[Any]:
        seeds = range(self._next, self._next + self._size)
        self._next += self._size
        return [ProblemRef(seed=seed).of(self.task) for seed in seeds]

    def make_prompt(self, sample: Any, tokenizer: Any) -> list[int]:
        if tokenizer is not self._codec.tokenizer:
            self._tokenizer, self._codec = tokenizer, Codec(tokenizer)
            self._problems.clear()
        ids = self._codec.encode_prompt(self.task.prompt(sample))
        self._problems[tuple(ids)] = sample
        return ids

    def compute_reward(self, response: str, sample: Any) -> float:
        return self._number(as_reward(self.task.score(sample, self._without_end(response))))

    def __call__(self, prompt: Any, response: Any) -> Reward:
        ids = tuple(int(i) for i in prompt.to_ints())
        require(ids in self._problems, "this prompt was not made by make_prompt() of this adapter")
        text, _ = self._codec.response_text([int(i) for i in response.to_ints()])
        return as_reward(self.task.score(self._problems[ids], text))

    def examples(self, sample: Any) -> Mapping[str, float]:
        return self.task.examples(sample)

    def _without_end(self, response: str) -> str:
        """Take off the end-of-turn token, which the loop decodes with the rest."""
        for token in self._codec.stop_tokens:
            response = response.removesuffix(self._codec.decode([token]))
        return response

    def _number(self, reward: Reward) -> float:
        score = reward.score if reward.score is not None else self._unmeasured
        if score is None:
            raise RewardError(
                f"a response could not be measured ({dict(reward.metadata)}). Start what the "
                "verdict needs, or give to_adapter(env, unmeasured=...) a value for it."
            )
        return score
