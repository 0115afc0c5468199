"""Environments of others that break, never end, or say odd things: what the trainer makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs import Episode, Reward, Task
from mint_envs.core import Prompt
from mint_envs.problems import ProblemRef
from trainers.__main__ import main
from trainers.backends import SamplingParams
from trainers.backends.bandit import BanditBackend
from trainers.errors import TrainerError
from trainers.pool import EnvPool
from trainers.rollout import collect


class Odd(gym.Env[Any, Any]):
    """Two turns; each of its settings makes it odd in one way."""

    observation_space = gym.spaces.Sequence(gym.spaces.Discrete(259))
    action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))

    def __init__(
        self,
        first: Any = (65, 66),
        then: Any = (67,),
        reward: Any = 0.5,
        turns: int = 2,
        info: Any = None,
        raises: str = "",
    ) -> None:
        self._first, self._then, self._reward, self._turns = first, then, reward, turns
        self._given, self._raises = info or {}, raises
        self._context: list[int] = []
        if raises == "init":
            raise KeyError("no such thing")

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if self._raises == "reset":
            raise RuntimeError("two\nlines")
        self._left = self._turns
        self._context = list(self._first) if isinstance(self._first, tuple) else []
        return self._first, {}

    def step(self, action: Any) -> Any:
        if self._raises == "step":
            raise ZeroDivisionError("oops")
        self._left -= 1
        self._context += [int(i) for i in action]
        then = [*self._context, 67] if self._then == "all" else self._then
        return then, self._reward, self._left == 0, False, self._given


gym.register(id="odd/Odd-v0", entry_point=Odd, disable_env_checker=True)
PARAMS = SamplingParams(2)


def refs(*seeds: int) -> list[ProblemRef]:
    return [ProblemRef(seed=seed) for seed in seeds]


def play(
    max_turns: int = 100, backend: Any = None, episodes: int = 4, **settings: Any
) -> list[Any]:
    backend = backend or BanditBackend()
    pool = EnvPool("odd/Odd-v0", episodes, backend.tokenizer, settings)
    return collect(pool, backend, refs(1, 2), episodes // 2, PARAMS, max_turns=max_turns)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"raises": "init"}, ["odd/Odd-v0", "KeyError", "test_odd_environments.py"]),
        ({"raises": "reset"}, ["odd/Odd-v0", "RuntimeError", "in reset"]),
        ({"raises": "step"}, ["odd/Odd-v0", "ZeroDivisionError", "oops", "in step"]),
        ({"reward": None}, ["odd/Odd-v0", "TypeError", "in step"]),
        ({"first": ()}, ["first observation is empty"]),
        ({"first": "text"}, ["not a sequence of token ids"]),
        ({"first": [[1], [2, 3]]}, ["not a sequence of token ids"]),
        ({"first": {"tokens": 1}}, ["not a sequence of token ids"]),
        ({"then": np.array([0.5])}, ["not a sequence of token ids"]),
        ({"then": "all"}, ["repeats the whole context"]),
        ({"unknown": 1}, ["odd/Odd-v0", "unknown"]),
    ],
)
def test_a_broken_environment_is_named(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(TrainerError) as caught:
        play(episodes=10, **settings)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf"), np.float32("nan")])
def test_a_reward_that_is_no_number_is_unmeasured(reward: Any, tmp_path: Path) -> None:
    assert not any(episode.scored for group in play(reward=reward) for episode in group)
    odd = EnvPool("odd/Odd-v0", 1, None, {"reward": reward})
    assert odd.stop == ()


def test_an_episode_that_never_ends_is_cut_and_unmeasured() -> None:
    episodes = [e for group in play(max_turns=3, turns=10**9) for e in group]
    assert [len(e.acts) for e in episodes] == [3] * 4
    assert all(e.truncated and not e.scored for e in episodes)
    assert all(e.scored and not e.truncated for group in play(max_turns=2) for e in group)


class ShortSighted(BanditBackend):
    max_context = 8


def test_an_episode_that_outgrows_the_model_is_cut_and_unmeasured() -> None:
    episodes = [e for g in play(backend=ShortSighted(), turns=10**9) for e in g]
    assert all(e.truncated and not e.scored and e.acts for e in episodes)
    assert all(e.acts[-1][1] <= 8 for e in episodes)


def test_prompts_longer_than_the_model_say_so() -> None:
    with pytest.raises(TrainerError, match=r"room for 6 tokens.*has 7.*--max-tokens"):
        play(backend=ShortSighted(), first=(65,) * 7)


class SomeLong(Task[int]):
    """Every second prompt is longer than the model's context."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(2))

    def prompt(self, problem: int) -> Prompt:
        return "x" * (4 + 10 * problem)

    def score(self, problem: int, response: str) -> Reward:
        return Reward(1.0)


mint_envs.register("odd/SomeLong-v0", SomeLong)


