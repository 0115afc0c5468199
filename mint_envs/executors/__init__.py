"""Where scoring runs: in this process, in others beside it, or on the nodes of a Ray cluster.

    rewards = mint_envs.score_batch(task, pairs, executor="ray")
    envs = gym.make_vec("mint/Code-v0", num_envs=64, executor="processes")

An executor runs ``function(task, item)`` somewhere and does it again when the worker is lost.
That is safe, since a reward is a pure function of problem and text, and an episode one of problem
and texts: it is played again from its start wherever it is not under way. Every task gets this
without a line of its own; it must only be picklable, as any task of plain settings is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Reward, Task
from ..errors import SettingError, did_you_mean, require
from ..problems import Answer
from ..process_local import ProcessLocal
from .port import Executor, Local, Lost, lost_as_unmeasured, run_pieces
from .turns import Turn, answer_turns, score_pairs

__all__ = [
    "Answer",
    "Executor",
    "Local",
    "Lost",
    "Turn",
    "close_shared",
    "executor_of",
    "make_executor",
    "play_turns",
    "score_batch",
]


def score_batch(
    task: Task[Any],
    pairs: Sequence[tuple[Any, str]],
    executor: str | Executor | None = None,
) -> list[Reward]:
    """Return the rewards of (problem, response) pairs, in order.

    Args:
        executor: ``None`` or ``"local"``: this process; ``"processes"`` (or ``"processes:4"``);
            ``"ray"`` (or ``"ray:ADDRESS"``); or an ``Executor``.

    Raises:
        SettingError: there is no such executor, the task cannot be sent to another process or
            loaded there, or no process can be started (a script without its ``__main__`` guard).
    """
    where = executor_of(executor)
    if isinstance(where, Local):
        return task.score_batch(pairs)
    return [lost_as_unmeasured(one) for one in run_pieces(where, score_pairs, task, pairs)]


def play_turns(
    task: Task[Any], turns: Sequence[Turn], executor: str | Executor | None = None
) -> list[Answer]:
    """Return what each episode says to its response: the next text or messages, or the reward.

    Answers keep the order of ``turns``. What was lost, with every worker that tried it, is an
    unmeasured reward.

    Args:
        task: whose episodes they are.
        turns: one of each episode.
        executor: as for ``score_batch``.

    Raises:
        SettingError: as ``score_batch``.
    """
    where = executor_of(executor)
    return [lost_as_unmeasured(one) for one in run_pieces(where, answer_turns, task, turns)]


def executor_of(executor: str | Executor | None) -> Executor:
    """Return the executor that a setting names; one of each name is kept for the process.

    Raises:
        SettingError: it is no executor, there is none of that name, or its package is missing.
    """
    if not (executor is None or isinstance(executor, str)):
        require(hasattr(executor, "submit"), f"executor={executor!r} is no Executor, and no name")
        return executor
    return _shared.get(executor or "local")


def make_executor(name: str, deadline_s: float | None = None) -> Executor:
    """Return an executor of one's own, to be closed when it is of no more use.

    Args:
        name: as for ``score_batch``.
        deadline_s: seconds after which ``"processes"`` give a piece of work up; None means never.

    Raises:
        SettingError: there is no such executor, or its package is missing.
    """
    kind, _, argument = name.partition(":")
    if kind == "local" and not argument:
        return Local()
    if kind == "processes" and (not argument or argument.isdecimal()):
        from .processes import Processes

        return Processes(int(argument or 0), deadline_s)
    if kind == "ray":
        from .ray import RayExecutor

        return RayExecutor(argument or None)
    raise SettingError(
        f"executor={name!r}. {did_you_mean(kind, ['local', 'processes', 'ray'])} "
        "'processes:4' says how many, 'ray:ADDRESS' which cluster."
    )


_shared: ProcessLocal[Executor] = ProcessLocal(make_executor, lambda executor: executor.close())


def close_shared() -> None:
    """Close the executors that are kept; they are closed at exit too."""
    _shared.close()
