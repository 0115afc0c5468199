"""The two shapes that every library takes: text in, verdict out; tokens in, tokens out.

``TextTask`` is an environment by its id, as text: problems by number, their prompts, their
verdicts, and episodes of several turns. ``TokenEpisode`` is one episode over tokens, with its
loss mask. Both may be used from many threads; a ``TextTask`` may be pickled.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from numbers import Integral
from typing import Any, cast

import numpy as np

from ..core import Message, Prompt, Reward, Task
from ..env import TokenEnv
from ..errors import SettingError, Unmeasured, require
from ..problems import ProblemRef
from ..process_local import ProcessLocal
from ..registration import find_spec, make
from ..tokens import Codec


class TextTask:
    """An environment as text: a problem by its index, its prompt, and the verdict on a response.

    The index is the row of a data set, and of an endless task the seed that the problem is of.

    Args:
        env: a registered id, ``"module:id"``, or a ``Task``.
        settings: keyword arguments of the environment (none with a ``Task``).

    Raises:
        SettingError: a setting that the environment does not have, or it is none of this package.
        gymnasium.error.Error: an unknown id.
    """

    def __init__(self, env: str | Task[Any], **settings: Any) -> None:
        require(isinstance(env, str) or not settings, "a Task has its settings already")
        self.env, self.settings = env, settings
        self.task = env if isinstance(env, Task) else _shared_task(env, settings)

    def __reduce__(self) -> Any:
        return _text_task, (self.env, self.settings)

    @property
    def name(self) -> str:
        """What the environment is called in logs."""
        return self.env if isinstance(self.env, str) else type(self.env).__name__

    def single_turn(self, instead: str) -> TextTask:
        """Return itself, or raise SettingError: an episode has several turns; use ``instead``."""
        if self.task.single_turn:
            return self
        raise SettingError(f"{self.name}: a response is one turn of several; use {instead}")

    def messages(self, index: int) -> list[Message]:
        """Return the prompt of a problem as chat messages."""
        return as_messages(self.task.prompt(self.task.problem(index)))

    def numbers(self, count: int | None = None, start: int = 0) -> range:
        """Return the indexes of ``count`` problems from ``start`` on; None: all of a data set.

        Raises:
            SettingError: None, and the problems have no end.
        """
        size = self.task.size
        for name, value in (("count", count or 0), ("start", start)):
            right = isinstance(value, Integral) and value >= 0
            require(right, f"{name}={value!r} must be a whole number, 0 or more")
        if count is None:
            require(size is not None, f"{self.name} has problems without end: say how many (count)")
            count = int(size or 0) - start
        return range(start, start + count)

    def rows(self, count: int | None = None, start: int = 0) -> list[dict[str, Any]]:
        """Return ``{"task_index", "prompt", "fingerprint"}`` of ``numbers(count, start)``."""
        return [self._row(index) for index in self.numbers(count, start)]

    def _row(self, index: int) -> dict[str, Any]:
        """The fingerprint is a digest of problem and prompt: with other settings it is another."""
        problem = self.task.problem(index)
        prompt = plain_prompt(self.task.prompt(problem))
        text = json.dumps([self.task.problem_id(problem), prompt])
        mark = blake2b(text.encode(), digest_size=8).hexdigest()
        return {"task_index": index, "prompt": prompt, "fingerprint": mark}

    def check_rows(self, indexes: Sequence[int], fingerprints: Sequence[str]) -> None:
        """Raise SettingError if rows were made with other settings: no verdict would be right."""
        for index, mark in set(zip(indexes, fingerprints, strict=True)):
            require(
                self._row(int(index))["fingerprint"] == mark,
                f"{self.name}: the row of task_index={index} was made with other settings than "
                f"{self.settings or 'the defaults'}: give rows and reward the same ones",
            )

    def score(self, index: int, response: str) -> Reward:
        """Return the verdict on a response to the problem of that index."""
        return self.score_batch([(index, response)])[0]

    def score_batch(self, pairs: Iterable[tuple[int, str]]) -> list[Reward]:
        """Return the verdicts on (index, response) pairs, in order."""
        return self.task.score_batch([(self.task.problem(int(i)), text) for i, text in pairs])

    def start(self, problem: int | ProblemRef) -> TextEpisode:
        """Begin an episode on the problem of an index, or the one that a reference names."""
        ref = problem if isinstance(problem, ProblemRef) else ProblemRef(index=problem)
        return TextEpisode(self.task, ref.of(self.task))


class TextEpisode:
    """One episode as messages: ``messages`` is what the model sees first.

    Args:
        task: the problems and the verdict.
        problem: of that task.
    """

    def __init__(self, task: Task[Any], problem: Any) -> None:
        self.messages = as_messages(task.prompt(problem))
        self.reward: Reward | None = None
        self.turns = 0
        self._episode = task.start(problem)

    @property
    def done(self) -> bool:
        """True once there is a reward."""
        return self.reward is not None

    def respond(self, text: str) -> list[Message]:
        """Take one whole response; return what the environment says, nothing at the end.

        Raises:
            SettingError: the episode is over.
        """
        require(not self.done, "this episode is over: start another")
        self.turns += 1
        answer = self._episode.respond(text)
        if isinstance(answer, Reward):
            self.reward = answer
            return []
        return as_messages(answer)

    def finish(self, text: str = "") -> Reward:
        """Return the reward; of an episode that still runs, the one for being cut at ``text``."""
        if self.reward is None:
            self.reward = self._episode.cut(text)
        return self.reward

    def close(self) -> None:
        """Let go of what the episode holds, if it is of a kind that holds anything."""
        close = getattr(self._episode, "close", None)
        if callable(close):
            close()


class TokenEpisode:
    """One episode over tokens. The context is ``tokens``; ``mask`` is 1 on acts, 0 elsewhere.

    Args:
        task: what to play.
        tokenizer: as for ``TokenEnv``; a ``Codec`` made once serves many episodes.
    """

    def __init__(self, task: TextTask, tokenizer: Any = None) -> None:
        self._env = TokenEnv(task.task, tokenizer)
        self.tokens: list[int] = []
        self.mask: list[int] = []
        self.info: Mapping[str, Any] = {}
        self.done = False
        self.turns = 0

    @property
    def stop_tokens(self) -> list[int]:
        """The ids that end a response."""
        return sorted(self._env.codec.stop_tokens)

    @property
    def stop(self) -> list[str]:
        """The strings that end a response, besides."""
        return list(self._env.stop)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, special ones included."""
        return self._env.codec.decode(ids)

    def begin(self, index: int) -> list[int]:
        """Begin on the problem of that index; return the tokens of its prompt."""
        prompt, self.info = self._env.reset(options={"index": int(index)})
        self.tokens, self.mask, self.done, self.turns = [], [], False, 0
        return self._append(prompt, 0)

    def step(self, act: Sequence[int]) -> list[int]:
        """Take one response; return the tokens that follow it, none at the end.

        Raises:
            gymnasium.error.ResetNeeded: no episode is running.
            ValueError: a token is not in the vocabulary.
        """
        observation, _, terminated, truncated, self.info = self._env.step(act)
        self.done = terminated or truncated
        self.turns += 1
        self._append(act, 1)
        return self._append(observation, 0)

    def respond(self, text: str) -> str:
        """Take one whole response as text; return what follows it as text, framing included."""
        codec, eos = self._env.codec, self._env.codec.eos_token_id
        act = codec.encode_response(text)
        if eos is not None and not (act and act[-1] in codec.stop_tokens):
            act.append(eos)
        return codec.decode(self.step(act))

    @property
    def reward(self) -> Reward:
        """The verdict; unmeasured while the episode runs."""
        return Reward(self.score, self.info["parts"], self.info["metadata"])

    @property
    def score(self) -> float | None:
        """The reward in [0, 1]; None while it is not over, or if it could not be measured."""
        return float(self.info["score"]) if self.info["scored"] else None

    def _append(self, ids: Iterable[int], mark: int) -> list[int]:
        new = [int(i) for i in np.asarray(ids, dtype=np.int64)]
        self.tokens += new
        self.mask += [mark] * len(new)
        return new