def test_one_long_prompt_among_others_is_left_out() -> None:
    backend = ShortSighted()
    pool = EnvPool("odd/SomeLong-v0", 20, backend.tokenizer, {})
    groups = collect(pool, backend, refs(*range(10)), 2, PARAMS)
    assert {bool(g[0].acts) for g in groups} == {True, False}
    assert all(e.scored == bool(e.acts) for g in groups for e in g)


def test_a_response_that_ends_with_its_last_token_is_not_cut() -> None:
    backend = BanditBackend(alphabet="")  # writes the end of its turn, and nothing else
    pool = EnvPool("mint/Math-v0", 2, backend.tokenizer, {})
    params = SamplingParams(1, stop_tokens=pool.stop_tokens)
    [[one, two]] = collect(pool, backend, refs(0), 2, params)
    assert one.length == 1
    assert not one.cut
    assert not two.cut
    cut = collect(pool, BanditBackend(alphabet="1"), refs(0), 2, SamplingParams(1))[0]
    assert any(e.cut for e in cut)


RUN = ["--backend", "bandit", "--steps", "2", "--batch", "2", "--group", "2", "--max-tokens", "2"]


@pytest.mark.parametrize("reward", [-3.5, 7.0, 1e300])
def test_any_finite_reward_trains_and_is_drawn(tmp_path: Path, reward: float) -> None:
    settings = json.dumps({"reward": reward / 2})
    folder = tmp_path / "run"
    argv = ["odd/Odd-v0", *RUN, "--env-settings", settings, "--run-dir", str(folder)]
    assert main(argv) == 0
    assert (folder / "curve.svg").exists()


def test_infos_that_json_cannot_hold_are_logged_all_the_same(tmp_path: Path) -> None:
    class Strange(Odd):
        def step(self, action: Any) -> Any:
            self._given = {"metadata": {(1, 2): float("nan"), "x": {1, 2}}, "parts": [object()]}
            return super().step(action)

    gym.register(
        id="odd/Strange-v0",
        entry_point=lambda: Strange(reward=float("nan")),
        disable_env_checker=True,
    )
    folder = tmp_path / "run"
    assert main(["odd/Strange-v0", *RUN, "--run-dir", str(folder)]) == 0
    rows = [json.loads(line) for line in (folder / "rollouts.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert rows[0]["reward"] is None
    assert rows[0]["metadata"]["(1, 2)"] is None


class Silent(Task[int]):
    """Gives no verdict, ever."""

    def sample(self, rng: np.random.Generator) -> int:
        return 0

    def prompt(self, problem: int) -> Prompt:
        return "?"

    def start(self, problem: int) -> Episode:
        return _Silent()


class _Silent(Episode):
    def respond(self, text: str) -> Reward:
        return Reward(None, metadata={"error": "the judge is down"})

    cut = respond


mint_envs.register("odd/Silent-v0", Silent)


def test_no_verdict_at_all_says_where_to_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["odd/Silent-v0", *RUN, "--steps", "4", "--run-dir", str(tmp_path / "run")]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "nothing measured for 3 steps" in out
    assert "no response was right" not in out


def test_environments_are_closed_after_training_even_if_it_fails(tmp_path: Path) -> None:
    closed = []

    class Closing(Odd):
        def close(self) -> None:
            closed.append(self)

    gym.register(id="odd/Closing-v0", entry_point=lambda: Closing(), disable_env_checker=True)
    gym.register(
        id="odd/Raising-v0", entry_point=lambda: Closing(raises="step"), disable_env_checker=True
    )
    eval_too = ["--eval-every", "1", "--eval-problems", "3"]
    assert main(["odd/Closing-v0", *RUN, *eval_too, "--run-dir", str(tmp_path / "a")]) == 0
    assert len(closed) == 1 + 4 + 1  # one is made to find mistakes early; there is one problem
    assert main(["odd/Raising-v0", *RUN, "--run-dir", str(tmp_path / "b")]) == 0
    assert len(closed) == 6 + 1 + 4 + 8  # an episode that failed is played anew on a fresh copy


def test_the_rewards_of_all_turns_count() -> None:
    assert [e.reward for group in play(reward=0.5, turns=3) for e in group] == [1.5] * 4


def test_responses_to_an_environment_that_names_no_stop_end_where_the_model_ends_them() -> None:
    backend = BanditBackend(alphabet="1")
    pool = EnvPool("odd/Odd-v0", 20, backend.tokenizer, {"turns": 1})
    assert pool.stop_tokens == (256, 258)  # <|endoftext|>, and <|im_end|>, which is eos
    params = SamplingParams(2, stop_tokens=pool.stop_tokens)
    [episodes] = collect(pool, backend, refs(0), 20, params)
    assert {e.cut for e in episodes} == {True, False}
    assert all(e.cut == (e.tokens[-1] not in pool.stop_tokens) for e in episodes)
