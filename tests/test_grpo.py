"""The loop, on the bandit backend: it learns, resumes, stops and says what goes wrong."""

from __future__ import annotations

import io
import json
import signal
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs import Episode, Message, Reward, Task
from mint_envs.jsonl import whole_rows
from mint_envs.problems import ProblemRef
from mint_envs.tokenizers import ByteTokenizer
from trainers.__main__ import main
from trainers.backends import SamplingParams, UpdateResult
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.data import open_data
from trainers.errors import TrainerError
from trainers.evaluation import evaluate
from trainers.grpo import train
from trainers.log import Log
from trainers.losses import LOSSES
from trainers.pool import EnvPool
from trainers.rollout import collect
from trainers.run import Run


class EvenDigit(Task[int]):
    """Answer with the digit that is asked for; easy for a table."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(4))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(response == str(problem)))


class Unmeasurable(EvenDigit):
    """Odd problems cannot be measured."""

    def score(self, problem: int, response: str) -> Reward:
        return Reward(None) if problem % 2 else super().score(problem, response)


class Down(EvenDigit):
    """Nothing can be measured, as when a sandbox or a judge is down."""

    def score(self, problem: int, response: str) -> Reward:
        return Reward(None)


class TwoTurns(Task[int]):
    """Say a digit, hear the sum with the problem, say it back."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(3))

    def prompt(self, problem: int) -> list[Message]:
        return [Message(role="user", content=f"add {problem}")]

    def start(self, problem: int) -> Episode:
        return _Sum(problem)


class _Sum(Episode):
    def __init__(self, problem: int) -> None:
        self._problem, self._sum = problem, ""

    def respond(self, text: str) -> str | Reward:
        if self._sum:
            return Reward(float(text == self._sum))
        self._sum = str((int(text) if text.isdecimal() else 0) + self._problem)[-1]
        return self._sum


mint_envs.register("test/EvenDigit-v0", EvenDigit)
mint_envs.register("test/Unmeasurable-v0", Unmeasurable)
mint_envs.register("test/TwoTurns-v0", TwoTurns)
mint_envs.register("test/Down-v0", Down)


def config(**changes: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "env": "test/EvenDigit-v0", "steps": 20, "batch": 8, "group": 8, "lr": 0.5,
        "max_tokens": 2, "temperature": 1.0, "backend": "bandit", "save_every": 5,
    }  # fmt: skip
    return TrainConfig(**{**values, **changes})


def run(folder: Path, settings: TrainConfig, backend: Any = None, resume: bool = False) -> str:
    out = io.StringIO()
    log = Log(out=out)
    train(settings, backend or BanditBackend(), Run(folder, settings, log, resume))
    return out.getvalue()


def refs(*seeds: int) -> list[ProblemRef]:
    return [ProblemRef(seed=seed) for seed in seeds]


