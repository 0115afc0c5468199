"""Groups drawn ahead of the loop, several updates on a step, and limits of importance ratios."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_loop import on_policy

import mint_envs
from mint_envs import Reward, Task
from mint_envs.jsonl import whole_rows
from trainers.backends import Datum, UpdateResult
from trainers.backends.bandit import BanditBackend
from trainers.config import TrainConfig
from trainers.errors import TrainerError
from trainers.grpo import train
from trainers.log import Log
from trainers.losses import LOSSES, folded, loss_terms, out_of_bounds
from trainers.rollout import Episode
from trainers.run import Run
from trainers.stored import read_state
from trainers.teaching import minibatches


class Digit(Task[int]):
    """Answer with the digit that is asked for."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(4))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(response == str(problem)))


class Row(Digit):
    """The same, as a data set of forty rows."""

    size = 40

    def problem(self, index: int) -> int:
        if index >= 40:
            raise IndexError(index)
        return index % 4

    def problem_id(self, problem: int) -> str:
        return str(problem)


mint_envs.register("test/StreamDigit-v0", Digit)
mint_envs.register("test/StreamRow-v0", Row)


def config(**changes: Any) -> TrainConfig:
    values: dict[str, Any] = {
        "env": "test/StreamDigit-v0", "steps": 8, "batch": 6, "group": 6, "lr": 0.3,
        "max_tokens": 1, "temperature": 1.0, "backend": "bandit", "save_every": 2,
    }  # fmt: skip
    return TrainConfig(**{**values, **changes})


def run(folder: Path, settings: TrainConfig, backend: Any = None, resume: bool = False) -> Any:
    backend = backend or BanditBackend(alphabet="0123")
    with Path("/dev/null").open("w") as out:
        train(settings, backend, Run(folder, settings, Log(out=out), resume))
    return backend


