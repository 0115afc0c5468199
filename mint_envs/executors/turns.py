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


def _answer_turn(task: Task[Any], turn: Turn) -> Answer:
    past = turn.history
    episode = _running.pop((turn.episode, hash(past)), None) if past else None
    if episode is None:
        if past and task.nondeterministic:
            return unmeasured("the episode was lost, and cannot be played again: it has chance")
        episode = begin(task, turn.problem, past)
    answer = respond_or_cut(episode, turn.response, turn.cut)
    if not isinstance(answer, Reward):
        _running[turn.episode, hash((*past, turn.response))] = episode
        while len(_running) > _RUNNING:
            _running.popitem(last=False)
    return answer
