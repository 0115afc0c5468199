"""SkyRL's own generator plays our environments: ``nox -s interop_skyrl``.

The policy is a script in place of an inference engine; everything else is SkyRL's: chat template,
agent loop, loss mask, place of the reward.
"""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Callable
from typing import Any

import pytest
import typing_extensions
from flaky import GUESS, SUM, answer
from page import examples
from tiny import tokenizer

import mint_envs
from mint_envs.errors import Unmeasured
from mint_envs.interop import skyrl_gym as adapter

# Pydantic takes a ``typing.TypedDict`` from Python 3.12 on only; SkyRL uses that one.
typing.TypedDict = typing_extensions.TypedDict  # type: ignore[assignment]

from skyrl.train.config import GeneratorConfig, SkyRLGymConfig  # noqa: E402
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402
from skyrl_gym.envs import register  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # theirs

register(id="mint", entry_point="mint_envs.interop.skyrl_gym:MintTextEnv")
TOKENIZER = tokenizer()
Policy = Callable[[str], str]


class Engine:
    """In place of the inference engine: answers the decoded context by ``policy``."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def generate(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        contexts = [TOKENIZER.decode(ids) for ids in batch["prompt_token_ids"]]
        texts = [self._policy(context) for context in contexts]
        ids = [[*TOKENIZER.encode(text), TOKENIZER.eos_token_id] for text in texts]
        return {
            "responses": texts,
            "response_ids": ids,
            "stop_reasons": ["stop"] * len(ids),
            "response_logprobs": [[-0.5] * len(one) for one in ids],
        }

    async def finish_session(self, *_: Any, **__: Any) -> None: ...


def play(rows: list[dict[str, Any]], policy: Policy, max_turns: int) -> Any:
    config = GeneratorConfig()
    config.max_turns, config.batched, config.max_input_length = max_turns, False, 1 << 16
    config.sampling_params.logprobs = 1
    generator = SkyRLGymGenerator(config, SkyRLGymConfig(), Engine(policy), TOKENIZER)
    names = ("prompt", "env_class")
    batch = {
        "prompts": [row["prompt"] for row in rows],
        "env_classes": [row["env_class"] for row in rows],
        "env_extras": [{k: v for k, v in row.items() if k not in names} for row in rows],
        "sampling_params": None,
        "trajectory_ids": None,
        "batch_metadata": None,
    }
    return asyncio.run(generator.generate(batch))


def test_one_turn_through_the_generator() -> None:
    rows = adapter.rows(SUM, 6)
    right = {row["prompt"][0]["content"]: answer(SUM, row["task_index"]) for row in rows[:4]}
    said = play(rows, lambda context: next((a for q, a in right.items() if q in context), "x"), 1)
    assert [sum(rewards) for rewards in said["rewards"]] == [1, 1, 1, 1, 0, 0]
    for rewards, mask, ids in zip(
        said["rewards"], said["loss_masks"], said["response_ids"], strict=True
    ):
        assert len(rewards) == len(mask) == len(ids)
        assert all(mask)
    assert said["rollout_metrics"]["environment/measured"] == 1.0


def test_code_is_run() -> None:
    rows = adapter.rows("mint/Code-v0", 3, style="chat")
    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]
    gold = [next(iter(task.examples(task.problem(i)))) for i in range(3)]
    told = {row["prompt"][0]["content"]: text for row, text in zip(rows, gold, strict=True)}
    said = play(rows, lambda context: next(a for q, a in told.items() if q in context), 1)
    assert [sum(rewards) for rewards in said["rewards"]] == [1, 1, 1]


def test_several_turns_through_the_generator() -> None:
    rows = adapter.rows(GUESS, 4)
    said = play(rows, lambda context: str(context.count("higher") + context.count("lower")), 5)
    for row, rewards, mask in zip(rows, said["rewards"], said["loss_masks"], strict=True):
        number = int(answer(GUESS, row["task_index"]))
        assert sum(rewards) == pytest.approx(max(0, 3 - number) / 3)
        assert (0 in mask) == (number > 0)  # what the environment says is not trained on


def test_the_real_tool_use() -> None:
    rows = adapter.rows("mint/ToolUse-v0", 3, plain=True)
    task = mint_envs.make("mint/ToolUse-v0", plain=True).unwrapped.task  # type: ignore[attr-defined]
    turns = [next(iter(task.examples(task.problem(i)))) for i in range(3)]
    told = {row["prompt"][-1]["content"]: t for row, t in zip(rows, turns, strict=True)}

    def policy(context: str) -> str:
        script = next(t for q, t in told.items() if q in context)
        return str(script[context.count("<|im_start|>assistant") - 1])

    said = play(rows, policy, 8)
    assert [sum(rewards) for rewards in said["rewards"]] == [1, 1, 1]


def test_unmeasured_stops_the_run() -> None:
    with pytest.raises(Unmeasured, match="sandbox is down"):
        play(adapter.rows(SUM, 2), lambda _: "down", 1)


def test_the_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = examples("SkyRL-gym")
    exec(code.replace('id="mint"', 'id="docs"').replace('make("mint"', 'make("docs"'), {})
    assert capsys.readouterr().out.strip() in ("0.0", "1.0")
