"""One response to one problem: what is said to the model, and what comes of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ..core import Message, Prompt, Reward, Task, TokenPrompt
from ..errors import SettingError
from ..policies import ModelText
from ..problems import NoVerdict, ProblemRef, as_text, begin, respond_or_cut
from ..tokens import Codec


class Game:
    """One episode that a policy plays, by messages (text, where the prompt is text).

    ``reward`` is None while it goes on; ``lost``: a response could not be had.

    Args:
        codec: plays token by token instead: the context is the ids that were sampled, with what it
            puts around them, as in training. The policy has to say which were sampled.
    """

    def __init__(
        self, task: Task[Any], problem: Any, ref: ProblemRef, sample: int,
        codec: Codec | None = None,
    ) -> None:  # fmt: skip
        self.ref, self.sample = ref, sample
        self.problem_id = task.problem_id(problem)
        self.prompt = task.prompt(problem)
        self.reward: Reward | None = None
        self.turns: list[str] = []
        self.observations: list[str] = []
        self.lost = self.cut = False
        self.prompt_tokens: int | None = 0
        self.tokens: int | None = 0
        #: Ids and log-probabilities of each turn as they were sampled; None where one lacks them.
        self.sampled: list[tuple[Sequence[int], Sequence[float]]] | None = []
        self._task, self._problem = task, problem
        self._episode = None if task.single_turn else begin(task, problem)
        self._context: Prompt = self.prompt
        self._codec = codec
        self._ids = [] if codec is None else list(codec.encode_prompt(self.prompt))

    @property
    def context(self) -> Prompt:
        """What the model sees next."""
        if self._codec is None:
            return self._context
        ids = list(self._ids)
        return TokenPrompt(self._codec.decode(ids), lambda tokenizer: ids)

    @property
    def context_tokens(self) -> int:
        """How many tokens that has; without a codec, a bound: one per two characters."""
        return len(as_text(self._context)) // 2 if self._codec is None else len(self._ids)

    @property
    def by_tokens(self) -> bool:
        """Whether it is played token by token."""
        return self._codec is not None

    @property
    def over(self) -> bool:
        return self.lost or self.reward is not None

    @property
    def pair(self) -> tuple[Any, str]:
        """The problem and the last response: what a single-turn task scores."""
        return self._problem, self.turns[-1]

    def take(self, said: str | None) -> None:
        """Take what the model said to ``context``; None: nothing could be had."""
        if said is None:
            self.lost = True
            return
        text, ended = _until_stop(str(said), self._task.stop)
        self.cut = bool(getattr(said, "cut", False)) and not ended
        ids, logprobs = getattr(said, "ids", None), getattr(said, "logprobs", None)
        if self._codec is not None:
            ids, logprobs = self._sampled(ids, logprobs, ended)
        self._count(said, ids, logprobs)
        self.turns.append(text)
        if self._episode is None:
            return
        answer = respond_or_cut(self._episode, text, self.cut)
        if isinstance(answer, Reward):
            self.reward = answer
        elif isinstance(answer, str | list | tuple):
            self.observations.append(as_text(answer))
            self._go_on(text, ids, answer)
        else:
            raise NoVerdict(f"{self.ref}: the episode says {answer!r}, which is no Reward")

    def give_up(self, turns: int) -> None:
        """End an episode that has gone on for too many turns."""
        why = f"the episode was not over after {turns} responses"
        self.reward = Reward(0.0, metadata={"error": why})

    def _go_on(self, text: str, ids: Sequence[int] | None, answer: str | Sequence[Message]) -> None:
        """Add a turn, and what the environment said to it, to the context."""
        if self._codec is None or ids is None:
            self._context = _going_on(self._context, text, answer)
            return
        chat, last = not isinstance(self.prompt, str), ids[-1] if ids else None
        self._ids += [*ids, *self._codec.encode_reply(answer, chat, last)]

    def _sampled(self, ids: Any, logprobs: Any, ended: bool) -> tuple[Any, Any]:
        """Return the ids of a turn, up to and with the task's stop string if one ``ended`` it.

        Raises:
            SettingError: the policy does not say.
        """
        assert self._codec is not None
        if ids is None or logprobs is None:
            raise SettingError(
                "a policy with a codec has to return ModelText with ids and logprobs: this one is "
                "played token by token"
            )
        many = len(ids)
        if ended:
            decode, stops = self._codec.decode, self._task.stop
            many = bisect_left(
                range(many), True, key=lambda k: any(one in decode(ids[:k]) for one in stops)
            )
        return list(ids[:many]), list(logprobs[:many])

    def _count(self, said: str, ids: Any, logprobs: Any) -> None:
        for name in ("prompt_tokens", "tokens"):
            past, now = getattr(self, name), getattr(said, name, None)
            setattr(self, name, None if past is None or now is None else past + now)
        if self.sampled is not None and ids is not None and logprobs is not None:
            self.sampled.append((ids, logprobs))
        else:
            self.sampled = None


def _until_stop(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Return the text up to and with the first of the task's stop strings, and if it has one.

    A sampler that knows them ends there, as the environment does; a ``Policy`` does not.
    """
    ends = [place + len(stop) for stop in stops if (place := text.find(stop)) >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def _going_on(context: Prompt, text: str, answer: str | Sequence[Message]) -> Prompt:
    if isinstance(context, str):
        return context + text + as_text(answer)
    said = Message(role="assistant", content=text)
    more = [Message(role="user", content=answer)] if isinstance(answer, str) else answer
    return [*context, said, *more]


def estimated_tokens(game: Game, max_tokens: int) -> int:
    """Return a bound on the tokens of the next turn, before it is asked."""
    return max_tokens + game.context_tokens


def spent_tokens(said: str | None, estimate: int) -> int:
    """Return the tokens of a turn: as the policy counts them, else the estimate."""
    if isinstance(said, ModelText) and said.prompt_tokens is not None and said.tokens is not None:
        return said.prompt_tokens + said.tokens
    return estimate
