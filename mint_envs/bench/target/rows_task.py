"""Whatever is benchmarked, as a ``Task``: rows with a reward function, and MinT's adapters."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...core import Message, Prompt, Reward, Task
from ...datasets import look_up
from ...errors import IndexOutOfRange, RewardError, SettingError, require
from ...testing.guards import global_seed
from ...tokenizers import ByteTokenizer
from .functions import PROMPTS, Call, gold_of, number_of

_LEAVES = 20  # values of a sample that are tried as its answer


class BenchTask(Task[Any]):
    """Rows or samples, and a number for each response, scaled from [low, high] to [0, 1]."""

    low, high = 0.0, 1.0
    #: The function that loaded it, and from what.
    source: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was loaded from: the user's function itself may not pickle."""
        load, target = self.source
        return load, (target,)

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows

    @property
    def size(self) -> int:
        return len(self.rows)

    def sample(self, rng: np.random.Generator) -> Any:
        return self.rows[int(rng.integers(len(self.rows)))]

    def problem(self, index: int) -> Any:
        if index >= len(self.rows):
            raise IndexOutOfRange(f"index={index}: there are {len(self.rows)} rows")
        return self.rows[index]

    @abstractmethod
    def raw(self, problem: Any, response: str) -> Any:
        """Return what the user's function returns."""

    def score(self, problem: Any, response: str) -> Reward:
        value = number_of(self.raw(problem, response))
        if value is None:
            return Reward(None)
        if isinstance(value, str | bytes) or not isinstance(value, int | float | np.number):
            raise RewardError(f"score={_said(value)} is a {type(value).__name__}, not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not self.low <= number <= self.high:  # NaN too
            raise RewardError(f"score={_said(value)} is not in [{self.low:g}, {self.high:g}]")
        return Reward((number - self.low) / (self.high - self.low))

    def examples(self, problem: Any) -> dict[str, float]:
        gold = self.gold(problem)
        return {} if gold is None else {gold: 1.0, "": 0.0}

    def gold(self, problem: Any) -> str | None:
        """Return the right response to a problem, if its row or sample tells."""
        return None


def _said(value: Any) -> str:
    """Return what a reward is in words, whatever its type says of itself."""
    try:
        return repr(value)[:80]
    except Exception as error:
        return f"(it cannot be shown: {error})"[:80]


class FunctionTask(BenchTask):
    """Rows, and a function of any library."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], call: Call) -> None:
        super().__init__(rows)
        self._call = call

    def prompt(self, problem: Any) -> Prompt:
        return prompt_of(problem)

    def raw(self, problem: Any, response: str) -> Any:
        return self._call(problem, self.prompt(problem), response)

    def gold(self, problem: Any) -> str | None:
        value = gold_of(problem)
        return None if isinstance(value, Mapping | Sequence) and not isinstance(value, str) else (
            None if value is None else str(value)
        )  # fmt: skip


class AdapterTask(BenchTask):
    """An object with ``build_dataset``, ``make_prompt`` and ``compute_reward``."""

    asks = True  # whether the answer of a sample may be looked for by asking the adapter

    def __init__(self, adapter: Any) -> None:
        with global_seed(0):  # many draw from the global generators: the same here every time
            rows = list(adapter.build_dataset())
        with global_seed(1):
            self.same_again = repr(list(adapter.build_dataset())) == repr(rows)
        require(bool(rows), "build_dataset() gives no samples")
        super().__init__(rows)
        self._adapter, self._tokenizer = adapter, ByteTokenizer()

    def prompt(self, problem: Any) -> Prompt:
        made = self._adapter.make_prompt(problem, self._tokenizer)
        if isinstance(made, str):
            return made
        return self._tokenizer.decode(_ints(made))

    def raw(self, problem: Any, response: str) -> Any:
        return self._adapter.compute_reward(response, problem)

    def gold(self, problem: Any) -> str | None:
        """Return the first value in the sample that, as a response, earns the full mark."""
        for text in leaves(problem) if self.asks else ():
            try:
                if self.score(problem, text).score == 1.0:
                    return text
            except BaseException:  # the function's own faults are found elsewhere
                continue
        return None


class CallableTask(FunctionTask):
    """An object that is called with (prompt tokens, response tokens)."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], adapter: Any) -> None:
        tokenizer = _tokenizer_of(adapter)

        def call(row: Mapping[str, Any], prompt: Prompt, response: str) -> Any:
            text = prompt if isinstance(prompt, str) else "\n".join(m["content"] for m in prompt)
            return adapter(Tokens(tokenizer.encode(text)), Tokens(tokenizer.encode(response)))

        super().__init__(rows, call)


class Tokens(list[int]):
    """Token ids that also look like the SDK's ``ModelInput``."""

    def to_ints(self) -> list[int]:
        return list(self)


def _tokenizer_of(adapter: Any) -> Any:
    get = getattr(adapter, "get_tokenizer", None)
    found = get() if callable(get) else getattr(adapter, "tokenizer", None)
    return found if hasattr(found, "encode") else ByteTokenizer()


def _ints(tokens: Any) -> list[int]:
    return list(tokens.to_ints() if hasattr(tokens, "to_ints") else tokens)


def prompt_of(row: Mapping[str, Any]) -> Prompt:
    """Return the prompt of a row, text or messages; "" if it has none."""
    value = look_up(row, PROMPTS)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(m, Mapping) for m in value):
        return [Message(role=str(m["role"]), content=str(m["content"])) for m in value]
    return "" if value is None else str(value)


def leaves(sample: Any) -> Iterator[str]:
    """Yield the texts and numbers in a sample, likely answers first, each as a response."""
    found: list[tuple[int, str]] = []
    _walk(sample, "", found)
    for _, text in sorted(found, key=lambda pair: pair[0])[:_LEAVES]:
        yield text


def _walk(value: Any, name: str, found: list[tuple[int, str]], depth: int = 0) -> None:
    if isinstance(value, Mapping) and depth < 3:
        for key, item in value.items():
            _walk(item, str(key), found, depth + 1)
    elif isinstance(value, list | tuple) and depth < 3:
        for item in value:
            _walk(item, name, found, depth + 1)
    elif isinstance(value, str | int | float) and not (
        isinstance(value, float) and math.isnan(value)
    ):
        text = str(value)
        # Named as an answer first, then numbers, then short texts: a question is long.
        likely = 0 if name in ("answer", "gold", "ground_truth", "reference", "solution") else 1
        found.append((likely * 10**6 + (0 if not isinstance(value, str) else len(text)), text))


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