def rows(folder: Path, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    return whole_rows(folder / name)


def test_it_learns_within_a_second(tmp_path: Path) -> None:
    text = run(tmp_path, config(steps=40, eval_every=40))
    metrics = rows(tmp_path)
    assert np.mean([m["accuracy"] for m in metrics[:5]]) < 0.4
    assert np.mean([m["accuracy"] for m in metrics[-5:]]) > 0.9
    assert rows(tmp_path, "eval.jsonl")[-1]["eval/accuracy"] == 1.0
    assert "Step 1: accuracy=" in text
    assert "datums=" in text


@pytest.mark.parametrize("loss_fn", LOSSES)
@pytest.mark.parametrize("advantage", ["mean", "std", "rloo", "dr_grpo"])
def test_every_loss_and_advantage_learns(tmp_path: Path, loss_fn: str, advantage: str) -> None:
    run(tmp_path, config(steps=40, loss_fn=loss_fn, advantage=advantage))
    assert np.mean([m["accuracy"] for m in rows(tmp_path)[-5:]]) > 0.8


def test_multi_turn_episodes_are_one_datum_each_and_learn(tmp_path: Path) -> None:
    settings = config(env="test/TwoTurns-v0", steps=60, batch=12)
    run(tmp_path, settings, BanditBackend(alphabet="01234"))
    assert np.mean([m["reward"] for m in rows(tmp_path)[-5:]]) > 0.8
    episode = rows(tmp_path, "rollouts.jsonl")[-1]
    assert len(episode["acts"]) == 2
    (a, b), (c, _) = episode["acts"]
    assert a < b < c  # an observation lies between the acts, and is not one
    decode = ByteTokenizer().decode
    assert episode["observations"] == [decode(episode["tokens"][b:c])] != [""]


def test_rollouts_tell_what_each_token_was_worth(tmp_path: Path) -> None:
    run(tmp_path, config(steps=3))
    for row in rows(tmp_path, "rollouts.jsonl"):
        assert len(row["pieces"]) == len(row["logprobs"]) == sum(b - a for a, b in row["acts"])
        assert row["observations"] == []
    groups: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows(tmp_path, "rollouts.jsonl"):
        groups.setdefault((row["step"], row["seed"]), []).append(row)
    for group in groups.values():
        mean = np.mean([row["reward"] for row in group])
        for row in group:
            assert row["advantage"] == pytest.approx(row["reward"] - mean)


def test_metrics_have_the_same_keys_every_step(tmp_path: Path) -> None:
    run(tmp_path, config(steps=3))
    metrics = rows(tmp_path)
    wanted = {
        "step", "reward", "reward_std", "accuracy", "pass_at_group", "datums", "equal_groups",
        "repeated_sentences",
        "unmeasured", "truncated", "response_tokens", "entropy", "kl_sample_train",
    }  # fmt: skip
    assert [m["step"] for m in metrics] == [1, 2, 3]
    for m in metrics:
        assert wanted <= set(m)
        assert all(np.isfinite(value) for value in m.values())


def test_unmeasured_episodes_are_left_out_and_counted(tmp_path: Path) -> None:
    backend = BanditBackend()
    run(tmp_path, config(env="test/Unmeasurable-v0", steps=40), backend)
    odd = [r for r in rows(tmp_path, "rollouts.jsonl") if not r["scored"]]
    assert odd
    assert all(row["advantage"] is None for row in odd)
    assert np.mean([m["unmeasured"] for m in rows(tmp_path)]) == pytest.approx(0.5, abs=0.15)
    # Accuracy is over the measured ones, so it still reaches 1; and no odd prompt was learned.
    assert np.mean([m["accuracy"] for m in rows(tmp_path)[-5:]]) > 0.9
    learned = {bytes(state[:2]) for state in backend._table if len(state) >= 2}
    assert learned <= {b"0?", b"2?"}


def test_a_run_without_any_verdict_reports_no_reward_of_zero(tmp_path: Path) -> None:
    settings = config(env="test/Down-v0", steps=3, eval_every=1, eval_samples=2)
    text = run(tmp_path, settings)
    assert all("reward" not in row and row["unmeasured"] == 1.0 for row in rows(tmp_path))
    evals = rows(tmp_path, "eval.jsonl")
    blind = {"eval/problems": 4, "eval/held_out": 0.0, "eval/unmeasured": 1.0}
    assert evals == [{"step": step, **blind} for step in range(4)]
    assert "Step 1: nothing measured, datums=0, reward=nan" in text
    assert "accuracy=" not in text
    assert "nothing measured for 3 steps" in text
    assert (tmp_path / "curve.svg").exists()


def test_an_evaluation_is_over_what_was_measured(tmp_path: Path) -> None:
    """A table that always says 2 is right on all measured twos, and wrong on all other evens."""
    backend = BanditBackend(alphabet="2")
    settings = config(env="test/Unmeasurable-v0", eval_every=1, eval_samples=3, max_tokens=1)
    with open_data(settings, backend) as data:
        ((_, found),) = evaluate(settings, backend, data.evaluations)
        pool = data.evaluations[0].pool
        problems = [env.unwrapped.problem for env in pool.envs]  # type: ignore[attr-defined]
    even = [problem for problem in problems if problem % 2 == 0]
    assert 0 < len(even) < len(problems)
    assert found["eval/accuracy"] == pytest.approx(even.count(2) / len(even))
    assert found["eval/unmeasured"] == pytest.approx(1 - len(even) / len(problems))
    assert found["eval/pass_at_3"] <= even.count(2) / len(even)  # at times it says nothing
    assert found["eval/pass_at_3"] > even.count(2) / len(problems)


def test_a_group_is_one_problem_and_equal_contexts_are_one_request() -> None:
    class Counting(BanditBackend):
        requests: list[int]

        def sample(self, requests: Any, params: SamplingParams) -> Any:
            self.requests = [request.n for request in requests]
            return super().sample(requests, params)

    backend = Counting()
    pool = EnvPool("test/EvenDigit-v0", 12, backend.tokenizer, {})
    groups = collect(pool, backend, refs(5, 6, 7), 4, SamplingParams(2))
    assert sum(backend.requests) == 12
    for group in groups:
        assert len({e.infos[-1]["prompt"] for e in group}) == 1


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(whole, config(steps=15, eval_every=5))
    run(parts, config(steps=10, eval_every=5))
    state = json.loads((parts / "checkpoints" / "state.json").read_text())
    # A crash after the checkpoint: lines of a later step, and one that was cut off.
    with (parts / "metrics.jsonl").open("a") as file:
        file.write('{"step": 11, "reward": 0.5}\n{"step": 12, "rew')
    backend = BanditBackend(resume_from=state["training"])
    run(parts, config(steps=15, eval_every=5), backend, resume=True)
    timed = ("seconds", "_per_s")

    def steady(row: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in row.items() if not any(part in k for part in timed)}

    for name in ("metrics.jsonl", "rollouts.jsonl", "eval.jsonl"):
        assert [steady(r) for r in rows(whole, name)] == [steady(r) for r in rows(parts, name)]
    last = "checkpoints/step-000015/bandit.json"
    assert (whole / last).read_text() == (parts / last).read_text()


class _InterruptedAt(BanditBackend):
    """Sends itself signals while it samples at a given step."""

    def __init__(self, step: int, times: int) -> None:
        super().__init__()
        self._calls, self._step, self._times = 0, step, times

    def sample(self, requests: Any, params: SamplingParams) -> Any:
        self._calls += 1
        if self._calls == self._step:
            for _ in range(self._times):
                signal.raise_signal(signal.SIGINT)
        return super().sample(requests, params)


def test_ctrl_c_ends_the_step_and_saves(tmp_path: Path) -> None:
    text = run(tmp_path, config(), _InterruptedAt(7, times=1))
    assert [m["step"] for m in rows(tmp_path)] == list(range(1, 8))
    assert json.loads((tmp_path / "checkpoints" / "state.json").read_text())["step"] == 7
    assert "Stopping after this step" in text
    assert (tmp_path / "curve.svg").exists()


def test_a_second_ctrl_c_drops_the_step(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, config(), _InterruptedAt(7, times=2))
    assert [m["step"] for m in rows(tmp_path)] == list(range(1, 7))
    assert json.loads((tmp_path / "checkpoints" / "state.json").read_text())["step"] == 5
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_twice_during_an_update_waits_for_whole_weights(tmp_path: Path) -> None:
    class Impatient(BanditBackend):
        def update(self, *args: Any) -> UpdateResult:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            return super().update(*args)

    run(tmp_path, config(), Impatient())
    assert json.loads((tmp_path / "checkpoints" / "state.json").read_text())["step"] == 1


def test_no_signal_says_what_to_change(tmp_path: Path) -> None:
    text = run(tmp_path, config(steps=4, env="test/EvenDigit-v0"), BanditBackend(alphabet="x"))
    assert text.count("datums=0 for 3 steps") == 1  # and once is enough
    assert "--group" in text
    assert "--max-tokens" in text


class _ThirdParty(gym.Env[Any, Any]):
    """Not ours: its own token space, no info keys, no tokenizer."""

    observation_space = gym.spaces.MultiDiscrete([259] * 2)
    action_space = gym.spaces.Sequence(gym.spaces.Discrete(259))

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._wanted = int(self.np_random.integers(48, 52))
        return np.array([self._wanted, 63]), {}

    def step(self, action: Sequence[int]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.array([0, 0]), float(action[0] == self._wanted), True, False, {}


gym.register(id="third/Party-v0", entry_point=lambda: _ThirdParty())


def test_a_third_party_environment_trains(tmp_path: Path) -> None:
    run(tmp_path, config(env="third/Party-v0", steps=40))
    assert np.mean([m["reward"] for m in rows(tmp_path)[-5:]]) > 0.9


def test_an_environment_without_tokens_is_refused() -> None:
    backend = BanditBackend()
    pool = EnvPool("CartPole-v1", 2, backend.tokenizer, {})
    with pytest.raises(TrainerError, match="not a sequence of token ids"):
        collect(pool, backend, refs(0), 2, SamplingParams(2))


def test_kl_penalty_is_logged_and_holds_the_policy_back(tmp_path: Path) -> None:
    run(tmp_path / "free", config(steps=30))
    run(tmp_path / "held", config(steps=30, kl_penalty_coef=0.5))
    free, held = rows(tmp_path / "free"), rows(tmp_path / "held")
    assert all(m["kl_base"] == 0.0 for m in free)
    assert held[-1]["kl_base"] != 0.0
    assert held[-1]["entropy"] > free[-1]["entropy"]


def test_a_full_disk_is_one_line_and_the_run_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(steps=12)
    original = Run._append

    def full(self: Run, name: str, lines: Any) -> None:
        if self.next_step == 8:
            raise OSError(28, "No space left on device")
        original(self, name, lines)

    def guarded(self: Run, name: str, lines: Any) -> None:
        with self._writing():
            full(self, name, lines)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_append", guarded)
        with pytest.raises(TrainerError, match=r"No space left.*--resume"):
            run(tmp_path, settings)
    backend = BanditBackend(resume_from=str(tmp_path / "checkpoints" / "step-000005"))
    run(tmp_path, settings, backend, resume=True)
    assert [m["step"] for m in rows(tmp_path)] == list(range(1, 13))


def test_main_runs_resumes_and_prints_what_mint_users_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    argv = ["test/EvenDigit-v0", "--backend", "bandit", "--steps", "3", "--run-dir", folder]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert out.index("Model: ") < out.index("Step 1: accuracy=") < out.index("Saved: ")
    saved = out.rpartition("Saved: ")[2].strip()
    assert Path(saved).is_dir()
    assert main(["--resume", folder, "--steps", "5"]) == 0
    assert [m["step"] for m in rows(Path(folder))] == [1, 2, 3, 4, 5]
    assert main(argv) == 2
    assert "--resume" in capsys.readouterr().err


def test_sinks_get_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, float]] = []
    fake = types.ModuleType("trackio")
    fake.init = lambda **_: None  # type: ignore[attr-defined]
    fake.log = lambda metrics, step: seen.append((step, metrics["reward"]))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trackio", fake)
    folder = str(tmp_path / "run")
    argv = ["test/EvenDigit-v0", "--backend", "bandit", "--steps", "3", "--run-dir", folder]
    assert main([*argv, "--log-to", "trackio"]) == 0
    assert [step for step, _ in seen] == [1, 2, 3]


def test_a_missing_sink_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    argv = ["test/EvenDigit-v0", "--backend", "bandit", "--run-dir", str(tmp_path / "run")]
    assert main([*argv, "--log-to", "wandb"]) == 2
    assert "pip install 'mint-envs[wandb]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
