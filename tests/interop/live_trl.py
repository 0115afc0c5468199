"""TRL's GRPOTrainer trains on our environments, here on the CPU: ``nox -s interop_trl``.

The model is tiny and random, so a script stands in for what it would say where a test needs right
answers; chat template, tool calls, rewards, advantages, loss and optimizer are TRL's.
"""

from __future__ import annotations

import gc
import itertools
import json
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flaky
import pytest
import torch
from datasets import Dataset
from flaky import GUESS, SUM, answer
from page import examples
from tiny import model_folder, tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

import mint_envs
from mint_envs.errors import SettingError
from mint_envs.interop import trl as adapter

pytestmark = pytest.mark.filterwarnings("default")  # theirs
Policy = Callable[[str], str]


class Scripted(GRPOTrainer):
    """A trainer whose model says what ``policy`` says to the decoded context."""

    policy: Policy | None = None

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        if self.policy is None:
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)
        contexts = [self.processing_class.decode(ids) for ids in prompt_ids]
        said = [self.processing_class.encode(self.policy(context)) for context in contexts]
        return [[*ids, self.processing_class.eos_token_id] for ids in said], None


def model(folder: Path) -> str:
    """Write a tiny Qwen3 whose chat template TRL knows; return its folder."""
    made = tokenizer()
    made.chat_template = qwen3_chat_template
    made.add_tokens(["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"])
    model_folder(folder, "qwen3", max_position_embeddings=4096, vocab_size=len(made))
    made.save_pretrained(folder)
    return str(folder)


def train(
    folder: Path, rows: list[dict[str, Any]], policy: Policy | None, **changes: Any
) -> tuple[GRPOTrainer, dict[str, float], float]:
    """Train one step; return the trainer, its last log, and how far the weights moved."""
    path = model(folder / "model")
    policy_model = AutoModelForCausalLM.from_pretrained(path)
    before = [weights.detach().clone() for weights in policy_model.parameters()]
    config = GRPOConfig(
        output_dir=str(folder / "out"), per_device_train_batch_size=4, num_generations=4,
        max_completion_length=changes.pop("length", 2048), max_steps=1, use_cpu=True, bf16=False,
        report_to="none", logging_steps=1, learning_rate=1e-2, save_strategy="no",
        shuffle_dataset=False, chat_template_kwargs={"enable_thinking": False},
    )  # fmt: skip
    trainer = Scripted(
        model=policy_model,
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=AutoTokenizer.from_pretrained(path),
        **changes,
    )
    trainer.policy = policy
    trainer.train()
    moved = [(a - b).abs().max() for a, b in zip(policy_model.parameters(), before, strict=True)]
    log = next(entry for entry in trainer.state.log_history if "reward" in entry)
    return trainer, log, float(torch.stack(moved).max().detach())


def cycle(*texts: str) -> Policy:
    """Say the texts one after another, whatever is asked."""
    left = iter(texts * 10)
    return lambda _: next(left)


def test_reward_funcs_learn(tmp_path: Path) -> None:
    rows = adapter.rows(SUM, 1)
    policy = cycle(answer(SUM, 0), "x", "x", "x")
    _, log, moved = train(tmp_path, rows, policy, reward_funcs=adapter.reward_func(SUM))
    assert log["reward"] == pytest.approx(0.25)
    assert log["rewards/flaky:flaky/Sum-v0/mean"] == pytest.approx(0.25)
    assert log["mint/right"] == pytest.approx(0.25)
    assert moved > 0


def test_unmeasured_is_left_out(tmp_path: Path) -> None:
    """The mean is over the three that were measured; a group of none teaches nothing."""
    policy = cycle(answer(SUM, 0), "down", "x", "x")
    function = adapter.reward_func(SUM)
    _, log, moved = train(tmp_path / "some", adapter.rows(SUM, 1), policy, reward_funcs=function)
    assert log["reward"] == pytest.approx(1 / 3)
    assert log["mint/measured"] == pytest.approx(0.75)
    assert moved > 0
    *_, moved = train(tmp_path / "none", adapter.rows(SUM, 1), cycle("down"), reward_funcs=function)
    assert moved == 0


def test_a_real_step_on_code(tmp_path: Path) -> None:
    """Nothing is scripted: the random model babbles, and the sandbox says that it is no program."""
    env: Any = {"env": "mint/Code-v0", "style": "chat"}
    function = adapter.reward_func(**env)
    _, log, _ = train(
        tmp_path, adapter.rows(**env, count=2), None, reward_funcs=function, length=16
    )
    assert log["reward"] == 0.0
    assert log["mint/measured"] == 1.0


