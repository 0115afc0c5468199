"""The parts of the loop one by one, where a whole run would hide a mistake."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mint_envs.jsonl import whole_rows
from mint_envs.problems import ProblemRef
from mint_envs.reports.curves import draw_metrics, smooth
from trainers.__main__ import main
from trainers.backends import AdamParams, Datum, SampleRequest, SamplingParams, UpdateResult
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.data import Data, open_data
from trainers.evaluation import evaluate
from trainers.grpo import adam_params
from trainers.log import Log
from trainers.metrics import Learned, step_metrics
from trainers.pool import EnvPool
from trainers.rollout import Episode
from trainers.stream import sampling
from trainers.teaching import minibatches, with_kl_penalty


def episode(reward: float, length: int = 2, scored: bool = True) -> Episode:
    tokens, end = [1, 2, *[3] * length], 2 + length
    return Episode(ProblemRef(seed=0), tokens, [(2, end)], [-0.5] * length, reward, scored)


def config(**changes: Any) -> TrainConfig:
    values: dict[str, Any] = {"env": "mint/Math-v0", "backend": "bandit", "batch": 3, "group": 2}
    return TrainConfig(**{**values, **changes})


def test_an_empty_response_counts_in_the_baseline_and_is_no_datum() -> None:
    (datums,), equal = minibatches(config(), [[episode(1.0), episode(0.0, length=0)]])
    assert equal == 0
    assert len(datums) == 1
    assert datums[0].advantages.tolist() == [0, 0, 0.5, 0.5]


def test_groups_without_two_measured_episodes_or_a_difference_teach_nothing() -> None:
    alone = [episode(1.0), episode(0.0, scored=False)]
    alike = [episode(0.1), episode(0.1), episode(0.1)]
    none = [episode(0.0, scored=False)] * 2
    assert minibatches(config(), [alone, alike, none]) == ([], 3)


def test_the_kl_penalty_is_scaled_as_the_advantages_are() -> None:
    class Base(BanditBackend):
        def logprobs(self, datums: Any, base: bool = False) -> Any:
            return [np.array([0.0, -1.0, -3.0])]

    datum = Datum((1, 2, 3), np.array([0.0, 1, 1]), np.array([0.0, -0.5, -0.5]), np.zeros(3))
    settings = config(kl_penalty_coef=2.0, length_norm="token")
    [held], kl = with_kl_penalty(settings, Base(), [datum])
    assert kl == pytest.approx(1.5)  # gaps 0.5 and 2.5
    assert held.advantages == pytest.approx([0.0, 2 * 1.0 / 2, 2 * -1.0 / 2])


def test_the_learning_rate_falls_from_the_first_step_to_the_last() -> None:
    settings = config(lr=1.0, steps=4, lr_schedule="linear")
    assert [adam_params(settings, step).lr for step in (1, 2, 3, 4)] == [1.0, 0.75, 0.5, 0.25]
    assert adam_params(config(lr=1.0, steps=4), 4).lr == 1.0


def test_every_step_and_every_seed_has_its_own_problems_and_numbers() -> None:
    pool = EnvPool("mint/Math-v0", 1, None, {})
    settings = [(config(seed=seed), step) for seed in (0, 1) for step in (1, 2)]
    problems = {tuple(Data(c, None).problems(step)) for c, step in settings}
    numbers = {sampling(c, pool, step).seed for c, step in settings}
    assert len(problems) == len(numbers) == 4


class Recording(BanditBackend):
    """Keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[tuple[tuple[int, ...], ...], SamplingParams]] = []

    def sample(self, requests: Any, params: SamplingParams) -> Any:
        self.asked.append((tuple(sorted(r.context for r in requests)), params))
        return super().sample(requests, params)


def test_evaluations_ask_the_same_held_out_problems_whatever_the_seed() -> None:
    asked = []
    for seed in (0, 1):
        settings = config(seed=seed, eval_every=1, eval_problems=30, eval_samples=3)
        backend = Recording()
        with open_data(settings, backend) as data:
            evaluate(settings, backend, data.evaluations)
            assert data.pool.settings["split"] == "train"
            assert data.evaluations[0].pool.settings["split"] == "test"
        asked.append(backend.asked)
    assert [contexts for contexts, _ in asked[0]] == [contexts for contexts, _ in asked[1]]
    temperatures = [params.temperature for _, params in asked[0]]
    assert temperatures == [0.0] + [settings.temperature] * 3
    assert len({params.seed for _, params in asked[0][1:]}) == 3


