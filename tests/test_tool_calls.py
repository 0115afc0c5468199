"""Toolkits of one's own: calls that hang, that exit, and what cannot be known is not measured."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from test_tools import Faulty, run

from mint_envs import Reward
from mint_envs.errors import SettingError
from mint_envs.tooluse import (
    TOOLKITS,
    Toolkit,
    ToolUseTask,
    tool,
)
from mint_envs.tooluse.families import Request
from mint_envs.tooluse.tasks import ToolUseProblem
from mint_envs.tooluse.toolkits.tools import ToolUnavailable


class Slow(Faulty):
    """A toolkit that waits until it is let go."""

    name = "slow"
    call_s = 0.05

    def __init__(self) -> None:
        super().__init__()
        self.go, self.gone = threading.Event(), threading.Event()

    @tool
    def wait(self) -> str:
        """Wait."""
        assert self.go.wait(60)
        self.state["late"] = True
        self.gone.set()
        return threading.current_thread().name

    def let_go(self) -> None:
        """Let the call that waits end, and wait for its end."""
        self.go.set()
        assert self._late is None or self._late.result(60)


def test_a_call_that_hangs_is_given_up_and_leaves_the_episode_unmeasured() -> None:
    kit = Slow()
    kit.reset(np.random.default_rng(0))
    for call in [("wait", {}), ("crash", {"deep": 1})]:
        assert kit.run(*call).failure == "a call has not ended within 0.05 s"
    kit.reset(np.random.default_rng(0))  # the lost call may still change this state
    assert kit.run("crash", {"deep": 1}).failure
    kit.let_go()
    kit.reset(np.random.default_rng(0))
    kit.call_s = 60  # type: ignore[misc]
    assert kit.run("crash", {"deep": 1}) == ("1", True, "")
    assert "late" not in kit.state


class Patient(Slow):
    """The same with time enough."""

    call_s = 60

    @tool
    def late(self) -> str:
        """Say that something was late, as the libraries do."""
        raise TimeoutError("the line is busy")

    @tool
    def leave(self) -> str:
        """End the program, as a parser of command lines does."""
        sys.exit("unknown option")


def test_a_call_within_its_time_is_like_any_other() -> None:
    kit = Patient()
    kit.reset(np.random.default_rng(0))
    kit.let_go()
    assert run(kit, "wait") != threading.current_thread().name
    assert kit.state["late"]
    assert kit.run("late", {}) == ("Error: TimeoutError: the line is busy", False, "")
    kit.call_s = None  # type: ignore[misc]  # the tools bound themselves: no thread is needed
    assert run(kit, "wait") == threading.current_thread().name


@pytest.mark.parametrize("call_s", [60, None])
def test_a_tool_that_ends_the_program_ends_no_training(call_s: float | None) -> None:
    kit = Patient()
    kit.call_s = call_s  # type: ignore[misc]
    assert kit.run("leave", {}) == ("Error: SystemExit: unknown option", False, "")


def test_a_machine_that_has_no_thread_left_is_nobodys_wrong_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert (
        Patient().run("crash", {"deep": 1}).failure == "no call can be made: can't start new thread"
    )


@pytest.mark.parametrize("call_s", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_said_where_it_is_written(call_s: float) -> None:
    with pytest.raises(SettingError, match=r"Never.call_s=.* must be above 0"):
        type("Never", (Faulty,), {"call_s": call_s})


def episode_of(
    kind: type[Toolkit], turns: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[ToolUseTask, ToolUseProblem]:
    monkeypatch.setitem(TOOLKITS, kind.name, kind)
    task = ToolUseTask()
    return task, ToolUseProblem((kind.name,), 1, Request("Do it.", turns))


class Notes(Toolkit):
    """A toolkit that begins with nothing."""

    name = "notes"

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        return {}

    @tool
    def note(self, text: str) -> None:
        """Keep a text."""
        self.state[text] = True


class Down(Notes):
    """The same on a server that is down."""

    name = "down"

    @tool
    def note(self, text: str) -> None:
        """Keep a text."""
        raise ToolUnavailable("the server is down")


def test_what_begins_empty_is_to_be_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = ((("note", {"text": "a"}),),)
    task, problem = episode_of(Notes, turns, monkeypatch)
    done = task.start(problem)
    done.respond(task.framing.calls([("note", {"text": "a"})]))
    assert done.respond("Done.").score == 1.0  # type: ignore[union-attr]
    assert task.start(problem).respond("Done.").score == 0.0  # type: ignore[union-attr]


def test_where_it_cannot_be_known_what_is_wanted_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, problem = episode_of(Down, ((("note", {"text": "a"}),),), monkeypatch)
    reward = task.start(problem).respond("Done.")
    assert isinstance(reward, Reward)
    assert reward.score is None
    assert reward.metadata["failure"] == "the server is down"


def hanging(task: ToolUseTask, problem: ToolUseProblem) -> Any:
    return task.start(problem).respond(task.framing.calls([("wait", {})]))


@pytest.mark.parametrize("where", ["here", "thread", "fork"])
def test_an_episode_in_which_a_call_hangs_is_unmeasured(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, problem = episode_of(Slow, (), monkeypatch)
    if where == "here":
        reward = hanging(task, problem)
    else:
        pool: Any = ThreadPoolExecutor(1)
        if where == "fork":
            hanging(task, problem)  # a thread that the child does not have
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        with pool:
            reward = pool.submit(hanging, task, problem).result(60)
    assert reward.score is None
    assert reward.metadata["failure"] == "a call has not ended within 0.05 s"
