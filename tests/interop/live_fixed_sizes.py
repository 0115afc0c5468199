"""Loops of Gymnasium that know arrays of one size learn on ``PadTokens``: ``nox -s interop_sb3``.

Stable-Baselines3 and TorchRL, each with its own collection, loss and optimizer. The task is small
enough to be learned in seconds: name a byte near to the one that the prompt shows.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

import mint_envs
from mint_envs import PadTokens, Reward, Task

pytestmark = pytest.mark.filterwarnings("default")  # theirs
LENGTH = 12
torch.set_num_threads(1)


class Near(Task[int]):
    """The nearer the first byte of the response to the one wanted, the more it earns."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(2))

    def prompt(self, problem: int) -> str:
        return f"{'low' if problem == 0 else 'high'}:"

    def score(self, problem: int, response: str) -> Reward:
        first = ord(response[0]) if response and ord(response[0]) < 128 else 64
        return Reward(1.0 - abs(first - (20 if problem == 0 else 110)) / 128)

    def examples(self, problem: int) -> dict[str, float]:
        return {chr(20 if problem == 0 else 110): 1.0}


def make() -> gym.Env[Any, Any]:
    mint_envs.register("live/Near-v0", Near)
    return PadTokens(gym.make("live/Near-v0"), LENGTH, response=2)


def test_stable_baselines3_learns() -> None:
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    check_env(make())
    env = VecNormalize(
        DummyVecEnv([lambda: Monitor(make())]), norm_obs_keys=["tokens"], norm_reward=False
    )  # token ids are no measurements: a network of floats wants them small
    model = stable_baselines3.PPO(
        "MultiInputPolicy", env, n_steps=256, batch_size=64, learning_rate=1e-2, gamma=0.0, seed=0,
        device="cpu",
    )  # fmt: skip
    before, _ = evaluate_policy(model, env, n_eval_episodes=50, deterministic=False)
    model.learn(4096)
    after, _ = evaluate_policy(model, env, n_eval_episodes=50, deterministic=False)
    assert after > before + 0.15, (before, after)


def test_torchrl_learns() -> None:
    pytest.importorskip("torchrl")
    from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule
    from tensordict.nn import ProbabilisticTensorDictSequential as Sequential
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    torch.manual_seed(0)
    env = GymWrapper(make(), categorical_action_encoding=True)
    check_env_specs(env)
    network = torch.nn.Sequential(torch.nn.Linear(LENGTH, 32), torch.nn.Tanh())
    head = torch.nn.Linear(32, 2 * 259)

    def logits(tokens: torch.Tensor) -> torch.Tensor:
        return head(network(tokens.float() / 128)).unflatten(-1, (2, 259))

    policy = Sequential(
        TensorDictModule(logits, in_keys=["tokens"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(
            in_keys=["logits"], out_keys=["action"], return_log_prob=True,
            distribution_class=torch.distributions.Categorical,
        ),
    )  # fmt: skip
    optimizer = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=3e-2)
    means = []
    for _ in range(80):
        batch = env.rollout(128, policy, break_when_any_done=False)
        rewards = batch["next", "reward"].squeeze(-1)
        means.append(float(rewards.mean()))
        advantage = ((rewards - rewards.mean()) / rewards.std()).unsqueeze(-1)
        log_prob = policy.get_dist(batch).log_prob(batch["action"])
        loss = -(advantage * log_prob[..., :1]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert np.mean(means[-10:]) > np.mean(means[:10]) + 0.15, means