def test_code_is_run(tmp_path: Path) -> None:
    task = mint_envs.make("mint/Code-v0", style="chat").unwrapped.task  # type: ignore[attr-defined]
    gold = next(iter(task.examples(task.problem(0))))
    rows = adapter.rows("mint/Code-v0", 1, style="chat")
    function = adapter.reward_func("mint/Code-v0", style="chat")
    _, log, moved = train(tmp_path, rows, cycle(gold, "no"), reward_funcs=function)
    assert log["reward"] == pytest.approx(0.5)
    assert moved > 0


def call(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def test_environment_factory_several_turns(tmp_path: Path) -> None:
    def policy(context: str) -> str:
        said = context.count("higher") + context.count("lower")
        over = "The work is done" in context
        return "Good." if over else call("submit", response=str(said))

    factory = adapter.environment_factory(GUESS)
    trainer, log, _ = train(
        tmp_path, adapter.empty_rows(1), policy, environment_factory=factory, reward_funcs=[]
    )
    number = int(answer(GUESS, 0))
    assert log["reward"] == pytest.approx(max(0, 3 - number) / 3)
    assert log["tools/failure_frequency"] == 0
    assert [tool.__name__ for tool in trainer.tools] == ["submit"]


def test_environment_factory_with_the_real_tools(tmp_path: Path) -> None:
    env: Any = {"env": "mint/ToolUse-v0", "toolkit": "keyvalue"}
    task = mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue").unwrapped.task  # type: ignore[attr-defined]
    request = task.problem(1).request
    steps = [call(name, **arguments) for turn in request.turns for name, arguments in turn]
    script = [*steps, call("finish", answer=request.answer or ""), "Done."]
    begun = itertools.count()

    def policy(context: str) -> str:
        said = context.split(request.text)[1].count("<|im_start|>assistant") - 1
        if said == 0 and next(begun) % 2:
            return "I would rather not."  # two of four do nothing
        return script[said]

    factory = adapter.environment_factory(**env)
    trainer, log, moved = train(
        tmp_path, adapter.empty_rows(1, start=1), policy, environment_factory=factory,
        reward_funcs=[],
    )  # fmt: skip
    assert log["reward"] == pytest.approx(0.5)
    assert moved > 0
    names = {tool.__name__ for tool in trainer.tools}
    assert names == {"get_value", "set_value", "delete_key", "list_keys", "finish"}


def test_environments_are_closed() -> None:
    environment = adapter.environment_factory(GUESS)()
    environment.reset(task_index=1)
    before = flaky._Guessing.closed
    environment.reset(task_seed=2)  # of a row of before
    assert flaky._Guessing.closed == before + 1
    gone = weakref.ref(environment)
    del environment
    gc.collect()
    assert gone() is None
    assert flaky._Guessing.closed == before + 2


def test_every_tool_has_a_schema() -> None:
    for env in ("mint/ToolUse-v0", "mint/Code-v0"):
        made = adapter.environment_factory(env)()
        public = [name for name in dir(made) if not name.startswith("_")]
        tools = [name for name in public if name not in ("reset", "get_reward")]
        assert tools
        for name in tools:
            schema = get_json_schema(getattr(made, name))["function"]
            assert schema["name"] == name
            assert schema["description"]


def test_a_data_set_without_numbers_is_told() -> None:
    with pytest.raises(SettingError, match=r"trl\.rows"):
        adapter.reward_func(SUM)(prompts=["?"], completions=["1"])
    with pytest.raises(SettingError, match=r"trl\.empty_rows"):
        adapter.environment_factory(SUM)().reset(prompt="?")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_example_of_the_documentation(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = "max_steps=1, max_completion_length=8, use_cpu=True, bf16=False, report_to='none'"
    code = re.sub(r"use_cpu=True,\s*", "", examples("TRL")[number]).replace("count=64", "count=8")
    code = re.sub(r"max_completion_length=\d+,\s*max_steps=\d+", small, code)
    for name in ('"Qwen/Qwen3-0.6B"', 'model_folder("SmolLM2-135M-Instruct")'):
        code = code.replace(name, repr(model(tmp_path / "small"))).replace("512", "8")
    assert small in code
    assert "SmolLM2" not in code
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["trainer"].state.global_step == 1
