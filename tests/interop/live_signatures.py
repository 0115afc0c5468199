"""verl, OpenRLHF and NeMo Gym: our stubs against the real modules: ``nox -s interop_signatures``.

OpenRLHF's agent executors really run here, with a scripted model. Of verl (``live_verl.py`` runs
some of it) and NeMo Gym, which wants Python 3.13, the sources are read and signatures compared.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import importlib.util
import inspect
import types
from pathlib import Path
from typing import Any

import pytest
import stubs
from fastapi.testclient import TestClient
from flaky import GUESS, SUM, answer
from page import examples

from mint_envs.errors import Unmeasured
from mint_envs.interop import nemo_gym, openrlhf, verl

pytestmark = pytest.mark.filterwarnings("default")  # theirs
PARAMS = types.SimpleNamespace(max_tokens=64, logprobs=None)


def shape(call: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults of the parameters."""
    found = inspect.signature(inspect.unwrap(call)).parameters.values()
    return [(p.name, p.kind, p.default) for p in found]


# -- OpenRLHF: its executors run -------------------------------------------------------------------


def test_openrlhf_one_turn(tmp_path: Path) -> None:
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    file = tmp_path / "reward.py"
    file.write_text(
        "import flaky\nfrom mint_envs.interop import openrlhf\n"
        f"reward_func = openrlhf.reward_func({SUM!r})\n"
    )
    executor = SingleTurnAgentExecutor(str(file))
    for seed in range(3):
        right = answer(SUM, seed)
        for said, score in ((right, 1.0), ("x", 0.0)):
            prompt = "<|im_start|>user\nsum?<|im_end|>\n<|im_start|>assistant\n"
            engine = stubs.Engine(lambda *_, said=said: said)
            found = asyncio.run(
                executor.execute(prompt, str(seed), PARAMS, 512, stubs.Tokenizer(), engine)
            )
            assert float(found["reward"]) == float(found["scores"]) == score


def test_openrlhf_several_turns() -> None:
    from openrlhf.utils.agent import AgentExecutorBase

    cls = openrlhf.agent_executor(GUESS)
    assert issubclass(cls, AgentExecutorBase)
    for seed in range(4):
        engine = stubs.Engine(lambda context, _: str(context.count("higher")))
        params = types.SimpleNamespace(**vars(PARAMS))
        found = asyncio.run(
            cls().execute("ignored", str(seed), params, 4096, stubs.Tokenizer(), engine)
        )
        number = int(answer(GUESS, seed))
        assert found["reward"] == pytest.approx(max(0, 3 - number) / 3)
        assert len(found["action_ranges"]) == min(number + 1, 3)


def test_openrlhf_unmeasured_stops() -> None:
    with pytest.raises(Unmeasured):
        asyncio.run(
            openrlhf.agent_executor(SUM)().execute(
                "", "1", PARAMS, 4096, stubs.Tokenizer(), stubs.Engine(lambda *_: "down")
            )
        )


def test_openrlhf_stubs_are_right() -> None:
    from openrlhf.utils import agent

    for name in ("__init__", "reset", "step"):
        theirs, ours = (
            getattr(agent.AgentInstanceBase, name),
            getattr(stubs.AgentInstanceBase, name),
        )
        assert shape(theirs) == shape(ours)
    theirs, ours = agent.MultiTurnAgentExecutor.execute, stubs.MultiTurnAgentExecutor.execute
    assert shape(theirs) == shape(ours)


# -- verl: from its source, which imports Ray, vLLM and more ---------------------------------------


def source(module: str) -> ast.Module:
    root, _, rest = module.partition(".")
    spec = importlib.util.find_spec(root)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    file = Path(spec.submodule_search_locations[0]) / (rest.replace(".", "/") + ".py")
    return ast.parse(file.read_text())


def class_in(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)


def fields(cls: ast.ClassDef) -> dict[str, bool]:
    """Return the fields of a pydantic model, and whether each has a default."""
    return {
        n.target.id: n.value is not None
        for n in cls.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }


def parameters(cls: ast.ClassDef, name: str) -> list[str]:
    function = next(n for n in cls.body if getattr(n, "name", "") == name)
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    a = function.args
    return [p.arg for p in (*a.args, *a.kwonlyargs, *filter(None, [a.kwarg]))]


def test_verl_stubs_are_right() -> None:
    loop = source("verl.experimental.agent_loop.agent_loop")
    ours = {
        f.name: f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        for f in dataclasses.fields(stubs.AgentLoopOutput)
    }
    assert fields(class_in(loop, "AgentLoopOutput")) == ours
    base = class_in(loop, "AgentLoopBase")
    assert parameters(base, "__init__") == list(
        inspect.signature(stubs.AgentLoopBase.__init__).parameters
    )
    assert parameters(base, "run") == ["self", "sampling_params", "kwargs"]
    assert list(inspect.signature(verl._agent_loop_class).parameters) == []
    server = class_in(source("verl.workers.rollout.llm_server"), "LLMServerClient")
    assert parameters(server, "generate") == list(
        inspect.signature(stubs.Server.generate).parameters
    )
    output = fields(class_in(source("verl.workers.rollout.replica"), "TokenOutput"))
    assert {"token_ids", "log_probs"} <= set(output)


def test_verl_calls_compute_score_by_these_names() -> None:
    manager = class_in(
        source("verl.experimental.reward_loop.reward_manager.naive"), "NaiveRewardManager"
    )
    calls = [
        {k.arg for k in n.keywords if k.arg}
        for n in ast.walk(manager)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "compute_score"
    ]
    assert calls
    assert all(names <= set(inspect.signature(verl.compute_score).parameters) for names in calls)


# -- NeMo Gym: our server over HTTP, its names from its source -------------------------------------


def test_nemo_gym_over_http() -> None:
    rows = nemo_gym.rows(SUM, 3)
    with TestClient(nemo_gym.app()) as client:
        assert client.post("/seed_session", json={"resources_session_id": "7"}).json() == {
            "resources_session_id": "7"
        }
        assert client.get("/reverify_mode").json() == "stateless"
        for seed, row in enumerate(rows):
            for text, reward, masked in ((answer(SUM, seed), 1.0, False), ("down", 0.0, True)):
                message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
                asked = {**row, "response": {"output": [message]}}
                found = client.post("/verify", json=asked).json()
                assert (found["reward"], found["mask_sample"]) == (reward, masked)
        refused = client.post("/verify", json={"response": {"output": []}})
        assert refused.status_code == 422
        assert "verifier_metadata" in refused.json()["detail"]


def test_nemo_gym_names_are_theirs() -> None:
    tree, config = source("nemo_gym.base_resources_server"), source("nemo_gym.config_types")
    response = fields(class_in(tree, "BaseVerifyResponse"))
    assert response == {
        "reward": False, "mask_sample": True, "failure_kind": True, "failure_reason": True,
    }  # fmt: skip
    assert "reward_components" in fields(class_in(tree, "BaseMultiRewardVerifyResponse"))
    routes = {
        n.args[0].value
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("post", "get")
        and n.args
        and isinstance(n.args[0], ast.Constant)
    }
    ours = {route.path for route in nemo_gym.app().routes}
    assert routes <= ours
    assert set(nemo_gym.summary([])) <= set(fields(class_in(config, "AggregateMetrics")))
    kinds = source("nemo_gym.failure_kinds")
    words = {n.value for n in ast.walk(kinds) if isinstance(n, ast.Constant)}
    assert "verifier_error" in words


def test_the_examples_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, agent = examples("OpenRLHF")
    scope: dict[str, Any] = {}
    exec(function, scope)
    assert list(inspect.signature(scope["reward_func"]).parameters) == [
        "queries", "prompts", "labels",
    ]  # fmt: skip
    exec(agent.replace('"Qwen/Qwen3-0.6B"', "None"), scope)
    scope["AgentExecutor"]()
    (rows,) = examples("verl")
    exec(rows, {})
    (lines,) = examples("NeMo Gym")
    exec(lines, {})
    assert len(Path("train.jsonl").read_text().splitlines()) == 512
    import pandas

    assert len(pandas.read_parquet("train.parquet")) == 512
