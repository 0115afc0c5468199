"""An environment that hangs or raises costs a sample, not the run; and both are counted."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from mint_envs.problems import ProblemRef
from trainers.__main__ import main
from trainers.backends import SamplingParams
from trainers.backends.bandit import BanditBackend
from trainers.errors import TrainerError
from trainers.pool import EnvPool, Overtime, time_limit
from trainers.rollout import collect

ARGV = ["--backend", "bandit", "--steps", "2", "--batch", "6", "--group", "4", "--max-tokens", "1"]


def _loop() -> None:
    while True:
        pass


def _swallow() -> None:
    with contextlib.suppress(Exception):
        time.sleep(1e6)


def _leave() -> None:
    raise SystemExit(0)


def _raise() -> None:
    raise ZeroDivisionError("oops")


FAULTS: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(1e6),
    "loop": _loop,
    "lock": lambda: threading.Event().wait(),
    "regex": lambda: re.fullmatch(r"(a+)+b", "a" * 60),
    "swallowed": _swallow,
    "exit": _leave,
    "raise": _raise,
}


class Bad(Task[int]):
    """One problem in six makes it fail, in its verdict."""

    tries = 0

    def __init__(self, how: str = "raise", times: int = 10**9, every: int = 6) -> None:
        self._how, self._times, self._every = how, times, every
        type(self).tries = 0

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(600))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def score(self, problem: int, response: str) -> Reward:
        if problem % self._every == 0 and self.tries < self._times:
            type(self).tries += 1
            FAULTS[self._how]()
        return Reward(float(response == str(problem % 10)))


mint_envs.register("bad/Bad-v0", Bad)


_NUMBERS = itertools.count()


class Turns(gym.Env[Any, Any]):
    """Three turns; what is said depends on all acts so far. ``left`` more calls fail.

    ``late``: first the third turn fails, and then the second, when that is played anew.
    """

    observation_space = action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))
    left = 0

    def __init__(
        self, how: str = "raise", place: str = "step", chance: bool = False, late: bool = False
    ) -> None:
        self._how, self._place, self._chance, self._late = how, place, chance, late

    def _perhaps_fail(self, place: str) -> None:
        if place == self._place and Turns.left > 0:
            Turns.left -= 1
            FAULTS[self._how]()

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._perhaps_fail("reset")
        self._sum = int(seed or 0) % 100
        self._turn = 0
        return np.array([65, self._sum]), {}

    def step(self, action: Any) -> Any:
        self._turn += 1
        if self._turn == (3 if self._late and Turns.left == 2 else 2):
            self._perhaps_fail("step")
        self._sum = (self._sum + sum(map(int, action))) % 200
        said = next(_NUMBERS) % 200 if self._chance else self._sum  # never the same twice
        return np.array([said]), self._sum / 200, self._turn == 3, False, {}


gym.register(id="bad/Turns-v0", entry_point=Turns, disable_env_checker=True)


def play(how: str, left: int, retries: int, **settings: Any) -> tuple[list[Any], dict[str, int]]:
    """Play three episodes of Turns, of whose steps ``left`` fail."""
    backend = BanditBackend()
    given = {"how": how, **settings}
    pool = EnvPool("bad/Turns-v0", 3, backend.tokenizer, given, (), 0.3, retries)
    Turns.left = left
    refs = [ProblemRef(seed=seed) for seed in (1, 2, 3)]
    groups = collect(pool, backend, refs, 1, SamplingParams(1, seed=4))
    return [episode for (episode,) in groups], pool.take_faults()


@pytest.mark.parametrize("how", sorted(FAULTS))
def test_a_fault_costs_a_sample_and_not_the_run(how: str, tmp_path: Path) -> None:
    argv = ["bad/Bad-v0", *ARGV, "--env-settings", f'{{"how": "{how}", "times": 4}}']
    argv += ["--env-timeout-s", "0.3", "--env-retries", "0", "--seed", "2"]
    assert main([*argv, "--run-dir", str(tmp_path / "r")]) == 0
    rows = whole_rows(tmp_path / "r" / "metrics.jsonl")
    lost = sum(row["env/lost"] for row in rows)
    assert 1 <= lost <= 4  # the first try was of the whole batch, and costs nobody's sample
    assert (sum(row["env/timeouts"] for row in rows) > 0) == (how not in ("raise", "exit"))
    assert 0 < sum(row["unmeasured"] for row in rows) < 1
    assert sum(row["unmeasured"] for row in rows) == pytest.approx(lost / 24)


@pytest.mark.parametrize("how", ["raise", "exit", "sleep"])
@pytest.mark.parametrize("place", ["reset", "step"])
def test_an_episode_is_played_anew_to_where_it_stood(how: str, place: str) -> None:
    undisturbed, faults = play(how, left=0, retries=1, place=place)
    assert faults == {"retries": 0, "timeouts": 0, "lost": 0}
    disturbed, faults = play(how, left=1, retries=1, place=place)
    assert faults == {"retries": 1, "timeouts": int(how == "sleep"), "lost": 0}
    assert [(e.tokens, e.reward) for e in disturbed] == [(e.tokens, e.reward) for e in undisturbed]
    disturbed, faults = play(how, left=2, retries=1, place=place)
    assert faults["lost"] == 1
    assert [episode.scored for episode in disturbed] == [False, True, True]
    _, faults = play(how, left=2, retries=2, place=place)
    assert (faults["lost"], faults["retries"]) == (0, 2)


def test_a_fault_while_an_episode_is_played_anew_forgets_nothing() -> None:
    undisturbed, _ = play("raise", left=0, retries=2)
    disturbed, faults = play("raise", left=2, retries=2, late=True)
    assert faults == {"retries": 2, "timeouts": 0, "lost": 0}
    assert [(e.tokens, e.reward) for e in disturbed] == [(e.tokens, e.reward) for e in undisturbed]


def test_an_environment_that_says_something_else_when_played_anew_is_not_gone_on_with() -> None:
    episodes, faults = play("raise", left=1, retries=3, chance=True)
    assert faults["lost"] == 1
    assert not episodes[0].scored


@pytest.mark.parametrize("how", ["raise", "exit"])
def test_ten_in_a_row_end_the_run_and_say_where(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["bad/Bad-v0", *ARGV, "--env-settings", f'{{"how": "{how}", "every": 1}}']
    assert main([*argv, "--run-dir", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "10 episodes in a row were lost" in error
    line = next(
        number for number, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text.strip().startswith("raise ZeroDivisionError" if how == "raise" else "raise System")
    )  # fmt: skip
    assert f"test_env_faults.py:{line}" in error


def test_an_environment_that_exits_when_it_is_made_or_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def leave() -> Any:
        raise SystemExit(0)

    gym.register(id="bad/Leaves-v0", entry_point=lambda: leave(), disable_env_checker=True)
    assert main(["bad/Leaves-v0", *ARGV, "--run-dir", str(tmp_path / "r")]) == 2
    assert "SystemExit" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    Path("leaving.py").write_text("import sys\nsys.exit(0)\n")
    assert main(["leaving:my/Env-v0", *ARGV]) == 2
    assert "leaving" in capsys.readouterr().err


def test_what_the_environment_says_of_a_mistake_ends_the_run_at_once() -> None:
    class Scale(Bad):
        def score(self, problem: int, response: str) -> Reward:
            return Reward(7.0)

    mint_envs.register("bad/Scale-v0", Scale)
    pool = EnvPool("bad/Scale-v0", 2, None, {})
    with pytest.raises(TrainerError, match=r"score=7.0 is not a number in \[0, 1\]"):
        collect(pool, BanditBackend(), [ProblemRef(seed=0)], 2, SamplingParams(1))


def test_a_limit_that_is_kept_leaves_nothing_behind() -> None:
    import signal

    before, threads = signal.getsignal(signal.SIGALRM), threading.active_count()
    for seconds in (0.0, 30.0):
        with time_limit(seconds):
            pass
    with pytest.raises(Overtime, match="--env-timeout-s"), time_limit(0.05):
        threading.Event().wait()
    assert signal.getsignal(signal.SIGALRM) is before
    assert threading.active_count() == threads
