"""Turns of sessions, in a worker: gone on with where the episode is, else played again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core import Episode, Reward, Task
from ..errors import MintEnvsError
from ..executors.turns import Turn, go_on, lost_to_chance, under_way
from ..problems import Answer, ProblemRef
from .references import chain_digest, first_heard, plain_answer


class Differs(MintEnvsError):
    """An episode that was played again did not say what it had said."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn, whose problem is a ``ProblemRef``, and what the episode has said before it."""

    problem: ProblemRef
    turn: Turn
    heard: str


def session_turns(task: Task[Any], turns: list[SessionTurn]) -> list[tuple[Answer, bool]]:
    """Answer each turn; say whether its episode was played again for it.

    Raises:
        Differs: an episode said something else when it was played again.
    """
    return [_session_turn(task, asked) for asked in turns]


def _session_turn(task: Task[Any], asked: SessionTurn) -> tuple[Answer, bool]:
    episode = under_way(asked.turn)
    if episode is not None:
        return go_on(episode, asked.turn), False
    past = asked.turn.history
    if past and task.nondeterministic:
        return lost_to_chance(), False
    return go_on(_played_again(task, asked), asked.turn), bool(past)


def _played_again(task: Task[Any], asked: SessionTurn) -> Episode:
    """Return the episode after the responses so far, if it says to them what it said before.

    Else it has chance that its task does not declare, or the data or the code is another: a reward
    would be one of another episode.
    """
    problem = asked.problem.of(task)
    heard = first_heard(task.problem_id(problem), task.prompt(problem))
    episode = task.start(problem)
    for response in asked.turn.history:
        answer = episode.respond(response)
        heard = chain_digest(heard, plain_answer(answer))
        if isinstance(answer, Reward):
            break
    if heard != asked.heard and not task.nondeterministic:
        raise Differs(
            "the episode was played again and said something else: it has chance that its task "
            "does not declare, or its data or code has changed. It cannot be moved: open another"
        )
    return episode
