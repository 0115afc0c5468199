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
from ...records.fields import GOLDS, gold_of, prompt_of
from ...responses.framing import framed
from ...tokenizers import ByteTokenizer
from .functions import Call, no_number, number_of

_TESTS = {"test", "tests", "test_list"}


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
        self.rows, self.call = rows, call
        self.reward_range = reward_range

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
        value = number_of(raw_value(self, problem, response))
        if value is None:
            return Reward(None)
        number, shown = as_float(value), reward_text(value)
        if number is None:
            raise RewardError(f"score={shown} is {no_number(value)}")
        low, high = self.reward_range
        if not low <= number <= high:  # NaN too
            raise RewardError(f"score={shown} is not in [{low:g}, {high:g}]")
        return Reward((number - low) / (high - low))

    def answer_given(self, problem: Any) -> str | None:
        """Return the right answer of a row; how a response must give it, nobody has said."""
        gold = gold_of(problem)
        plain = isinstance(gold, str) or not isinstance(gold, Mapping | Sequence)
        return str(gold) if plain and gold is not None else None

    def examples(self, problem: Any) -> dict[str, float]:
        """Return the right responses of a row: those it says, in a column ``right``."""
        right = problem.get("right") if isinstance(problem, Mapping) else None
        texts = [right] if isinstance(right, str) else right if isinstance(right, list) else []
        gold = self.answer_given(problem)
        if not texts and gold is not None and _TESTS & problem.keys():
            texts = [gold]  # a program, which is its own response
        return {**{str(text): 1.0 for text in texts}, **({"": 0.0} if texts else {})}


def raw_value(task: Any, problem: Any, response: str) -> Any:
    """Return what a user's own function or adapter returns for a response."""
    if isinstance(task, FunctionTask):
        return task.call(problem, task.prompt(problem), response)
    return task.adapter.compute_reward(response, problem.sample)


def as_float(value: Any) -> float | None:
    """Return a reward as a float; None if it is no number."""
    if isinstance(value, str | bytes) or not isinstance(value, int | float | np.number):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def reward_text(value: Any) -> str:
    """Return what a reward is in words, whatever its type says of itself."""
    try:
        return repr(value)[:80]
    except Exception as error:
        return f"(it cannot be shown: {error})"[:80]


def with_gold(row: Any, answer: str) -> Any:
    """Return a row with another right answer, under the name and in the form that it has there."""
    before, _, after = framed(str(gold_of(row)))
    gold = f"{before}{answer}{after}"
    for path in GOLDS:
        first, _, rest = path.partition(".")
        if rest and isinstance(row.get(first), Mapping) and rest in row[first]:
            return {**row, first: {**row[first], rest: gold}}
        if not rest and path in row:
            return {**row, path: gold}
    return row


def sees_of(task: Any) -> set[str]:
    """Return what a reward sees beside the response: "prompt", "gold", "row"; all if unknown."""
    seen: set[str] | None = getattr(getattr(task, "call", None), "sees", None)
    return {"prompt", "gold", "row"} if seen is None else seen


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
