"""What runs in the workers: scores, and turns of episodes that are under way or played anew."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from ..core import Episode, Reward, Task
from ..problems import Answer, begin, respond_or_cut
from .port import unmeasured

_RUNNING = 4096


@dataclass(frozen=True, slots=True)
class Turn:
    """One response of an episode, with all that is needed to play the episode anew.

    ``episode`` names it, uniquely over all processes; ``history`` holds the responses before.
    """

    problem: Any
    episode: str
    history: tuple[str, ...]
    response: str
    cut: bool = False


def score_pairs(task: Task[Any], pairs: list[tuple[Any, str]]) -> list[Reward]:
    return task.score_batch(pairs)


def answer_turns(task: Task[Any], turns: list[Turn]) -> list[Answer]:
    """Answer each turn, in an episode that is under way here or else played anew."""
    return [_answer_turn(task, turn) for turn in turns]


#: Episodes under way in this process, by name and a hash of the responses so far: an environment
#: that was copied goes on in two ways under one name. So does a forked process, which is why these
#: are not begun anew in it.
_running: OrderedDict[tuple[str, int], Episode] = OrderedDict()


def under_way(turn: Turn) -> Episode | None:
    """Return the episode of a turn, if it is under way here; whoever takes it goes on with it."""
    return _running.pop((turn.episode, hash(turn.history)), None) if turn.history else None


def go_on(episode: Episode, turn: Turn) -> Answer:
    """Give the response of a turn to its episode, which is kept for the next."""
    answer = respond_or_cut(episode, turn.response, turn.cut)
    if not isinstance(answer, Reward):
        _running[turn.episode, hash((*turn.history, turn.response))] = episode
        while len(_running) > _RUNNING:
            _running.popitem(last=False)
    return answer


def lost_to_chance() -> Reward:
    """Return the reward of an episode that nobody can play again."""
    return unmeasured("the episode was lost, and cannot be played again: it has chance")


def _answer_turn(task: Task[Any], turn: Turn) -> Answer:
    episode = under_way(turn)
    if episode is None:
        if turn.history and task.nondeterministic:
            return lost_to_chance()
        episode = begin(task, turn.problem, turn.history)
    return go_on(episode, turn)
