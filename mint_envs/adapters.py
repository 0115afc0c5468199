"""``RLAdapter`` as MinT documents it, and the way from it to our environments and back.

    env = mint_envs.from_adapter(MyAdapter())        # a Gymnasium environment of an adapter
    run_grpo(mint_envs.to_adapter("mint/Math-v0"))   # our tasks in a loop made for adapters
    mint_envs.register("my/Sums-v0", MyAdapter)      # an id of it, for gym.make and mint-grpo

An adapter has one of two forms. It builds a data set, makes a prompt of a sample and computes the
reward of a response to it; or it is called with (prompt, response) as tokens and returns a
``Reward``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .core import Message, Prompt, Reward, Task, TokenPrompt
from .env import TokenEnv
from .errors import IndexOutOfRange, RewardError, SettingError, require
from .tokens import ByteTokenizer, Codec, Tokenizer


class ModelInput:
    """Tokens as an adapter is given them: ``to_ints()`` and ``length``, as in MinT's SDK."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = [int(i) for i in ids]

    @classmethod
    def from_ints(cls, tokens: Sequence[int]) -> ModelInput:
        """Return the input of these token ids."""
        return cls(tokens)

    def to_ints(self) -> list[int]:
        """Return the token ids."""
        return list(self._ids)

    @property
    def length(self) -> int:
        """The number of tokens."""
        return len(self._ids)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of the model that is trained, from its tokenizer."""

    name: str
    family: str
    vocab_size: int
    eos_token_id: int | None


class RLAdapter:
    """Base class of adapters, with the methods of MinT's documents. Two forms:

    - ``build_dataset``, ``make_prompt`` and ``compute_reward`` (and ``evaluate``, to print);
    - ``__call__(prompt, response) -> Reward`` on tokens; the prompts come from ``build_dataset``,
      or from ``from_adapter(adapter, prompts=[...])``.

    ``examples(sample)``, which the documents do not have, may return ``{response: reward}``, the
    full mark first: with it the conformance kit sees whether a problem can be solved at all.
    """

    # Here too, for subclasses that do not call our __init__.
    _tokenizer: Any = None
    _made: Codec | None = None

    def __init__(self, tokenizer: Any = None) -> None:
        self._tokenizer = tokenizer

    def get_tokenizer(self) -> Tokenizer:
        """Return the tokenizer that was given, else the byte tokenizer."""
        if self._tokenizer is None:
            self._tokenizer = ByteTokenizer()
        tokenizer: Tokenizer = self._tokenizer
        return tokenizer

    def get_model_info(self) -> ModelInfo:
        """Return the model's name and family, and the size of its vocabulary."""
        tokenizer = self.get_tokenizer()
        name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
        family = name.replace("\\", "/").rstrip("/").rpartition("/")[2].partition("-")[0]
        return ModelInfo(name, family, int(tokenizer.vocab_size), tokenizer.eos_token_id)

    def build_dataset(self) -> list[Any]:
        """Return the samples of a step.

        Raises:
            SettingError: the adapter has none.
        """
        name = type(self).__name__
        raise SettingError(
            f"{name} has no build_dataset(): write it, or give from_adapter({name}(), "
            "prompts=[...])"
        )

    def make_prompt(self, sample: Any, tokenizer: Any) -> Any:
        """Return the prompt of a sample as token ids (also good: text, or chat messages).

        The default takes the sample as the prompt.
        """
        return sample

    def compute_reward(self, response: str, sample: Any) -> Any:
        """Return the reward of a response: a number, a ``Reward``, or None if unmeasured.

        The default calls the adapter on the tokens of prompt and response.
        """
        if type(self).__call__ is RLAdapter.__call__:
            raise SettingError(
                f"{type(self).__name__} gives no reward: define compute_reward(response, sample), "
                "or __call__(prompt, response)"
            )
        if self._made is None or self._made.tokenizer is not self.get_tokenizer():
            self._made = Codec(self.get_tokenizer())
        codec = self._made
        prompt = _prompt_ids(self, sample, codec)
        return self(ModelInput(prompt), ModelInput(codec.encode_response(response)))

    def __call__(self, prompt: Any, response: Any) -> Reward:
        """Return the reward of a response, both as ``ModelInput``."""
        raise SettingError(f"{type(self).__name__} does not define __call__(prompt, response)")

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        """Print what a step came to; called by the loop after each."""
        accuracy = sum(reward > 0 for reward in rewards) / len(rewards) if rewards else 0.0
        print(f"Step {step}: accuracy={accuracy:.1%}, datums={num_datums}")

    def examples(self, sample: Any) -> Mapping[str, float]:
        """Return worked examples of a sample, the one with the full mark first; none by default."""
        return {}