def index_of(row: Mapping[str, Any], made_by: str = "the rows() of this module") -> int:
    """Return the index of the problem that a row is of; ``made_by`` says how to get such rows.

    Rows of before call it ``task_seed``, which it was for endless tasks alone.

    Raises:
        SettingError: the row has none, or two that differ.
    """
    given = {int(row[name]) for name in ("task_index", "task_seed") if row.get(name) is not None}
    require(bool(given), f"a row has no task_index: make it with {made_by}")
    require(len(given) == 1, f"a row has a task_index and another task_seed: {sorted(given)}")
    require(min(given) >= 0, f"task_index={min(given)} is none: make the rows with {made_by}")
    return given.pop()


def measured(reward: Reward) -> float:
    """Return the score, for libraries in which only an error says that there is none.

    Raises:
        Unmeasured: the reward could not be measured.
    """
    if reward.score is None:
        raise Unmeasured(
            f"the reward could not be measured ({dict(reward.metadata)}), and 0 would be false. "
            "Try the response again; `mint-envs doctor` says whether the sandbox works."
        )
    return reward.score


def details(reward: Reward) -> dict[str, float]:
    """Return the parts of a reward, and whether it was measured, as numbers for a log."""
    return {**reward.parts, "measured": float(reward.measured)}


def as_messages(prompt: Prompt) -> list[Message]:
    """Return a prompt as chat messages; text is a message of the user."""
    if isinstance(prompt, str):
        return [Message(role="user", content=prompt)]
    return [_for_others(message) for message in prompt]


