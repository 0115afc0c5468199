"""Atropos' own loop over our environment, up to what it would send: ``nox -s interop_atropos``.

The episodes of a group run at once, so which of them gets which answer is not told.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from atroposlib.envs.base import APIServerConfig
from flaky import GUESS, SUM, answer
from tiny import tokenizer

import mint_envs
from mint_envs.interop import atropos as adapter

pytestmark = pytest.mark.filterwarnings("default")  # theirs
TOKENIZER = tokenizer()


class Engine:
    """In place of a vLLM server: the k-th call gets the k-th answer to the decoded context."""

    def __init__(self, policy: Callable[[str, int], str]) -> None:
        self._policy, self._calls = policy, 0

    async def tokens_and_logprobs_completion(self, **asked: Any) -> Any:
        text = self._policy(TOKENIZER.decode(asked["input_ids"]), self._calls)
        self._calls += 1
        ids = [*TOKENIZER.encode(text), TOKENIZER.eos_token_id]
        return asked["input_ids"], [ids], [[-0.5] * len(ids)], ["stop"]


def rollout(
    folder: Path, env: str, size: int, policy: Callable[[str, int], str], **settings: Any
) -> list[dict[str, Any]]:
    """Let Atropos handle three items; return the groups that it would train on."""
    TOKENIZER.save_pretrained(folder / "tokenizer")
    config = adapter.MintConfig(
        mint_env=env, settings=settings, group_size=size, use_wandb=False,
        ensure_scores_are_not_same=False,
        tokenizer_name=str(folder / "tokenizer"), data_path_to_save_groups=str(folder / "g.jsonl"),
    )  # fmt: skip
    server = APIServerConfig(
        base_url="http://127.0.0.1:1/v1", model_name="m", api_key="none", health_check=False
    )

    async def work() -> None:
        made = adapter.MintEnv(config, [server])
        made.server = Engine(policy)
        made._send_scored_data_to_api = _nowhere
        await made.setup()
        for number in range(3):
            item = await made.get_next_item()
            assert item == number
            made.running_items[str(number)] = {"item": item}
            await made.handle_env(str(number))
        made.jsonl_writer.close()

    asyncio.run(work())
    return [json.loads(line) for line in (folder / "g.jsonl").read_text().splitlines()]


async def _nowhere(_: Any) -> None: ...


def test_groups(tmp_path: Path) -> None:
    right = [answer(SUM, seed) for seed in range(3)]
    groups = rollout(tmp_path, SUM, 4, lambda _, call: right[call // 4] if call % 4 == 0 else "0")
    assert [sorted(group["scores"]) for group in groups] == [[0.0, 0.0, 0.0, 1.0]] * 3
    for group in groups:
        lists = zip(group["tokens"], group["masks"], group["inference_logprobs"], strict=True)
        for tokens, masks, logprobs in lists:
            trained = [t for t, m in zip(tokens, masks, strict=True) if m != -100]
            assert [m for m in masks if m != -100] == trained
            assert trained[-1] == TOKENIZER.eos_token_id
            assert [p for p, m in zip(logprobs, masks, strict=True) if m != -100] == [-0.5] * len(
                trained
            )


def test_unmeasured_is_left_out(tmp_path: Path) -> None:
    """The first group loses one of four, the second three, and so all; the third is whole."""
    said = ["down", "8", "x", "x", "down", "down", "down", "x"]
    groups = rollout(
        tmp_path, SUM, 4,
        lambda _, call: answer(SUM, call // 4) if call in (1, 9) else (said + ["x"] * 4)[call],
    )  # fmt: skip
    scores = [sorted(group["scores"]) for group in groups]
    assert scores == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]


def test_several_turns(tmp_path: Path) -> None:
    def policy(context: str, _: int) -> str:
        return str(context.count("higher") + context.count("lower"))

    groups = rollout(tmp_path, GUESS, 2, policy)
    numbers = [int(answer(GUESS, seed)) for seed in range(3)]
    assert [g["scores"] for g in groups] == [
        [pytest.approx(max(0, 3 - n) / 3)] * 2 for n in numbers
    ]
    for group, number in zip(groups, numbers, strict=True):
        tokens, masks = group["tokens"][0], group["masks"][0]
        acts = [t for t in masks if t != -100]
        assert acts.count(TOKENIZER.eos_token_id) == min(number + 1, 3)
        given = [t for t, m in zip(tokens, masks, strict=True) if m == -100]
        assert TOKENIZER.decode(given).count("higher") == min(number, 2)


def test_code_is_run(tmp_path: Path) -> None:
    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]
    gold = [next(iter(task.examples(task.problem(seed)))) for seed in range(3)]
    groups = rollout(
        tmp_path, "mint/Code-v0", 2, lambda _, call: gold[call // 2] if call % 2 else "no",
        style="chat",
    )  # fmt: skip
    assert [sorted(group["scores"]) for group in groups] == [[0.0, 1.0]] * 3
