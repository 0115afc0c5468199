"""Rows with a reward function of any library, as a ``Task``."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import Prompt, Reward, Task
from ...errors import RewardError, SettingError
from ...loading import Loaded
from ...problems import as_text, row_at
from ...records.fields import gold_of, prompt_of
from ...tokenizers import ByteTokenizer
from .functions import Call, number_of


class FunctionTask(Loaded, Task[Any]):
    """Rows, and a function of any library.

    Args:
        rows: the problems.
        call: the function, in the one form; returns a number for a response.
        reward_range: (lowest, highest) reward of the function; scaled to [0, 1].
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        call: Call,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self.rows, self._call = rows, call
        self._low, self._high = reward_range

    @property
    def size(self) -> int:
        return len(self.rows)

    def sample(self, rng: np.random.Generator) -> Any:
        return self.rows[int(rng.integers(len(self.rows)))]

    def problem(self, index: int) -> Any:
        return row_at(self.rows, index)

    def prompt(self, problem: Any) -> Prompt:
        return prompt_of(problem)

    def score(self, problem: Any, response: str) -> Reward:
        value = number_of(self._call(problem, self.prompt(problem), response))
        if value is None:
            return Reward(None)
        if isinstance(value, str | bytes) or not isinstance(value, int | float | np.number):
            raise RewardError(
                f"score={_reward_text(value)} is a {type(value).__name__}, not a number"
            )
        return Reward(self._scaled(value))

    def _scaled(self, value: Any) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        low, high = self._low, self._high
        if not low <= number <= high:  # NaN too
            raise RewardError(f"score={_reward_text(value)} is not in [{low:g}, {high:g}]")
        return (number - low) / (high - low)

    def examples(self, problem: Any) -> dict[str, float]:
        gold = gold_of(problem)
        plain = isinstance(gold, str) or not isinstance(gold, Mapping | Sequence)
        return {str(gold): 1.0, "": 0.0} if plain and gold is not None else {}


def _reward_text(value: Any) -> str:
    """Return what a reward is in words, whatever its type says of itself."""
    try:
        return repr(value)[:80]
    except Exception as error:
        return f"(it cannot be shown: {error})"[:80]


class CallableTask(FunctionTask):
    """An object that is called with (prompt tokens, response tokens)."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], adapter: Any, reward_range: tuple[float, float]
    ) -> None:
        tokenizer = _tokenizer_of(adapter)

        def call(row: Mapping[str, Any], prompt: Prompt, response: str) -> Any:
            asked, said = tokenizer.encode(as_text(prompt)), tokenizer.encode(response)
            return adapter(Tokens(asked), Tokens(said))

        super().__init__(rows, call, reward_range)


class Tokens(list[int]):
    """Token ids that also look like the SDK's ``ModelInput``."""

    def to_ints(self) -> list[int]:
        return list(self)


def _tokenizer_of(adapter: Any) -> Any:
    get = getattr(adapter, "get_tokenizer", None)
    found = get() if callable(get) else getattr(adapter, "tokenizer", None)
    return found if hasattr(found, "encode") else ByteTokenizer()


def built(maker: Any, name: str) -> Any:
    """Return an instance of an adapter class, made without arguments or with a tokenizer.

    Raises:
        SettingError: its constructor wants something else.
    """
    if not inspect.isclass(maker):
        return maker
    for arguments in ((), (ByteTokenizer(),)):
        try:
            return maker(*arguments)
        except TypeError as error:
            last = error
    raise SettingError(f"{name} is made neither without arguments nor with a tokenizer: {last}")
