"""From an adapter to an environment: ``from_adapter``."""

from __future__ import annotations

import math
import random
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...core import Prompt, Reward, Task, TokenPrompt
from ...env import TokenEnv
from ...errors import RewardError, require
from ...loading import Loaded
from ...problems import row_at
from ...tokens import Codec
from .adapter import Adopted, RLAdapter, name_of, prompt_ids, prompt_ids_for
from .task_adapter import EnvAdapter

_LEAVES = 50  # values in a sample that are tried for its answer
_ANSWERS = ("answer", "gold", "ground_truth", "reference", "solution")


def from_adapter(
    adapter: Any,
    *,
    tokenizer: Any = None,
    prompts: Sequence[Any] | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    render_mode: str | None = None,
) -> TokenEnv:
    """Return a Gymnasium environment of ``adapter``, which runs as it is.

    Args:
        adapter: an adapter of either form: of a subclass of ``RLAdapter``, ours or another's.
        tokenizer: as for ``TokenEnv``; the adapter gets it too, unless it has one.
        prompts: the samples, in place of ``adapter.build_dataset()``.
        reward_range: (lowest, highest) reward of the adapter; scaled to [0, 1].
        render_mode: as for ``TokenEnv``.

    Raises:
        SettingError: the adapter has no samples or no reward.
    """
    if isinstance(adapter, EnvAdapter) and prompts is None:  # there and back
        return TokenEnv(adapter.task, tokenizer, render_mode)
    task = AdapterTask(adapter, prompts, reward_range)
    codec = Codec(tokenizer)
    if tokenizer is not None and getattr(adapter, "_tokenizer", True) is None:
        adapter._tokenizer = codec.tokenizer
    return TokenEnv(task, codec, render_mode)


@dataclass(frozen=True)
class AdapterProblem:
    """One sample of an adapter, and what its prompt says."""

    sample: Any
    text: str


class AdapterTask(Loaded, Task[AdapterProblem]):
    """An adapter as a task.

    A data set that comes out the same however the global generators are seeded is a data set,
    with a size and indexes. Any other is drawn: the generators of ``random`` and ``numpy.random``
    are seeded from the problem's seed while ``build_dataset`` runs, and put back afterwards, so
    that the same seed gives the same problem.

    Args and errors are those of ``from_adapter``.
    """

    #: Whether the answer of a sample may be looked for by asking the adapter.
    asks = True

    def __init__(
        self,
        adapter: Any,
        prompts: Sequence[Any] | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        low, high = reward_range
        require(
            low < high and math.isfinite(high - low),
            f"reward_range={reward_range!r} must be (lowest, highest), two finite numbers",
        )
        self.adapter = adapter if isinstance(adapter, RLAdapter) else Adopted(adapter)
        self.reward_range = float(low), float(high)
        self._codec = Codec(getattr(adapter, "_tokenizer", None))
        self._rows = list(prompts) if prompts is not None else self._fixed_rows()
        require(self._rows is None or len(self._rows) > 0, "there are no prompts: give one or more")

    def _fixed_rows(self) -> list[Any] | None:
        one, two = self._build(1), self._build(2)
        return one if _look(one) == _look(two) else None

    def _build(self, seed: int) -> list[Any]:
        with _seeded(seed):
            made = self.adapter.build_dataset()
            rows = list(made) if isinstance(made, Iterable) else []
        name = name_of(self.adapter)
        require(bool(rows), f"{name}.build_dataset() returns no samples: return one or more")
        return rows

    @property
    def same_again(self) -> bool:
        """False if the data set is another each time that it is built."""
        return self._rows is not None

    @property
    def size(self) -> int | None:
        return None if self._rows is None else len(self._rows)

    def sample(self, rng: np.random.Generator) -> AdapterProblem:
        rows = self._rows or self._build(int(rng.integers(2**32)))
        return self._problem(rows[int(rng.integers(len(rows)))])

    def problem(self, index: int) -> AdapterProblem:
        if self._rows is None:
            return super().problem(index)
        return self._problem(row_at(self._rows, index))

    def _problem(self, sample: Any) -> AdapterProblem:
        ids = prompt_ids(self.adapter, sample, self._codec)
        return AdapterProblem(sample, self._codec.decode(ids))

    def prompt(self, problem: AdapterProblem) -> Prompt:
        return TokenPrompt(problem.text, partial(prompt_ids_for, self.adapter, problem.sample))

    def score(self, problem: AdapterProblem, response: str) -> Reward:
        return self._reward(self.adapter.compute_reward(response, problem.sample))

    def _reward(self, value: Any) -> Reward:
        if isinstance(value, Reward):
            return value
        if value is None:
            return Reward(None)
        if not hasattr(value, "score"):
            return Reward(self._scaled(value))
        score = value.score  # a Reward of another library
        return Reward(None if score is None else self._scaled(score), {}, self._metadata(value))

    def _metadata(self, value: Any) -> dict[str, Any]:
        given = getattr(value, "metadata", None) or {}
        if isinstance(given, Mapping):
            return dict(given)
        raise RewardError(f"{name_of(self.adapter)} gives the metadata {given!r}: give a dict")

    def _scaled(self, value: Any) -> float:
        low, high = self.reward_range
        try:
            scaled = (float(value) - low) / (high - low)
        except (TypeError, ValueError, OverflowError):
            scaled = float("nan")
        if isinstance(value, str | bytes) or not 0.0 <= scaled <= 1.0:
            raise RewardError(
                f"{name_of(self.adapter)} gives the reward {reprlib.repr(value)}, no number in "
                f"[{low:g}, {high:g}]. Scale it, or say "
                "reward_range=(lowest, highest) to from_adapter."
            )
        return scaled

    def examples(self, problem: AdapterProblem) -> Mapping[str, float]:
        """Return the adapter's own; else what stands in the sample and earns the full mark."""
        own = self.adapter.examples  # other things have been called so
        given = own(problem.sample) if callable(own) else {}
        if given or not self.asks:
            return given
        found = sorted(_leaves(problem.sample), key=_unlikely)[:_LEAVES]
        texts = [str(value) for _, value in found]
        return {text: 1.0 for text in texts if self._is_right(text, problem)}

    def _is_right(self, text: str, problem: AdapterProblem) -> bool:
        if text == problem.sample:  # the sample is the prompt, not its answer
            return False
        try:
            return self.score(problem, text).score == 1.0
        except (Exception, SystemExit):  # the kit says so where it tries texts
            return False


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators for a while: documented adapters draw from them."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - put back below
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - what an adapter may draw from
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def _look(rows: Sequence[Any]) -> str:
    """Return rows as text to compare; an object without a repr of its own counts as itself."""
    return repr(rows)


def _leaves(value: Any, name: str = "", depth: int = 4) -> Iterator[tuple[str, str | int | float]]:
    """Yield the texts and numbers in a sample, with their names: one of them may be the answer."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, str(key), depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, name, depth - 1)


def _unlikely(leaf: tuple[str, str | int | float]) -> tuple[bool, int]:
    """Sort by it: what is named as an answer, then numbers, then texts, short ones first."""
    name, value = leaf
    return name not in _ANSWERS, len(value) if isinstance(value, str) else 0