def _for_others(message: Message) -> Message:
    """A message without what only our own tokens use."""
    kept = ("role", "content", "tool_calls", "tool_call_id", "name")
    return cast("Message", {key: value for key, value in message.items() if key in kept})


def plain_prompt(prompt: Prompt) -> str | list[Message]:
    """Return a prompt as plain values: text, or a list of messages."""
    return prompt if isinstance(prompt, str) else as_messages(prompt)


def completion_text(messages: Any) -> str:
    """Return what the last message of a completion says; a string is returned as it is.

    A content may be a list of parts, as multimodal chats have it; its texts are joined.
    """
    if isinstance(messages, str):
        return messages
    content = messages[-1].get("content") if messages else ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


@lru_cache(maxsize=8)
def codec(tokenizer: Any) -> Codec:
    """Return the ``Codec`` of a tokenizer, or of its name; one for all episodes of a process."""
    return Codec(tokenizer)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An environment: the same as another if its spec is, and what is written of its settings."""

    number: int  # the id of the spec, which is kept: so it is no other's
    written: str
    spec: Any = field(compare=False)
    env: str = field(compare=False)
    settings: Mapping[str, Any] = field(compare=False)


def _text_task(env: str | Task[Any], settings: Mapping[str, Any]) -> TextTask:
    return TextTask(env, **settings)


def _shared_task(env: str, settings: Mapping[str, Any]) -> Task[Any]:
    """Make the task of an environment, once in a process: it may hold a data set."""
    try:
        written = json.dumps(settings, sort_keys=True)
    except TypeError:  # an object, say a judge: not to be told from another
        return _make_task(env, settings)
    spec = find_spec(env)
    return _tasks.get(_Asked(id(spec), written, spec, env, settings))


def _make_task(env: str, settings: Mapping[str, Any]) -> Task[Any]:
    made = make(env, **settings).unwrapped
    if not isinstance(made, TokenEnv):
        raise SettingError(f"{env!r} is a {type(made).__name__}, not an environment of mint_envs")
    return made.task


_tasks: ProcessLocal[Task[Any]] = ProcessLocal(
    lambda asked: _make_task(asked.env, asked.settings), inherited=True
)


def lazily(
    namespace: dict[str, Any], build: Callable[[], Iterable[type]], *names: str
) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``: its classes are made when one is first asked for.

    They extend classes of a library, which so is not imported before it is needed. Their names are
    found in the module, as pickle and a library's own loader want it.
    """
    lock = threading.Lock()

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        with lock:
            if name not in namespace:
                for made in build():
                    made.__module__, made.__qualname__ = namespace["__name__"], made.__name__
                    namespace[made.__name__] = made
        return namespace[name]

    return find