def test_metrics_are_over_measured_episodes() -> None:
    groups = [[episode(1.0), episode(0.0)], [episode(0.5), episode(0.0, scored=False)]]
    datum = groups[0][0].datum(1.0)
    update = UpdateResult({"loss": 2.0}, [np.array([0, 0, -0.75, -0.75])])
    metrics = step_metrics(config(), groups, [Learned([datum], update)], 1, {"update": 2.0})
    wanted = {
        "reward": 0.5, "accuracy": 1 / 3, "pass_at_group": 0.5, "equal_groups": 0.5,
        "unmeasured": 0.25, "kl_sample_train": 0.25, "cross_entropy": 0.5, "response_tokens": 2.0,
        "train_tokens_per_s": 2.0, "update/loss": 2.0, "datums": 1,
    }  # fmt: skip
    assert {key: metrics[key] for key in wanted} == pytest.approx(wanted)


def test_what_was_not_measured_is_no_zero_in_the_metrics() -> None:
    blind = [episode(0.0, scored=False)] * 2
    metrics = step_metrics(config(), [blind], [], 1, {})
    assert metrics["unmeasured"] == 1.0
    assert not {"reward", "reward_std", "accuracy", "pass_at_group"} & set(metrics)
    groups = [blind, [episode(1.0), episode(0.0)]]
    metrics = step_metrics(config(), groups, [], 1, {})
    assert metrics["pass_at_group"] == 1.0


def test_the_curve_leaves_out_what_was_not_measured() -> None:
    nan = np.nan
    smoothed = smooth(np.array([nan, 1.0, nan, 0.0]), window=2)
    assert smoothed == pytest.approx([nan, 1.0, 1.0, 0.0], nan_ok=True)
    assert smooth(np.array([1.0, 0.0, 1.0])) == pytest.approx([1.0, 0.5, 2 / 3])


def test_two_checkpoints_are_kept_and_none_is_made_between(tmp_path: Path) -> None:
    argv = ["mint/Math-v0", "--backend", "bandit", "--batch", "2", "--save-every", "3"]
    assert main([*argv, "--steps", "10", "--run-dir", str(tmp_path / "r")]) == 0
    names = sorted(path.name for path in (tmp_path / "r" / "checkpoints").iterdir())
    assert names == ["state.json", "step-000009", "step-000010"]


def test_weight_decay_pulls_towards_the_base() -> None:
    backends = [BanditBackend(), BanditBackend()]
    datum = Datum((65, 48), np.array([0.0, 1]), np.array([0.0, -2.4]), np.array([0.0, 1]))
    for backend, decay in zip(backends, (0.0, 0.5), strict=True):
        for _ in range(30):
            adam = AdamParams(0.1, weight_decay=decay)
            backend.update([datum], "importance_sampling", {}, adam)
    free, held = (
        backend.sample([SampleRequest((65,), 1)], SamplingParams(1, 0.0))[0][0].logprobs[0]
        for backend in backends
    )
    assert free > held


def test_the_last_step_is_evaluated_too(tmp_path: Path) -> None:
    argv = ["mint/Math-v0", "--backend", "bandit", "--batch", "2", "--eval-every", "2"]
    assert main([*argv, "--steps", "3", "--run-dir", str(tmp_path / "r")]) == 0
    assert [row["step"] for row in whole_rows(tmp_path / "r" / "eval.jsonl")] == [0, 2, 3]


def test_metrics_of_several_runs_are_drawn_side_by_side(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        rows = [{"step": step, "reward": step / 9, "entropy": 1.0} for step in range(1, 9)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name / "metrics.jsonl").write_text(text, encoding="utf-8")
    runs = [tmp_path / "one", tmp_path / "two"]
    draw_metrics(runs, ["reward", "entropy"], tmp_path / "out.svg")
    drawn = (tmp_path / "out.svg").read_text(encoding="utf-8")
    assert drawn.count('id="axes_') == 2
    with pytest.raises(ValueError, match="one has no metric 'rewards'"):
        draw_metrics(runs, ["rewards"], tmp_path / "no.svg")
    assert not (tmp_path / "no.svg").exists()


def test_a_long_silence_is_broken_by_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.log._QUIET_S", 0.05)
    out = io.StringIO()
    log = Log(out=out)
    log.begin()
    try:
        log.begin_step(3, 5)
        log.show("sampling 32 episodes")
        deadline = time.monotonic() + 60
        while "(step 3, sampling 32 episodes: " not in out.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        log.close()
