"""Scoring on a Ray cluster of several nodes, each a process of its own on this machine."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from odd_tasks import Count, Odd
from serving import serving

import mint_envs
from mint_envs import Reward
from mint_envs.client import Client
from mint_envs.errors import SettingError
from mint_envs.executors import Turn, play_turns, score_batch
from mint_envs.executors.ray import RayExecutor
from mint_envs.serve import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ray
    from ray.cluster_utils import Cluster

# Ray leaves sockets and processes to the end of the interpreter.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

mint_envs.register("tests/Count-v0", Count)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head without CPUs, and three nodes of one."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # the nodes find the tests' tasks
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        for _ in range(3):
            cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def there(cluster: Cluster) -> RayExecutor:
    return RayExecutor()


@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Code-v0", "mint/Chat-v0"])
def test_the_same_rewards_as_here(there: RayExecutor, id: str) -> None:
    task: Any = mint_envs.make(id).unwrapped.task  # type: ignore[attr-defined]
    problems = [task.sample(np.random.default_rng(seed)) for seed in range(6)]
    pairs = [(problem, text) for problem in problems for text in task.examples(problem)]
    assert score_batch(task, pairs, there) == task.score_batch(pairs)


def test_work_is_spread_over_nodes_and_keeps_its_order(there: RayExecutor, tmp_path: Path) -> None:
    patience = time.monotonic() + 30
    while there.slots != 3 and time.monotonic() < patience:
        time.sleep(0.1)  # what the head says of its nodes lags behind them, one that was lost too
    assert there.slots == 3
    found = score_batch(Odd(), [(0, f"meet {tmp_path}"), (3, "3"), (3, "no")] * 40, there)
    assert [reward.score for reward in found] == [0.5, 1.0, 0.0] * 40
    pids = {reward.metadata["pid"] for reward in found[::3]}
    assert len(pids) >= 2
    assert os.getpid() not in pids


def test_vector_environments(there: RayExecutor) -> None:
    envs = gym.make_vec("tests/Count-v0", num_envs=6, executor=there)
    envs.reset(seed=[5] * 6)
    for number in range(1, envs.envs[0].problem + 1):  # type: ignore[attr-defined]
        act = [*str(number).encode(), envs.envs[0].codec.eos_token_id]  # type: ignore[attr-defined]
        rewards = envs.step([act] * 6)[1]
    assert rewards.tolist() == [1.0] * 6


def test_the_server_scores_there_too(there: RayExecutor) -> None:
    settings = Settings(offers=("tests/Count-v0", "mint/Math-v0"))
    with serving(settings, there) as url, Client(url, timeout_s=60) as client:
        with client.session("tests/Count-v0", seed=5) as played:
            total = int(str(played.prompt).split()[-1].rstrip("."))
            for number in range(1, total + 1):
                answer = played.respond(str(number))
        assert isinstance(answer, Reward)
        assert answer.score == 1.0
        scores = [reward.score for reward in client.score("mint/Math-v0", [(1, "no")] * 20)]
        assert scores == [0.0] * 20


def test_what_kills_each_worker_is_unmeasured(there: RayExecutor) -> None:
    rewards = score_batch(Odd(), [(3, "3"), (3, "die"), (3, "3")], there)
    assert [reward.score for reward in rewards] == [1.0, None, 1.0]


def test_errors_of_the_task_and_tasks_that_cannot_be_sent(there: RayExecutor) -> None:
    with pytest.raises(RuntimeError, match="a fault of the task"):
        score_batch(Odd(), [(0, "raise")], there)
    task = Odd()
    task.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="names and numbers as settings"):
        score_batch(task, [(0, "x")], there)


def test_a_node_that_is_lost_loses_nothing(cluster: Cluster, there: RayExecutor) -> None:
    """It takes a node away in the middle of a batch, and puts another in for the tests after it."""
    found: list[list[Reward]] = []
    pairs = [(i % 10, "sleep 0.05" if i % 2 else str(i % 10)) for i in range(300)]
    work = threading.Thread(target=lambda: found.append(score_batch(Odd(), pairs, there)))
    work.start()
    time.sleep(1.5)
    assert not found  # it is in the middle
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    play = [Turn(3, "e", tuple("12"[:past]), "123"[past]) for past in range(3)]
    answers = [play_turns(Count(), [turn], there)[0] for turn in play]
    work.join(120)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    assert [reward.score for reward in found[0]] == [float(i % 2 == 0) for i in range(300)]
    assert isinstance(answers[-1], Reward)
    assert answers[-1].score == 1.0


def test_a_cluster_that_is_left_and_joined_again(cluster: Cluster) -> None:
    """As in a notebook, where Ray is started anew: what was put into it before is not in it."""
    task, own = Odd(), RayExecutor()
    assert score_batch(task, [(1, "1")], own)[0].score == 1.0
    ray.shutdown()
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    assert score_batch(task, [(1, "1"), (1, "2")], own)[0].score == 1.0
    own.close()
    assert ray.is_initialized()  # it was not this executor that joined
    with pytest.raises(SettingError, match="closed: make another"):
        score_batch(task, [(1, "1")], own)
