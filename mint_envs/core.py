"""What a task is: ``Reward``, ``Task`` and ``Episode``. Pure Python and NumPy.

A *task* is a family of problems with a verdict. It knows nothing of Gymnasium, tokenizers or
torch; ``mint_envs.env.TokenEnv`` makes a Gymnasium environment of any task.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

import numpy as np

from .errors import DatasetError, RewardError, SettingError

Problem = TypeVar("Problem")


class Message(TypedDict):
    """One chat message: ``role`` is ``system``, ``user``, ``assistant`` or ``tool``.

    ``trusted``: so many characters at the beginning of ``content`` are the task's own words, in
    which a special token that is spelled out counts as one; everything else is encoded split.
    ``tools``: on a first message, the tools (OpenAI's form) that the chat template itself is to
    list; only where ``ChatStyle.lists_tools``.
    ``name``, ``tool_call_id``: on a result, whose it is. With them the template renders it after
    the very calls that it answers, and without after a plain answer.
    ``tool_calls``: on a message of the assistant, its calls (OpenAI's form).
    """

    role: str
    content: str
    trusted: NotRequired[int]
    tools: NotRequired[Sequence[Mapping[str, Any]]]
    name: NotRequired[str]
    tool_call_id: NotRequired[str]
    tool_calls: NotRequired[Sequence[Mapping[str, Any]]]


def text_of(content: Any) -> str:
    """Return the content of a message of another library: text, or a list of parts with text.

    Raises:
        DatasetError: there is none, or a part is no text, say a picture.
    """
    if content is None:
        raise DatasetError("a message has no content")
    if not isinstance(content, Sequence) or isinstance(content, str):
        return str(content)
    for part in content:
        if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
            kind = part.get("type") if isinstance(part, Mapping) else part
            raise DatasetError(f"a part of a message, {str(kind)[:40]!r}, is no text")
    return "".join(part["text"] for part in content)


#: Text to be continued (few-shot completion style), or chat messages for the tokenizer's template.
Prompt = str | Sequence[Message]


class TokenPrompt(str):
    """A prompt whose author makes the tokens too. As a string it is what those tokens say.

    ``tokens_for(tokenizer)`` returns the ids; the environment takes them as they are.
    """

    __slots__ = ("tokens_for",)
    tokens_for: Callable[[Any], list[int]]

    def __new__(cls, text: str, tokens_for: Callable[[Any], list[int]]) -> TokenPrompt:
        self = super().__new__(cls, text)
        self.tokens_for = tokens_for
        return self


@dataclass(frozen=True, slots=True)
class ChatStyle:
    """What a task may want to know of the chat template that its messages go through.

    ``template``: its text, ``""`` if there is none. ``lists_tools``: it takes the tools on offer
    and says itself how to call them. ``tool_role``: it frames messages of the role ``tool``.
    ``calls_tools``: no text is written at all; a library lists ``Task.tools`` and calls them, and
    a call comes as ``<tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call>``.
    ``chat``: the template at work, a ``mint_envs.templates.ChatTemplate``; None if there is none.
    """

    template: str = ""
    lists_tools: bool = False
    tool_role: bool = False
    calls_tools: bool = False
    chat: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reward:
    """The verdict on one response.

    Args:
        score: a finite float in [0, 1]; ``None`` when it could not be measured (sandbox down,
            judge unreachable). Unmeasured is never 0.
        parts: named components of the score, each a finite float in [0, 1]. The score rises with
            them: where no part is lower, the score is not lower.
        metadata: plain values (JSON) that explain the verdict. A key always has one type.

    Raises:
        RewardError: ``score`` or a part is not a number, not finite, or outside [0, 1].
    """

    score: float | None
    parts: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score is not None:
            object.__setattr__(self, "score", _unit(self.score, "score"))
        object.__setattr__(self, "parts", {k: _unit(v, k) for k, v in self.parts.items()})
        object.__setattr__(self, "metadata", dict(self.metadata))

    @property
    def measured(self) -> bool:
        """False when the score is None: leave such a sample out, do not count it as 0."""
        return self.score is not None


def _unit(value: Any, name: str) -> float:
    """Return ``value`` as a float in [0, 1], or raise RewardError naming it."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, str | bytes) or not 0.0 <= number <= 1.0:
        raise RewardError(
            f"{name}={value!r} is not a number in [0, 1]. Scale it into that range; "
            "use score=None for a reward that could not be measured."
        )
    return number + 0.0  # turns -0.0 into 0.0, so that equal rewards print alike


def as_prompt(value: Any) -> Prompt:
    """Return what ``prompt`` gave, if it is text or chat messages.

    Raises:
        SettingError: it is neither, or a message has no role or no content.
    """
    if isinstance(value, str):
        return value
    right = isinstance(value, Sequence) and all(
        isinstance(one, Mapping) and "role" in one and ("content" in one or "tool_calls" in one)
        for one in value
    )
    if not (right and value):
        raise SettingError(
            f"prompt() gave {value!r}, a {type(value).__name__}. Return text, or chat messages: "
            '[{"role": "user", "content": "..."}]'
        )
    messages: Sequence[Message] = value
    return messages


def as_reward(value: Any) -> Reward:
    """Return what ``score`` gave as a Reward: a plain number or a bool is one by itself.

    Raises:
        RewardError: it is anything else. Nothing at all is no verdict: a reward that could not be
            measured is ``Reward(None)``.
    """
    if isinstance(value, Reward):
        return value
    if isinstance(value, bool | int | float | np.bool_ | np.number):
        return Reward(float(value))
    raise RewardError(
        f"score() gave {value!r:.80}, a {type(value).__name__}. Return Reward(score) or a number "
        "in [0, 1]; Reward(None) if it could not be measured"
    )


class Episode(ABC):
    """The course of one problem: what the environment says back to each response."""

    @abstractmethod
    def respond(self, text: str) -> str | Sequence[Message] | Reward:
        """Take one complete response; return what the environment says next, or the Reward.

        ``text`` is any string whatever; it never raises. A returned string is a user message in
        a chat, and plain continuation text after a completion-style prompt.
        """

    def cut(self, text: str) -> Reward:
        """Return the reward when ``text`` was cut off before its end. Nothing of it is run."""
        return Reward(0.0, metadata={"error": "response was cut off"})


class Task(ABC, Generic[Problem]):
    """A family of problems. Subclass it; its keyword arguments are its settings.

    Only ``sample``, ``prompt`` and ``score`` are needed for a single-turn task. A multi-turn
    task overrides ``start`` instead of ``score``.
    """

    #: What ends a response besides the tokenizer's end-of-turn token. A completion-style prompt
    #: wants one, since a base model goes on with a next question of its own.
    stop: Sequence[str] = ()

    #: True if the reward of a response may differ between calls (a live judge, a network). A
    #: task whose settings decide that sets it on itself.
    nondeterministic: bool = False

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Problem:
        """Draw a problem. All randomness comes from ``rng``: problem = f(seed)."""

    @abstractmethod
    def prompt(self, problem: Problem) -> Prompt:
        """Return what the model sees first: text to be continued, or chat messages."""

    def score(self, problem: Problem, response: str) -> Reward:
        """Return the verdict on ``response``. Pure; any string gets a Reward, never an error.

        A plain number is taken as its score: see ``as_reward``.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither score() nor start()")

    def score_batch(self, pairs: Sequence[tuple[Problem, str]]) -> list[Reward]:
        """Score many (problem, response) pairs, in order. Override it to use every core."""
        return [as_reward(self.score(problem, response)) for problem, response in pairs]

    def start(self, problem: Problem) -> Episode:
        """Begin an episode. The default is a single turn that ends with ``score``."""
        return _SingleTurn(self, problem)

    def fitted(self, style: ChatStyle) -> Task[Problem]:
        """Return this task with its messages as a model of this chat style knows them."""
        return self

    def tools(self, problem: Problem | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the tools that ``problem`` offers; of None, all that one or another offers.

        Each is OpenAI's inner object: ``name``, ``description`` and ``parameters``, a JSON Schema.
        """
        return ()

    def examples(self, problem: Problem) -> Mapping[Any, float]:
        """Return worked examples, ``{response: reward}``, one that earns 1 first.

        A key is a response, or a tuple of responses for several turns.
        """
        return {}

    def problem(self, index: int) -> Problem:
        """Return problem number ``index``: the row of a data set, else the problem of that seed.

        Raises:
            IndexOutOfRange: the data set has no such row.
        """
        return self.sample(np.random.default_rng(index))

    def problem_id(self, problem: Problem) -> str:
        """Return a stable name of the problem. The default is a digest of its prompt."""
        text = _JSON.encode(self.prompt(problem))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def size(self) -> int | None:
        """The number of problems, or None for an endless generator."""
        return None

    @property
    def single_turn(self) -> bool:
        """True if every episode is one response (``start`` is not overridden)."""
        return type(self).start is Task.start


_JSON = json.JSONEncoder(sort_keys=True, default=str)


class _SingleTurn(Episode):
    """One response, scored whole; a response that was cut off is scored as it stands."""

    def __init__(self, task: Task[Any], problem: Any) -> None:
        self._task, self._problem = task, problem

    def respond(self, text: str) -> Reward:
        return as_reward(self._task.score(self._problem, text))

    cut = respond
