"""``TokenEnv``: any ``Task`` as a Gymnasium environment over tokens.

    obs, info = env.reset(seed=0)        # prompt tokens
    obs, reward, terminated, truncated, info = env.step(response_tokens)

Follow one response: ``step(tokens)`` -> decode -> ``task.score(problem, text)`` -> ``Reward``.

The context is append-only: the observation after the first is *only the new tokens*, so the
context is obs0 + act1 + obs1 + act2 ..., the loss mask is 1 on acts and 0 on observations, and
nothing is ever decoded and encoded again.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded

from .core import Episode, Prompt, Reward, Task, as_prompt
from .errors import SettingError, did_you_mean, require
from .executors import Answer, Executor, Local, Turn, executor_of, play_turns, score_batch
from .printable import readable
from .problems import ProblemRef, respond_or_cut
from .spaces import Tokens, TokenSequence
from .thinking import spoken
from .tokens import Codec

StepResult = tuple[Tokens, float, bool, bool, dict[str, Any]]


class _Act(NamedTuple):
    """One response on its way to a verdict."""

    text: str
    last: int | None  # its last token
    ended: bool  # it carried an end-of-turn token, or one of the task's stop strings


class TokenEnv(gym.Env[Tokens, Tokens]):
    """A Gymnasium environment whose observations and actions are token sequences.

    Args:
        task: the problems and the verdict.
        tokenizer: ``None`` for the byte tokenizer, a Hugging Face name or folder, or any object
            with ``encode``, ``decode``, ``eos_token_id`` and ``vocab_size``.
        render_mode: ``"ansi"`` makes ``render()`` return the transcript as text; ``"human"`` prints
            it while it grows, and the reward at its end.

    ``info`` has the same keys with the same types after every ``reset`` and ``step``:

    =================  =====  ==========================================================
    ``prompt``         str    the first observation as text
    ``response``       str    the response just given, without its end-of-turn token
    ``score``          float  the reward in [0, 1]; 0.0 while the episode runs
    ``scored``         bool   False: not measured (or not over); leave the sample out
    ``parts``          dict   named components of the score
    ``metadata``       dict   plain values that explain the verdict
    ``finish_reason``  str    ``"stop"``, ``"length"`` (the response was cut), or ``""``
    ``problem_id``     str    a stable name of the problem
    =================  =====  ==========================================================
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 1}

    def __init__(
        self, task: Task[Any], tokenizer: Any = None, render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SettingError(f"render_mode={render_mode!r}: valid are None, 'ansi' and 'human'")
        self.codec = tokenizer if isinstance(tokenizer, Codec) else Codec(tokenizer)
        self.task = task.fitted(self.codec.style)
        self.render_mode = render_mode
        size, stop = self.codec.vocab_size, self.codec.eos_token_id
        self.observation_space: TokenSequence = TokenSequence(size)
        self.action_space: TokenSequence = TokenSequence(size, stop_token=stop)
        # Without any stop token or string nothing tells a whole response from one that was cut.
        self._can_end = bool(self.codec.stop_tokens or task.stop)
        self._spec: Any = None
        self._episode: Episode | None = None
        self._problem: Any = None
        self._prompt: Prompt = ""
        self._name = ""  # of the episode, once another process has part in it
        self._transcript: list[str] = []
        self._identity = {"prompt": "", "problem_id": ""}

    @property
    def spec(self) -> Any:
        """What ``gym.make`` made it from; it says ``nondeterministic`` if the task does."""
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        if spec is not None and self.task.nondeterministic:
            spec = copy.copy(spec)  # settings decide, so it is no property of the id
            spec.nondeterministic = True
        self._spec = spec

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a response besides the end-of-turn token: a sampler's hint."""
        return tuple(self.task.stop)

    @property
    def problem(self) -> Any:
        """The problem of the running (or just ended) episode."""
        return self._problem

    @property
    def chat(self) -> bool:
        """True if the prompt of this episode is chat messages, not text to be continued."""
        return not isinstance(self._prompt, str)

    @property
    def running(self) -> bool:
        """True between ``reset`` and the end of the episode."""
        return self._episode is not None

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Tokens, dict[str, Any]]:
        """Begin an episode; return (prompt tokens, info).

        Args:
            seed: the same seed gives the same problem, in any process: a GRPO group is G
                episodes reset with one seed. Without it the stream goes on.
            options: ``{"index": i}`` asks for problem number i.

        Raises:
            SettingError: an unknown option.
            IndexOutOfRange: the data set has no problem ``i``.
        """
        super().reset(seed=seed)
        self._episode = None  # stays so if what follows raises
        self._name = ""
        require(
            isinstance(options or {}, Mapping), f"options={options!r}: give a dict, {{'index': 5}}"
        )
        self._problem = self._choose(dict(options or {}))
        self._prompt = as_prompt(self.task.prompt(self._problem))
        self._episode = self.task.start(self._problem)
        tokens = self.codec.encode_prompt(self._prompt)
        text = self.codec.decode(tokens)
        self._transcript = []
        self._write(text)
        self._identity = {"prompt": text, "problem_id": self.task.problem_id(self._problem)}
        return np.array(tokens, dtype=np.int64), self._info()

    def step(self, action: Sequence[int] | Tokens) -> StepResult:
        """Take one response; return (new tokens, reward, terminated, truncated, info).

        Args:
            action: token ids, as a list, tuple or one-dimensional integer array.

        Raises:
            ResetNeeded: no episode is running.
            ValueError: ``action`` is not in the action space.
        """
        act = self._read(action)
        return self._after(act, self._respond(act))

    def render(self) -> str | None:
        """Return the transcript so far in ``"ansi"`` mode; ``"human"`` has printed it already."""
        return "".join(self._transcript) if self.render_mode == "ansi" else None

    def _write(self, text: str) -> None:
        """Add to the transcript, and show it to whoever looks on."""
        self._transcript.append(text)
        if self.render_mode == "human":
            print(readable(text), end="", flush=True)

    # -- the two halves of a step, apart so that a batch can be scored at once ---------------

    def _read(self, action: Sequence[int] | Tokens) -> _Act:
        """Check an action and decode it."""
        if self._episode is None:
            raise ResetNeeded("This episode is over (or never began): call reset() first.")
        if problem := self.action_space.problem_with(action):
            raise ValueError(
                f"The action {problem}. Give a sequence of token ids in "
                f"[0, {self.action_space.vocab_size}); got {_short_repr(action)}"
            )
        ids = np.asarray(action, dtype=np.int64).tolist()
        text, ended = self.codec.response_text(ids)
        ended = ended or any(mark in text for mark in self.task.stop) or not self._can_end
        return _Act(text, ids[-1] if ids else None, ended)

    def _after(self, act: _Act, answer: Answer) -> StepResult:
        """Turn the answer of the task into what ``step`` returns."""
        self._write(act.text)
        finish = "stop" if act.ended else "length"
        if isinstance(answer, Reward):
            self._episode = None
            info = self._info(act.text, finish, answer)
            if not act.ended and act.text.strip() and not spoken(act.text):
                info["metadata"]["only_thought"] = True  # a longer max_tokens may be all it wants
            truncated = not self._complete(act)
            self._say_reward(info)
            return _no_tokens(), info["score"], not truncated, truncated, info
        tokens = self.codec.encode_reply(answer, self.chat, act.last)
        self._write(self.codec.decode(tokens))
        return np.array(tokens, dtype=np.int64), 0.0, False, False, self._info(act.text, finish)

    def _say_reward(self, info: Mapping[str, Any]) -> None:
        if self.render_mode == "human":
            print(f"\n[reward {info['score']:g}]" if info["scored"] else "\n[not measured]")

    def _complete(self, act: _Act) -> bool:
        """A single-turn response is scored even when cut; a cut turn of many ends the episode."""
        return act.ended or self.task.single_turn

    def _respond(self, act: _Act) -> Answer:
        assert self._episode is not None
        return respond_or_cut(self._episode, act.text, not self._complete(act))

    def _turn(self, act: _Act) -> Turn:
        """The same for another process, which may have to play the episode anew."""
        self._name = self._name or uuid.uuid4().hex
        history = tuple(self._transcript[1::2])  # the prompt, a response, what was said to it, ...
        return Turn(self._problem, self._name, history, act.text, not self._complete(act))

    def _choose(self, options: dict[str, Any]) -> Any:
        index = options.pop("index", None)
        for name in options:
            raise SettingError(f"reset option {name!r} is unknown. {did_you_mean(name, ['index'])}")
        if index is None:
            return self.task.sample(self.np_random)
        return ProblemRef(index=index).of(self.task)

    def _info(
        self, response: str = "", finish_reason: str = "", reward: Reward | None = None
    ) -> dict[str, Any]:
        score = None if reward is None else reward.score
        return {
            **self._identity,
            "response": response,
            "score": 0.0 if score is None else score,
            "scored": score is not None,
            "parts": {} if reward is None else dict(reward.parts),
            "metadata": {} if reward is None else dict(reward.metadata),
            "finish_reason": finish_reason,
        }


