"""Credit by turn, and the learning rate over the steps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from mint_envs.problems import ProblemRef
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.errors import TrainerError
from trainers.grpo import adam_params, train
from trainers.log import Log
from trainers.rollout import Episode
from trainers.run import Run
from trainers.teaching import to_datums


class TwoDigits(Task[int]):
    """Say the tens, hear "next", say the ones. Half of the reward is for each."""

    values = True

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(4, 6)) * 10 + int(rng.integers(4, 6))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def start(self, problem: int) -> Any:
        return _Saying(problem, self.values)


class _Saying(mint_envs.Episode):
    def __init__(self, number: int, tell: bool) -> None:
        self._number, self._tell, self._value = str(number), tell, -1.0

    def respond(self, text: str) -> str | Reward:
        if self._value < 0:
            self._value = 0.5 * (text == self._number[0])
            return f"{self._number}!"  # a table that sees three tokens has all it needs
        total = self._value + 0.5 * (text == self._number[1])
        return Reward(total, metadata={"values": [self._value, total]} if self._tell else {})


class Silent(TwoDigits):
    values = False


mint_envs.register("test/TwoDigits-v0", TwoDigits)
mint_envs.register("test/SilentDigits-v0", Silent)


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)


def config(**changes: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "env": "test/TwoDigits-v0", "steps": 30, "batch": 8, "group": 6, "lr": 0.2,
        "max_tokens": 2, "temperature": 1.0, "backend": "bandit", "save_every": 0,
    }  # fmt: skip
    return TrainConfig(**{**values, **changes})


def run(folder: Path, settings: TrainConfig) -> list[float]:
    backend = BanditBackend(alphabet="45", memory=3)
    train(settings, backend, Run(folder, settings, Log(out=io.StringIO())))
    return [row["reward"] for row in whole_rows(folder / "metrics.jsonl")]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_turns_that_are_paid_for_what_they_added_learn_faster(seed: int, tmp_path: Path) -> None:
    by_episode = run(tmp_path / "episode", config(seed=seed))
    by_turn = run(tmp_path / "turn", config(seed=seed, credit="turn"))
    assert np.mean(by_turn) > np.mean(by_episode) + 0.02


def episode(reward: float, *values: float, metadata: Any = None) -> Episode:
    turns = max(1, len(values))
    acts = [(2 * t + 1, 2 * t + 2) for t in range(turns)]
    infos = [{"metadata": metadata if metadata is not None else {"values": list(values)}}]
    return Episode(ProblemRef(seed=0), [1] * (2 * turns), acts, [-0.5] * turns, reward, infos=infos)


def test_what_turns_are_paid_adds_up_to_the_reward() -> None:
    """Also where the values told say more than the reward, and where episodes differ in length."""
    settings = config(credit="turn")
    group = [episode(1.0, 0.2, 0.6, 9.0), episode(0.0, 0.9, 0.0), episode(0.5, 0.5)]
    datums = to_datums(settings, [group])
    whole = to_datums(config(), [group])
    for by_turn, by_episode in zip(datums, whole, strict=True):
        assert (by_turn.mask == by_episode.mask).all()
    firsts = [datum.advantages[1] for datum in datums]
    mean = (0.2 + 0.9 + 0.5) / 3
    assert firsts == pytest.approx([0.2 - mean, 0.9 - mean, 0.5 - mean])
    # The second turn of the first added 0.4, that of the second took 0.9; the third had none.
    assert datums[0].advantages[3] == pytest.approx(0.4 - (0.4 - 0.9) / 3)
    paid = [0.2 + 0.4 + 0.4, 0.9 - 0.9, 0.5]
    assert paid == pytest.approx([e.reward for e in group])
    assert sum(datums[0].advantages) == pytest.approx(1.0 - mean + 0.5 / 3 - 0.4 / 3)


@pytest.mark.parametrize(
    "metadata", [{}, {"values": [0.5]}, {"values": [0.5, float("nan")]}, {"values": "ab"}]
)
def test_values_that_are_not_there_are_one_line(metadata: Any) -> None:
    group = [episode(1.0, 0.5, 1.0, metadata=metadata), episode(0.0, 0.5, 0.0)]
    with pytest.raises(TrainerError, match=r"--credit turn: metadata\['values'\]"):
        to_datums(config(credit="turn"), [group])


def test_an_environment_without_values_is_refused_at_its_first_step(tmp_path: Path) -> None:
    with pytest.raises(TrainerError, match="--credit turn"):
        run(tmp_path, config(env="test/SilentDigits-v0", credit="turn", max_tokens=3))


def test_warm_up_and_cosine() -> None:
    def rates(**changes: Any) -> list[float]:
        settings = config(lr=1.0, steps=4, **changes)
        return [adam_params(settings, step).lr for step in (1, 2, 3, 4)]

    assert rates() == [1.0] * 4
    assert rates(warmup=3) == pytest.approx([1 / 3, 2 / 3, 1.0, 1.0])
    half = 0.5**0.5
    assert rates(lr_schedule="cosine") == pytest.approx([1.0, (1 + half) / 2, 0.5, (1 - half) / 2])
    assert rates(lr_schedule="linear", warmup=2) == pytest.approx([0.5, 0.75, 0.5, 0.25])
    with pytest.raises(ValueError, match="warmup=4 must be less than steps=4"):
        config(steps=4, warmup=4)