def rows(folder: Path, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    return whole_rows(folder / name)


def table(backend: BanditBackend) -> dict[Any, list[float]]:
    return {state: logits.tolist() for state, logits in backend._table.items()}


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest."""
    monkeypatch.setattr("trainers.run.can_draw", lambda: False)


# -- on-policy: the loop as it was ----------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss_fn": "ppo", "advantage": "std", "lr_schedule": "linear"},
        {"kl_penalty_coef": 0.3, "length_norm": "token", "env": "test/StreamRow-v0"},
    ],
)
def test_on_policy_it_is_the_plain_loop_bit_for_bit(changes: Any, tmp_path: Path) -> None:
    settings, plain = config(**changes), BanditBackend(alphabet="0123")
    told = on_policy(settings, plain)
    assert table(run(tmp_path, settings)) == table(plain) != {}
    assert [(row["reward"], row["datums"]) for row in rows(tmp_path)] == told
    for row in rows(tmp_path):
        assert row["staleness"] == row["staleness_max"] == 0
        assert row["ratio_max"] == pytest.approx(1.0)
        assert row["kl_sample_train_k3"] == pytest.approx(0.0)


# -- substeps -------------------------------------------------------------------------------------


def learned(tmp_path: Path, name: str, **changes: Any) -> tuple[Any, list[dict[str, Any]]]:
    backend = run(tmp_path / name, config(**changes))
    return table(backend), rows(tmp_path / name)


def test_one_update_a_step_makes_all_losses_equal_and_four_make_them_differ(tmp_path: Path) -> None:
    losses = ("importance_sampling", "ppo", "cispo", "dro")
    once = [learned(tmp_path, f"1{name}", loss_fn=name)[0] for name in losses]
    for other in once[1:]:
        assert other.keys() == once[0].keys()
        for state, logits in other.items():  # dro's quadratic term is zero where the ratio is 1
            assert logits == pytest.approx(once[0][state])
    more = [learned(tmp_path, f"4{name}", loss_fn=name, substeps=4) for name in losses]
    tables = [json.dumps(sorted((str(k), v) for k, v in found.items())) for found, _ in more]
    assert len(set(tables)) == len(losses)
    for _, metrics in more:
        assert max(row["updates"] for row in metrics) == 4
        assert max(row["ratio_max"] for row in metrics) > 1.05
        assert max(row["kl_sample_train_k3"] for row in metrics) > 0


@pytest.mark.parametrize(
    ("loss_fn", "change"),
    [
        ("ppo", {"clip_high_threshold": 1.01}),
        ("ppo", {"clip_low_threshold": 0.99}),
        ("cispo", {"clip_high_threshold": 1.01}),
        ("cispo", {"clip_low_threshold": 0.99}),
        ("gspo", {"clip_high_threshold": 1.01}),
        ("dro", {"dro_beta": 2.0}),
        ("importance_sampling", {"ratio_cap": 1.01}),
        ("importance_sampling", {"ratio_mask": 1.05}),
        ("ppo", {"ratio_cap": 1.01}),
        ("dro", {"ratio_mask": 1.05}),
    ],
)
def test_every_threshold_changes_what_is_learned(
    loss_fn: str, change: dict[str, Any], tmp_path: Path
) -> None:
    as_is, _ = learned(tmp_path, "as-is", loss_fn=loss_fn, substeps=4)
    changed, metrics = learned(tmp_path, "changed", loss_fn=loss_fn, substeps=4, **change)
    assert changed != as_is
    if "dro_beta" not in change:
        assert max(row["clip_fraction"] for row in metrics) > 0


def test_the_level_of_a_limit_changes_what_is_learned(tmp_path: Path) -> None:
    found = [
        learned(tmp_path, level, substeps=4, ratio_mask=1.05, ratio_level=level, max_tokens=2)[0]
        for level in ("token", "sequence")
    ]
    assert found[0] != found[1]


def episode(reward: float) -> Episode:
    return Episode(None, [1, 2, 3], [(1, 3)], [-0.5] * 2, reward)  # type: ignore[arg-type]


def test_minibatches_share_the_groups_that_teach() -> None:
    teaching = [[episode(1.0), episode(0.0)] for _ in range(5)]
    equal = [[episode(1.0), episode(1.0)]] * 3
    parts, count = minibatches(config(substeps=2), [*equal, *teaching])
    assert (count, [len(part) for part in parts]) == (3, [4, 6])
    parts, _ = minibatches(config(substeps=8), teaching)
    assert [len(part) for part in parts] == [2] * 5
    assert minibatches(config(substeps=2), equal) == ([], 3)
    # Each is normalised by its own length.
    parts, _ = minibatches(config(substeps=5, length_norm="token"), teaching)
    assert {abs(part[0].advantages[-1]) for part in parts} == {0.5 / 4}


# -- losses with limits ---------------------------------------------------------------------------


def test_a_cap_makes_a_ratio_count_as_the_cap_and_a_mask_leaves_it_out() -> None:
    old = np.array([-1.0, -1.0, -1.0])
    lp, adv = old + np.log([3.0, 1.0, 0.2]), np.array([1.0, 2.0, 1.0])
    limits = {"token_cap": 2.0}
    losses, slopes = loss_terms("importance_sampling", lp, old, adv, limits)
    assert losses.tolist() == slopes.tolist() == pytest.approx([-2.0, -2.0, -0.2])
    limits = {"token_mask": 2.0}
    losses, slopes = loss_terms("dro", lp, old, adv, limits)
    assert losses[[0, 2]].tolist() == slopes[[0, 2]].tolist() == [0.0, 0.0]
    assert slopes[1] == pytest.approx(-2.0)
    beyond = out_of_bounds("importance_sampling", lp, old, limits)
    assert beyond.tolist() == [True, False, True]


def test_a_limit_of_sequences_is_that_of_the_mean() -> None:
    old, gaps = np.full(2, -1.0), np.log([4.0, 1.0])  # the geometric mean is 2
    adv = np.ones(2)
    _, slopes = loss_terms("importance_sampling", old + gaps, old, adv, {"sequence_cap": 1.0})
    assert slopes.tolist() == pytest.approx([-2.0, -0.5])
    _, slopes = loss_terms("importance_sampling", old + gaps, old, adv, {"sequence_mask": 1.9})
    assert slopes.tolist() == [0.0, 0.0]
    assert out_of_bounds("gspo", old + gaps, old, {}).tolist() == [True, True]


@pytest.mark.parametrize("loss_fn", LOSSES)
@pytest.mark.parametrize("limits", [{}, {"token_cap": 1.1}, {"sequence_mask": 1.3}])
def test_any_loss_can_be_folded_into_the_advantages(loss_fn: str, limits: Any) -> None:
    """The gradient of the folded one, by importance sampling, is that of the loss."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        mask = np.array([0.0, 0.0, 1, 1, 0, 1, 1])
        old, lp = mask * rng.normal(-2, 1, 7), np.zeros(7)
        lp = mask * (old + rng.normal(0, 0.4, 7))
        datum = Datum(tuple(range(7)), mask, old, mask * rng.normal(0, 1, 7))
        acts = mask > 0
        _, wanted = loss_terms(loss_fn, lp[acts], old[acts], datum.advantages[acts], limits)
        (made,) = folded([datum], [lp], loss_fn, limits)
        given = (lp[acts], old[acts], made.advantages[acts])
        _, slopes = loss_terms("importance_sampling", *given, {})
        assert slopes.tolist() == pytest.approx(wanted.tolist())
        assert not made.advantages[~acts].any()


@pytest.mark.parametrize("change", [{"ratio_cap": 0.5}, {"ratio_mask": 0.9}])
def test_a_limit_below_one_is_refused(change: dict[str, float]) -> None:
    (name,) = change
    with pytest.raises(ValueError, match=f"{name}=.* must be at least 1"):
        config(**change)


@pytest.mark.parametrize("ahead", [{"refill": 1}, {"max_steps_off_policy": 1}])
@pytest.mark.parametrize("choice", [{"curriculum": True}, {"max_pass_rate": 0.5}])
def test_what_follows_from_all_earlier_steps_cannot_be_ahead(ahead: Any, choice: Any) -> None:
    with pytest.raises(ValueError, match="leave out refill and max_steps_off_policy"):
        config(**ahead, **choice)


# -- groups with equal rewards are refilled -------------------------------------------------------


def test_refilled_groups_are_counted_and_bounded(tmp_path: Path) -> None:
    """After some steps most groups are all right: more are drawn until as many teach."""
    settings = config(steps=30, env="test/StreamRow-v0")
    run(tmp_path / "as-is", settings)
    run(tmp_path / "refilled", settings.model_copy(update={"refill": 2}))
    plain, refilled = rows(tmp_path / "as-is"), rows(tmp_path / "refilled")
    assert all(row["refilled_groups"] == 0 for row in plain)
    assert max(row["refilled_groups"] for row in refilled) == 12  # twice the batch, and no more
    assert sum(row["datums"] for row in refilled) > sum(row["datums"] for row in plain)
    full = [row for row in refilled if 0 < row["refilled_groups"] < 12]
    assert all(row["datums"] == 36 for row in full)


def test_a_resumed_run_with_refills_is_the_uninterrupted_one(tmp_path: Path) -> None:
    settings = config(steps=8, refill=3, env="test/StreamRow-v0", substeps=2, loss_fn="ppo")
    whole = run(tmp_path / "whole", settings)
    run(tmp_path / "parts", settings.model_copy(update={"steps": 4}))
    checkpoint = read_state(tmp_path / "parts")["training"]
    backend = BanditBackend(alphabet="0123", resume_from=checkpoint)
    assert table(run(tmp_path / "parts", settings, backend, resume=True)) == table(whole)
    for name in ("metrics.jsonl", "rollouts.jsonl"):
        one, two = rows(tmp_path / "whole", name), rows(tmp_path / "parts", name)
        keep = [k for k in one[0] if "seconds" not in k and "per_s" not in k]
        assert [[row[k] for k in keep] for row in one] == [[row[k] for k in keep] for row in two]


# -- ahead ----------------------------------------------------------------------------------------


def used(folder: Path) -> list[int]:
    """Return the rows of the data set in the order in which their groups were learned from."""
    found = [row["index"] for row in rows(folder, "rollouts.jsonl")]
    return found[::6]


def test_a_backend_that_does_one_thing_at_a_time_is_ahead_too(tmp_path: Path) -> None:
    settings = config(max_steps_off_policy=2, env="test/StreamRow-v0")
    run(tmp_path / "ahead", settings)
    run(tmp_path / "not", config(env="test/StreamRow-v0"))
    assert [row["staleness"] for row in rows(tmp_path / "ahead")] == [0, 1, 2, 2, 2, 2, 2, 2]
    assert used(tmp_path / "ahead") == used(tmp_path / "not")  # the same problems, each once
    episodes = rows(tmp_path / "ahead", "rollouts.jsonl")
    assert all(row["weights"] == max(0, row["step"] - 3) for row in episodes)


class Busy(BanditBackend):
    """Samples beside its updates, each request as long as its seed says."""

    overlaps = True

    def __init__(self, update_s: float = 0.0, dies_at: int = 0, **more: Any) -> None:
        super().__init__(alphabet="0123", **more)
        self._lock = threading.Lock()
        self._update_s, self._dies_at, self._updates = update_s, dies_at, 0
        self._running = self.beside = 0  # samples that are being drawn; those during an update

    def sample(self, requests: Any, params: Any) -> Any:
        with self._lock:
            self._running += 1
        time.sleep(params.seed % 7 / 500 if requests else 0)
        with self._lock:
            self._running -= 1
            return super().sample(requests, params)

    def update(self, *args: Any) -> UpdateResult:
        self._updates += 1
        if self._updates == self._dies_at:
            raise TrainerError("the service died")
        self.beside += self._running
        time.sleep(self._update_s)
        with self._lock:
            return super().update(*args)


@pytest.mark.parametrize("ahead", [1, 3])
def test_groups_are_drawn_beside_updates_each_used_once_and_none_too_old(
    ahead: int, tmp_path: Path
) -> None:
    settings = config(max_steps_off_policy=ahead, env="test/StreamRow-v0", substeps=2, steps=12)
    backend = run(tmp_path, settings, Busy(update_s=0.01))
    metrics, episodes = rows(tmp_path), rows(tmp_path, "rollouts.jsonl")
    assert all(len(used) == 36 for used in _by_step(episodes).values())  # same samples a step
    assert max(row["staleness_max"] for row in metrics) <= ahead
    assert max(row["staleness"] for row in metrics) > 0
    assert backend.beside
    # 12 steps of 6 groups are 72 of a stream that goes through its rows by epochs.
    settings = settings.model_copy(update={"max_steps_off_policy": 0})
    run(tmp_path / "in-order", settings)
    assert sorted(used(tmp_path)) == sorted(used(tmp_path / "in-order"))


def _by_step(episodes: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in episodes:
        found.setdefault(row["step"], []).append(row)
    return found


def test_refilled_steps_use_no_group_that_is_too_old(tmp_path: Path) -> None:
    """Much is drawn by the same weights then, and much of it is left for later steps."""
    settings = config(max_steps_off_policy=1, refill=3, steps=10, env="test/StreamRow-v0")
    run(tmp_path, settings, Busy(update_s=0.005))
    metrics = rows(tmp_path)
    assert max(row["staleness_max"] for row in metrics) == 1
    assert sum(row["refilled_groups"] for row in metrics) > 0
    order, many = used(tmp_path), 60 + sum(row["refilled_groups"] for row in metrics)
    assert len(order) == many
    run(tmp_path / "in-order", config(env="test/StreamRow-v0", steps=-(-int(many) // 6) + 2))
    ahead = used(tmp_path / "in-order")
    assert not Counter(order) - Counter(ahead)  # none twice in an epoch


def test_a_killed_run_ahead_loses_no_group_and_learns_none_twice(tmp_path: Path) -> None:
    settings = config(max_steps_off_policy=2, env="test/StreamRow-v0", steps=12)
    with pytest.raises(TrainerError, match="died"):
        run(tmp_path / "killed", settings, Busy(update_s=0.01, dies_at=8))
    state = read_state(tmp_path / "killed")
    assert state["place"]["below"] + len(state["place"]["beyond"]) == 6 * state["step"]
    backend = Busy(resume_from=state["training"])
    run(tmp_path / "killed", settings, backend, resume=True)
    run(tmp_path / "in-order", config(env="test/StreamRow-v0", steps=12))
    assert len(used(tmp_path / "killed")) == 72
    assert sorted(used(tmp_path / "killed")) == sorted(used(tmp_path / "in-order"))


def test_a_place_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    run(tmp_path, config(steps=2))
    state = tmp_path / "checkpoints" / "state.json"
    text = json.loads(state.read_text())
    state.write_text(json.dumps({**text, "place": {"below": "x"}}))
    with pytest.raises(TrainerError, match=r"place.*Take it out"):
        run(tmp_path, config(steps=4), resume=True)


def test_several_turns_are_played_beside_updates(tmp_path: Path) -> None:
    settings = config(env="test/StreamTurns-v0", max_steps_off_policy=1, steps=6, max_tokens=9)
    run(tmp_path, settings, Busy(update_s=0.005))
    episodes = rows(tmp_path, "rollouts.jsonl")
    assert len(episodes) == 6 * 36
    whole = [row for row in episodes if not row["truncated"]]
    assert whole
    assert all(len(row["acts"]) == 2 for row in whole)


class Turns(Task[int]):
    """Say a digit twice."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(4))

    def prompt(self, problem: int) -> str:
        return f"{problem}?"

    def start(self, problem: int) -> Any:
        return _Twice(problem)


class _Twice(mint_envs.Episode):
    def __init__(self, digit: int) -> None:
        self._digit, self._said = digit, ""

    def respond(self, text: str) -> str | Reward:
        if self._said:
            return Reward(float(text == str(self._digit)))
        self._said = "again"
        return "again?"


mint_envs.register("test/StreamTurns-v0", Turns)
