"""verl, OpenRLHF and NeMo Gym: stubs with their signatures, copied from their releases.

verl 0.9.1 (experimental/agent_loop/agent_loop.py, experimental/reward_loop/reward_manager/naive.py,
workers/rollout/replica.py), OpenRLHF 0.11.2 (utils/agent.py), NeMo Gym 0.7.0
(nemo_gym/base_resources_server.py). ``nox -s interop_signatures`` holds the stubs against them.
"""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
import stubs
import toys

import mint_envs
from mint_envs import Episode, Reward
from mint_envs.errors import SettingError, Unmeasured
from mint_envs.interop import nemo_gym, openrlhf, verl
from mint_envs.interop.shapes import TextTask

torch = pytest.importorskip("torch")

mint_envs.register("stubs/Adder-v0", toys.Adder)
mint_envs.register("stubs/Down-v0", toys.Down)
mint_envs.register("stubs/Guess-v0", toys.GuessNumberChat)

RIGHT = str(sum(toys.Adder().problem(4)))
NUMBER = toys.GuessNumberChat().problem(4)


def install(name: str, **members: Any) -> None:
    """Put a module made of ``members`` where ``import name`` finds it."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
    vars(sys.modules[name]).update(members)


@pytest.fixture(autouse=True)
def libraries() -> Iterator[None]:
    before = dict(sys.modules)
    install(
        "verl.experimental.agent_loop.agent_loop",
        AgentLoopBase=stubs.AgentLoopBase, AgentLoopOutput=stubs.AgentLoopOutput,
    )  # fmt: skip
    install(
        "openrlhf.utils.agent",
        AgentInstanceBase=stubs.AgentInstanceBase,
        MultiTurnAgentExecutor=stubs.MultiTurnAgentExecutor,
    )
    yield
    for name in set(sys.modules) - set(before):
        if name.split(".")[0] in ("verl", "openrlhf"):
            del sys.modules[name]


# -- verl -----------------------------------------------------------------------------------------


def test_verl_compute_score() -> None:
    (row,) = verl.rows("stubs/Adder-v0", 1, start=4)
    asked: dict[str, Any] = {
        "data_source": row["data_source"],
        "ground_truth": row["reward_model"]["ground_truth"],
        "extra_info": {**row["extra_info"], "num_turns": None, "rollout_reward_scores": {}},
    }
    assert verl.compute_score(solution_str=RIGHT, **asked) == {"score": 1.0, "acc": 1.0}
    assert verl.compute_score(solution_str="x", **asked) == {"score": 0.0, "acc": 0.0}
    with pytest.raises(Unmeasured, match="sandbox is down"):
        verl.compute_score(**{**asked, "data_source": "stubs/Down-v0"}, solution_str="1")
    with pytest.raises(SettingError, match="MintAgentLoop"):
        verl.compute_score(**{**asked, "data_source": "stubs/Guess-v0"}, solution_str="1")


def run_verl(env: str, policy: Any, room: int = 4096) -> Any:
    (row,) = verl.rows(env, 1, start=4)
    loop = stubs.agent_loop(verl.MintAgentLoop, stubs.Server(policy), room)
    return asyncio.run(loop.run({"temperature": 1.0}, raw_prompt=row["prompt"], index=4, **row))


def test_verl_agent_loop_over_several_turns() -> None:
    other = (NUMBER + 1) % 100
    output = run_verl("stubs/Guess-v0", lambda _, call: [str(other), str(NUMBER)][call])
    assert output.reward_score == pytest.approx(0.8)
    assert output.num_turns == 4
    said = [t for t, on in zip(output.response_ids, output.response_mask, strict=True) if on]
    assert bytes(i for i in said if i < 256).decode() == f"{other}{NUMBER}"
    assert len(output.response_logprobs) == len(output.response_ids)
    told = zip(output.response_logprobs, output.response_mask, strict=True)
    assert {(p, on) for p, on in told} == {(-0.5, 1), (0.0, 0)}
    assert "Guess my number" in bytes(i for i in output.prompt_ids if i < 256).decode()


def test_verl_agent_loop_has_no_more_room_than_it_is_given() -> None:
    output = run_verl("stubs/Guess-v0", lambda *_: "7" * 50, room=20)
    assert len(output.response_ids) == len(output.response_mask) == 20
    assert output.reward_score == 0.0


class PaysWhatWasDone(toys.GuessNumberChat):
    """An episode that is cut off keeps what it has earned."""

    def start(self, problem: int) -> Episode:
        episode = super().start(problem)
        episode.cut = lambda text: Reward(0.25)  # type: ignore[method-assign]
        return episode


def test_verl_agent_loop_that_ends_in_the_environments_words() -> None:
    """Room for one turn and a part of the answer to it."""
    mint_envs.register("stubs/Pays-v0", PaysWhatWasDone)
    output = run_verl("stubs/Pays-v0", lambda *_: str((NUMBER + 1) % 100), room=8)
    assert len(output.response_ids) == 8
    assert output.response_mask.count(1) < 8
    assert output.reward_score == 0.25
    assert output.num_turns == 2


def test_verl_agent_loop_unmeasured() -> None:
    with pytest.raises(Unmeasured):
        run_verl("stubs/Down-v0", lambda *_: "1")


# -- OpenRLHF -------------------------------------------------------------------------------------


def test_openrlhf_reward_function() -> None:
    (row,) = openrlhf.rows("stubs/Adder-v0", 1, start=4)
    function = openrlhf.reward_func("stubs/Adder-v0")
    for end in ("", "<|im_end|>", "</s>", "<|im_end|>\n<|endoftext|>"):
        found = function([f"<s>{row['input']}{RIGHT}{end}"], [row["input"]], [row["label"]])
        assert found["rewards"].tolist() == found["scores"].tolist() == [1.0]
        assert found["extra_logs"]["digits"].tolist() == [1.0]
    with pytest.raises(SettingError, match="does not begin with its prompt"):
        function(["something else"], [row["input"]], [row["label"]])
    with pytest.raises(Unmeasured):
        openrlhf.reward_func("stubs/Down-v0")(["?1"], ["?"], ["4"])


def play_openrlhf(env: str, policy: Any) -> dict[str, Any]:
    executor: Any = openrlhf.agent_executor(env)()
    engine = stubs.Engine(policy)
    params = types.SimpleNamespace(max_tokens=64, logprobs=None)
    return dict(
        asyncio.run(executor.execute("ignored", "4", params, 4096, stubs.Tokenizer(), engine))
    )


def test_openrlhf_agent_over_several_turns() -> None:
    other = (NUMBER + 1) % 100
    found = play_openrlhf("stubs/Guess-v0", lambda _, call: [str(other), str(NUMBER)][call])
    assert found["reward"] == pytest.approx(0.8)
    assert len(found["action_ranges"]) == 2
    # What the executor has put together is what our own environment would have shown.
    env = mint_envs.make("stubs/Guess-v0")
    context = list(env.reset(options={"index": 4})[0])
    for text in (other, NUMBER):
        act = [*str(text).encode(), 258]
        context += [*act, *env.step(act)[0]]
    assert found["observation_tokens"] == context


def test_openrlhf_agent_unmeasured() -> None:
    with pytest.raises(Unmeasured):
        play_openrlhf("stubs/Down-v0", lambda *_: "1")


# -- NeMo Gym -------------------------------------------------------------------------------------


def verified(env: str, text: str) -> dict[str, Any]:
    (row,) = nemo_gym.rows(env, 1, start=4)
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": content}]
    return nemo_gym.verify({**row, "response": {"id": "1", "output": output}})


def test_nemo_gym_verify() -> None:
    found = verified("stubs/Adder-v0", RIGHT)
    assert (found["reward"], found["mask_sample"]) == (1.0, False)
    assert found["reward_components"] == {"digits": 1.0}
    assert {"responses_create_params", "response", "verifier_metadata"} < set(found)
    assert "failure_kind" not in found
    assert verified("stubs/Adder-v0", "x")["reward"] == 0.0


def test_nemo_gym_masks_what_was_not_measured() -> None:
    found = verified("stubs/Down-v0", "1")
    assert found["mask_sample"] is True
    assert found["failure_kind"] == "verifier_error"
    assert "sandbox is down" in found["failure_reason"]


def test_nemo_gym_means_are_over_what_was_measured() -> None:
    found = nemo_gym.summary([verified("stubs/Adder-v0", RIGHT), verified("stubs/Down-v0", "1")])
    assert found["key_metrics"] == {"mean/reward": 1.0}
    assert found["agent_metrics"]["unmeasured"] == 1
    assert nemo_gym.summary([])["key_metrics"] == {}


def test_nemo_gym_a_call_without_a_message_is_no_answer() -> None:
    (row,) = nemo_gym.rows("stubs/Adder-v0", 1)
    assert nemo_gym.verify({**row, "response": {"output": []}})["reward"] == 0.0


def test_the_rows_say_what_an_episode_needs() -> None:
    prompt = TextTask("mint/Code-v0", style="chat").messages(4)
    (row,) = verl.rows("mint/Code-v0", 1, start=4, style="chat")
    assert row["prompt"] == prompt
    gold = TextTask("mint/Code-v0", style="chat").task
    text = next(iter(gold.examples(gold.problem(4))))
    asked = (row["data_source"], text, row["reward_model"]["ground_truth"], row["extra_info"])
    assert verl.compute_score(*asked)["score"] == 1.0