# -- from an adapter to an environment ------------------------------------------------------------


def from_adapter(
    adapter: RLAdapter,
    *,
    tokenizer: Any = None,
    prompts: Sequence[Any] | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    render_mode: str | None = None,
) -> TokenEnv:
    """Return a Gymnasium environment of ``adapter``, which runs as it is.

    Args:
        adapter: an adapter of either form; a subclass of ``RLAdapter`` or any such object.
        tokenizer: as for ``TokenEnv``; the adapter gets it too, unless it has one.
        prompts: the samples, in place of ``adapter.build_dataset()``.
        reward_range: (lowest, highest) reward of the adapter; scaled to [0, 1].
        render_mode: as for ``TokenEnv``.

    Raises:
        SettingError: the adapter has no samples or no reward.
    """
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


class AdapterTask(Task[AdapterProblem]):
    """An adapter as a task.

    A data set that comes out the same however the global generators are seeded is a data set,
    with a size and indexes. Any other is drawn: the generators of ``random`` and ``numpy.random``
    are seeded from the problem's seed while ``build_dataset`` runs, and put back afterwards, so
    that the same seed gives the same problem.

    Args and errors are those of ``from_adapter``.
    """

    def __init__(
        self,
        adapter: RLAdapter,
        prompts: Sequence[Any] | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        low, high = reward_range
        require(low < high, f"reward_range={reward_range!r} must be (lowest, highest)")
        self.adapter, self._low, self._high = adapter, float(low), float(high)
        self._codec = Codec(getattr(adapter, "_tokenizer", None))
        self._rows = list(prompts) if prompts is not None else self._fixed_rows()
        require(self._rows is None or len(self._rows) > 0, "there are no prompts: give one or more")

    def _fixed_rows(self) -> list[Any] | None:
        one, two = self._build(1), self._build(2)
        return one if _look(one) == _look(two) else None

    def _build(self, seed: int) -> list[Any]:
        with _seeded(seed):
            rows = list(self.adapter.build_dataset())
        name = type(self.adapter).__name__
        require(bool(rows), f"{name}.build_dataset() returns no samples: return one or more")
        return rows

    @property
    def size(self) -> int | None:
        return None if self._rows is None else len(self._rows)

    def sample(self, rng: np.random.Generator) -> AdapterProblem:
        rows = self._rows or self._build(int(rng.integers(2**32)))
        return self._problem(rows[int(rng.integers(len(rows)))])

    def problem(self, index: int) -> AdapterProblem:
        if self._rows is None:
            return super().problem(index)
        if index >= len(self._rows):
            raise IndexOutOfRange(f"index={index}: the data set has {len(self._rows)} problems")
        return self._problem(self._rows[index])

    def _problem(self, sample: Any) -> AdapterProblem:
        ids = _prompt_ids(self.adapter, sample, self._codec)
        return AdapterProblem(sample, self._codec.decode(ids))

    def prompt(self, problem: AdapterProblem) -> Prompt:
        return TokenPrompt(problem.text, partial(_prompt_ids_for, self.adapter, problem.sample))

    def score(self, problem: AdapterProblem, response: str) -> Reward:
        return self._reward(self.adapter.compute_reward(response, problem.sample))

    def _reward(self, value: Any) -> Reward:
        if isinstance(value, Reward):
            return value
        if value is None:
            return Reward(None)
        shape = getattr(value, "score", None)  # a Reward of another library
        if shape is not None:
            return Reward(self._scaled(shape), metadata=dict(getattr(value, "metadata", {}) or {}))
        return Reward(self._scaled(value))

    def _scaled(self, value: Any) -> float:
        try:
            scaled = (float(value) - self._low) / (self._high - self._low)
        except (TypeError, ValueError, OverflowError):
            scaled = float("nan")
        if not 0.0 <= scaled <= 1.0:
            name = type(self.adapter).__name__
            raise RewardError(
                f"{name} gives the reward {value!r}, outside [{self._low:g}, {self._high:g}]. "
                "Scale it, or say reward_range=(lowest, highest) to from_adapter."
            )
        return scaled

    def examples(self, problem: AdapterProblem) -> Mapping[str, float]:
        """Return the adapter's own; else what stands in the sample and earns the full mark."""
        own = getattr(self.adapter, "examples", None)
        given = own(problem.sample) if callable(own) else {}
        return given or {text: 1.0 for text in _leaves(problem.sample) if self._is_right(text, problem)}

    def _is_right(self, text: str, problem: AdapterProblem) -> bool:
        if text == problem.sample:  # the sample is the prompt, not its answer
            return False
        try:
            return self.score(problem, text).score == 1.0
        except Exception:  # the kit says so where it tries texts
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


def _leaves(value: Any, depth: int = 4) -> Iterator[str]:
    """Return the texts and numbers in a sample: one of them may be the answer."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, depth - 1)


# -- prompts --------------------------------------------------------------------------------------


class _Documented:
    """A tokenizer as the documents use it: ``apply_chat_template(tokenize=True)`` gives ids.

    (Since its version 5, transformers returns a mapping from it.)
    """

    def __init__(self, tokenizer: Any) -> None:
        self._inner = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __len__(self) -> int:
        return len(self._inner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    @property
    def apply_chat_template(self) -> Callable[..., Any]:
        inner = self._inner.apply_chat_template  # AttributeError where there is none

        def apply(messages: Any, tokenize: bool = True, **options: Any) -> Any:
            made = inner(messages, tokenize=tokenize, **options)
            return list(made["input_ids"]) if hasattr(made, "input_ids") else made

        return apply


def _prompt_ids_for(adapter: Any, sample: Any, tokenizer: Any) -> list[int]:
    return _prompt_ids(adapter, sample, Codec(tokenizer))


def _prompt_ids(adapter: Any, sample: Any, codec: Codec) -> list[int]:
    """Return the prompt of a sample as ids, whatever form the adapter gives it in."""
    made = adapter.make_prompt(sample, _Documented(codec.tokenizer))
    if hasattr(made, "to_ints"):
        made = made.to_ints()
    if isinstance(made, str):
        return codec.encode_prompt(made)
    try:
        items = list(made)
    except TypeError:
        items = []
    if items and all(isinstance(item, Mapping) for item in items):
        return codec.encode_prompt([Message(role=m["role"], content=m["content"]) for m in items])
    require(
        bool(items),
        f"{type(adapter).__name__}.make_prompt() returns {made!r}: return token ids, text or "
        "chat messages, and at least one token",
    )
    return items


# -- from a task to an adapter --------------------------------------------------------------------


def to_adapter(
    env: TokenEnv | Any,
    *,
    size: int = 64,
    seed: int = 0,
    unmeasured: float | None = None,
    **settings: Any,
) -> RLAdapter:
    """Return an adapter of an environment, for a loop like ``run_grpo(adapter)``.

    Args:
        env: an environment of this package (wrapped or not), or its id.
        size: samples of one ``build_dataset()``; the next call goes on with new ones.
        seed: of the first.
        unmeasured: reward of a response that could not be measured. Such a loop knows no absent
            reward, so without a value it raises ``RewardError``: better than a false 0.
        settings: of the id.

    Raises:
        SettingError: the environment is not one of this package, or takes several turns.
    """
    if isinstance(env, str):
        from .registration import make

        env = make(env, **settings)
    elif settings:
        raise SettingError(f"settings {list(settings)} are for an id, not for an environment")
    core = getattr(env, "unwrapped", env)
    require(isinstance(core, TokenEnv), f"{env!r} is not an environment of mint_envs (a TokenEnv)")
    name = type(core.task).__name__
    require(
        core.task.single_turn,
        f"{name} takes several turns, and a loop over adapters has one response to a prompt: "
        "train on it with mint-grpo",
    )
    return _EnvAdapter(core.task, size, seed, unmeasured)


class _EnvAdapter(RLAdapter):
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
        return [self.task.sample(np.random.default_rng(seed)) for seed in seeds]

    def make_prompt(self, sample: Any, tokenizer: Any) -> list[int]:
        if tokenizer is not self._codec.tokenizer:
            self._tokenizer, self._codec = tokenizer, Codec(tokenizer)
            self._problems.clear()
        ids = self._codec.encode_prompt(self.task.prompt(sample))
        self._problems[tuple(ids)] = sample
        return ids

    def compute_reward(self, response: str, sample: Any) -> float:
        return self._number(self.task.score(sample, self._without_end(response)))

    def __call__(self, prompt: Any, response: Any) -> Reward:
        ids = tuple(int(i) for i in prompt.to_ints())
        require(ids in self._problems, "this prompt was not made by make_prompt() of this adapter")
        text, _ = self._codec.response_text([int(i) for i in response.to_ints()])
        return self.task.score(self._problems[ids], text)

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