def step_many(
    envs: Sequence[TokenEnv],
    actions: Sequence[Sequence[int] | Tokens],
    executor: str | Executor | None = None,
) -> list[StepResult]:
    """Step several environments at once; results keep order.

    Single-turn environments of one task are scored in one ``score_batch``, which is how a task
    that runs programs uses every core.

    Args:
        executor: where the responses are scored, as for ``mint_envs.score_batch``. Episodes of
            several turns with chance in them (``nondeterministic``) go on here.

    Raises:
        ResetNeeded, ValueError: as ``TokenEnv.step``; then no environment has moved.
    """
    acts = [env._read(action) for env, action in zip(envs, actions, strict=True)]
    answers: list[Any] = [None] * len(envs)
    groups: dict[int, list[int]] = {}
    for i, env in enumerate(envs):
        groups.setdefault(id(env.task), []).append(i)
    for members in groups.values():
        group = [(envs[i], acts[i]) for i in members]
        for i, answer in zip(members, _group_answers(group, executor), strict=True):
            answers[i] = answer
    return [env._after(act, answer) for env, act, answer in zip(envs, acts, answers, strict=True)]


def _group_answers(
    group: list[tuple[TokenEnv, _Act]], executor: str | Executor | None
) -> Sequence[Answer]:
    """Return what the episodes of one task say to their responses."""
    task = group[0][0].task
    if task.single_turn:
        return score_batch(task, [(env._problem, act.text) for env, act in group], executor)
    # An episode with chance in it cannot be played anew by whichever worker has the next turn.
    if not (task.nondeterministic or isinstance(executor_of(executor), Local)):
        return play_turns(task, [env._turn(act) for env, act in group], executor)
    return [env._respond(act) for env, act in group]


def _no_tokens() -> Tokens:
    return np.empty(0, dtype=np.int64)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
