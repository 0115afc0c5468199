"""tinker-cookbook's own rollouts, filters and data assembly: ``nox -s interop_tinker_cookbook``.

The episodes of a group run at once, so which of them gets which answer is not told.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from inspect import signature
from typing import Any

import pytest
import tinker
from flaky import GUESS, SUM, answer
from page import examples
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl import types
from tinker_cookbook.rl.data_processing import (
    assemble_training_data,
    compute_advantages,
    remove_constant_reward_groups,
)
from tinker_cookbook.rl.metric_util import compute_trajectory_metrics
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.rl.train import Config

from mint_envs import ByteTokenizer
from mint_envs.interop import tinker_cookbook as adapter

pytestmark = pytest.mark.filterwarnings("default")  # theirs
BYTES = ByteTokenizer()


class Script(TokenCompleter):
    """A policy in place of a sampling client: the k-th call gets the k-th answer."""

    def __init__(self, policy: Callable[[str, int], str]) -> None:
        self._policy, self._calls = policy, 0

    async def __call__(self, model_input: tinker.ModelInput, stop: Any) -> TokensWithLogprobs:
        assert BYTES.eos_token_id in stop
        text = self._policy(BYTES.decode(model_input.to_ints()), self._calls)
        self._calls += 1
        tokens = [*BYTES.encode(text), BYTES.eos_token_id]
        return TokensWithLogprobs(tokens, [-0.1] * len(tokens))


def groups(env: str, size: int, **settings: Any) -> list[adapter.MintGroup]:
    builder = adapter.MintDatasetBuilder(env, None, 2, size, 3, settings=settings)
    config = Config(
        model_name="any", dataset_builder=builder, learning_rate=1e-4, max_tokens=8,
        log_path="unused",
    )  # fmt: skip
    data, test = asyncio.run(config.dataset_builder())
    assert test is None
    assert len(data) == 3
    assert [group.index for i in range(3) for group in data.get_batch(i)] == list(range(6))
    return pickle.loads(pickle.dumps(data.get_batch(0)))


def test_a_group_becomes_training_data() -> None:
    group = groups(SUM, 4)[0]
    right = answer(SUM, group.index)
    policy = Script(lambda _, call: [right, "0", "0", right][call])
    result = asyncio.run(do_group_rollout(group, policy))
    assert sorted(result.get_total_rewards()) == [0.0, 0.0, 1.0, 1.0]
    data, _ = assemble_training_data([result], compute_advantages([result]))
    assert len(data) == 4
    weights = [set(d.loss_fn_inputs["advantages"].to_numpy().tolist()) for d in data]
    assert sorted(map(sum, weights)) == [-0.5, -0.5, 0.5, 0.5]
    metrics = compute_trajectory_metrics([result], [group.logging_tags()])
    assert metrics["env/all/mint/right"] == 0.5


def test_unmeasured_moves_nothing() -> None:
    group = groups(SUM, 4)[1]
    right = answer(SUM, group.index)
    policy = Script(lambda _, call: [right, "down", "0", "0"][call])
    result = asyncio.run(do_group_rollout(group, policy))
    (advantages,) = compute_advantages([result])
    assert sorted(advantages.tolist()) == pytest.approx([-1 / 3, -1 / 3, 0.0, 2 / 3])
    assert 0.0 in advantages.tolist()  # exactly
    metrics = compute_trajectory_metrics([result], [group.logging_tags()])
    assert metrics["env/all/mint/measured"] == 0.75
    nothing = asyncio.run(do_group_rollout(group, Script(lambda *_: "down")))
    assert compute_advantages([nothing])[0].tolist() == [0.0] * 4
    assert len(remove_constant_reward_groups([nothing, result])) == 1


def test_several_turns_are_one_sequence() -> None:
    """The cookbook starts a new datum where an observation does not extend the last context."""
    group = groups(GUESS, 2)[0]

    def policy(context: str, _: int) -> str:
        return str(context.count("higher") + context.count("lower"))

    result = asyncio.run(do_group_rollout(group, Script(policy)))
    number = int(answer(GUESS, group.index))
    assert result.get_total_rewards() == pytest.approx([max(0, 3 - number) / 3] * 2)
    data, _ = assemble_training_data([result], compute_advantages([result]))
    assert len(data) == 2
    (first, _) = data
    acts = sum(len(t.ac.tokens) for t in result.trajectories_G[0].transitions)
    assert first.loss_fn_inputs["mask"].to_numpy().sum() == acts


def test_code_is_run() -> None:
    group = groups("mint/Code-v0", 2, style="chat")[0]
    import mint_envs

    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]
    gold = next(iter(task.examples(task.problem(group.index))))
    result = asyncio.run(do_group_rollout(group, Script(lambda _, call: [gold, "no"][call])))
    assert sorted(result.get_total_rewards()) == [0.0, 1.0]


def first_observation(group: adapter.MintGroup) -> list[int]:
    async def begin() -> list[int]:
        observation, _ = await (await group.make_envs())[0].initial_observation()
        return list(observation.to_ints())

    return asyncio.run(begin())


def test_a_group_works_in_another_process() -> None:
    group = groups(SUM, 2)[1]
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(first_observation, group).result() == first_observation(group)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (adapter.MintEnv.initial_observation, types.Env.initial_observation),
        (adapter.MintEnv.step, types.Env.step),
        (adapter.MintGroup.make_envs, types.EnvGroupBuilder.make_envs),
        (adapter.MintGroup.compute_group_rewards, types.EnvGroupBuilder.compute_group_rewards),
        (adapter.MintGroup.cleanup, types.EnvGroupBuilder.cleanup),
        (adapter.MintGroup.logging_tags, types.EnvGroupBuilder.logging_tags),
        (adapter.MintDataset.get_batch, types.RLDataset.get_batch),
        (adapter.MintDatasetBuilder.__call__, types.RLDatasetBuilder.__call__),
    ],
)
def test_the_signatures_are_theirs(ours: Any, theirs: Any) -> None:
    def shape(call: Any) -> list[tuple[str, Any, Any]]:
        return [(p.name, p.kind, p.default) for p in signature(call).parameters.values()]

    assert shape(ours) == shape(theirs)


def test_the_example_of_the_documentation() -> None:
    """All but the last line, which wants a key."""
    code, _, last = examples("tinker-cookbook")[0].rstrip().rpartition("\n")
    assert last == "asyncio.run(train.main(config))"
    scope: dict[str, Any] = {}
    exec(code.replace("tokenizer=model", "tokenizer=None"), scope)
    data, _ = asyncio.run(scope["config"].dataset_builder())
    assert len(first_observation(data.get_batch(99)[31])) > 20
