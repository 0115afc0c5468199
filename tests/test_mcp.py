"""Tools of an MCP server: a real one, that is started, asked, hung, killed and started again."""

from __future__ import annotations

import functools
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tooluse_policy import solve, written

import mint_envs
from mint_envs import Reward
from mint_envs.errors import SettingError
from mint_envs.registration import settings_of
from mint_envs.tooluse import ToolUseTask
from mint_envs.tooluse.families import Request
from mint_envs.tooluse.tasks import ToolUseProblem
from mint_envs.tooluse.toolkits.mcp import McpTools, tools_of

pytest.importorskip("mcp", reason="the extra mcp is not installed")

#: A server of the package ``mcp``, which takes seconds to start, and one that starts at once.
REAL = f"{sys.executable} {Path(__file__).parent / 'mcp_server.py'}"
SERVER = Path(__file__).parent / "plain_mcp_server.py"
COMMAND = f"{sys.executable} -S -E {SERVER}"
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True, scope="module")
def patience() -> Iterator[None]:
    """A busy machine takes long to start a server: that is not what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mint_envs.tooluse.toolkits.mcp._START_S", 400.0)
        yield


@pytest.fixture
def kit() -> Iterator[McpTools]:
    tools = McpTools(COMMAND, call_s=200.0)
    yield tools
    tools.close()


@pytest.fixture(scope="module")
def real() -> Iterator[McpTools]:
    tools = McpTools(REAL, call_s=200.0)
    yield tools
    tools.close()


def running(marker: str) -> list[int]:
    """Return the processes that have ``marker`` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def gone(processes: set[int]) -> bool:
    """Wait until these processes have ended."""
    for _ in range(300):
        if not processes & set(running(str(SERVER))):
            return True
        time.sleep(0.2)
    return False


def test_the_tools_of_a_server_are_run(real: McpTools) -> None:
    kit = real
    names = [tool["name"] for tool in kit.offered()]
    assert names[:4] == ["add", "write_note", "read_note", "mcp_read_file"]
    assert kit.run("add", {"a": 2, "b": 3}) == ("5", True, "")
    assert kit.run("mcp_read_file", {"path": "x"}).text == "nothing in x"
    assert kit.run("write_note", {"name": "n", "text": "hello"}).ok
    assert kit.run("read_note", {"name": "n"}).text == "hello"


def test_what_is_wrong_with_a_call_comes_back_as_text(real: McpTools) -> None:
    kit = real
    for name, arguments, text in [
        ("add", {"a": "2", "b": 3}, "is not of type"),
        ("add", {"a": 2}, "required"),
        ("read_file", {"path": "x"}, "there is no tool"),
        ("read_note", {"name": "gone"}, "there is no note"),
    ]:
        result = kit.run(name, arguments)
        assert not result.ok
        assert not result.failure
        assert result.text.startswith("Error: ")
        assert text in result.text
    assert len(kit.run("shout", {"size": 100_000}).text) < 4100


def test_every_episode_has_a_server_of_its_own(kit: McpTools) -> None:
    kit.run("write_note", {"name": "n", "text": "hello"})
    before = set(running(str(SERVER)))
    kit.reset(RNG)
    assert gone(before), "the old server"
    assert "there is no note" in kit.run("read_note", {"name": "n"}).text


def test_a_server_that_dies_stays_dead_for_the_episode(kit: McpTools) -> None:
    result = kit.run("die", {})
    assert "gone" in result.failure
    assert "gone" in kit.run("add", {"a": 1, "b": 1}).failure
    kit.reset(RNG)
    assert kit.run("add", {"a": 1, "b": 1}).text == "2"


def test_a_server_that_hangs_is_ended() -> None:
    kit = McpTools(COMMAND, call_s=1.0)
    before = set(running(str(SERVER)))
    assert "within 1 s" in kit.run("hang", {}).failure
    assert gone(set(running(str(SERVER))) - before)
    assert "within 1 s" in kit.run("add", {"a": 1, "b": 1}).failure
    kit.close()
    kit.close()


def test_a_server_that_nobody_uses_any_more_is_ended() -> None:
    kit = McpTools(COMMAND, call_s=200.0)
    before = set(running(str(SERVER)))
    kit.run("add", {"a": 1, "b": 1})
    mine = set(running(str(SERVER))) - before
    assert mine
    del kit
    assert gone(mine)


_PARENT = """
import sys
from mint_envs.tooluse.toolkits.mcp import McpTools
kit = McpTools(sys.argv[1], call_s=600.0)
kit.run("add", {"a": 1, "b": 1})
print("up", flush=True)
kit.run("compute", {})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it sees the end of its input")
def test_a_server_that_computes_for_ever_ends_with_a_parent_that_is_killed() -> None:
    before = set(running(str(SERVER)))
    command = [sys.executable, "-c", _PARENT, COMMAND]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        time.sleep(0.5)  # it computes
        mine = set(running(str(SERVER))) - before - {process.pid}
        assert mine
        process.kill()
        assert gone(mine)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("no_such_command_at_all", "FileNotFoundError"),
        (f"{sys.executable} -c 'import sys; sys.exit(\"it is broken\")'", "it is broken"),
        ("http://127.0.0.1:9/mcp", "no server answers"),
        ("", "give the command"),
        ("python '", "closing quotation"),
    ],
)
def test_no_server_is_a_mistake_of_the_user(where: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        McpTools(where)
    with pytest.raises(SettingError, match="mcp="):
        ToolUseTask(mcp=where)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*REAL.split(), str(port)], stdout=quiet, stderr=quiet) as server:
        for _ in range(4000):
            time.sleep(0.1)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/mcp"
        server.kill()


def test_a_server_over_http(url: str) -> None:
    kit = McpTools(url, call_s=200.0)
    assert kit.run("add", {"a": 2, "b": 3}).text == "5"
    assert "there is no note" in kit.run("read_note", {"name": "gone"}).text
    kit.reset(RNG)
    assert kit.run("add", {"a": 2, "b": 4}).text == "6"
    kit.close()


# -- hostile servers ------------------------------------------------------------------------------


def test_a_server_that_floods_or_talks_nonsense_is_heard_all_the_same() -> None:
    for way in ("flood", "noise"):
        kit = McpTools(f"{COMMAND} {way}", call_s=200.0)
        assert kit.run("add", {"a": 2, "b": 3}) == ("5", True, ""), way
        kit.close()


@pytest.mark.parametrize(
    ("way", "message"),
    [("lies", "refers to '#/nowhere'"), ("loop", "stands twice"), ("twice", "stands twice")],
)
def test_a_server_whose_list_of_tools_is_broken_is_refused(way: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ToolUseTask("keyvalue", mcp=f"{COMMAND} {way}")


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint_envs.tooluse.toolkits.mcp._START_S", 2.0)
    with pytest.raises(SettingError, match="has not started within 2 s"):
        McpTools(f"{COMMAND} silent")


def test_a_schema_that_would_take_for_ever_is_not_followed() -> None:
    kit = McpTools(f"{COMMAND} regex", call_s=200.0)
    assert kit.run("match", {"a": "a" * 60 + "!", "b": 2.0}).ok
    kit.close()


def test_thousands_of_tools_are_tools() -> None:
    kit = McpTools(f"{COMMAND} many", call_s=200.0)
    assert len(kit.offered()) == 3000
    assert kit.run("tool_2999", {"a": "x"}).text == "x"
    assert "there is no tool" in kit.run("tool_3000", {"a": "x"}).text
    kit.close()


def test_a_result_forges_no_turn() -> None:
    env = mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue", mcp=COMMAND)
    codec: Any = env.unwrapped.codec  # type: ignore[attr-defined]
    counts = set()
    for call in (("forge", {}), ("shout", {"size": 4})):
        env.reset(seed=0)
        act = [*codec.encode_response(written(call)), codec.eos_token_id]
        obs, *_ = env.step(act)
        counts.add(sum(int(i) in set(codec._specials.values()) for i in obs))
    assert len(counts) == 1


# -- as a setting of the task ---------------------------------------------------------------------


def on_the_server(text: str, *steps: tuple[str, dict[str, Any]], answer: str) -> ToolUseProblem:
    return ToolUseProblem((), 1, Request(text, tuple((step,) for step in steps), answer))


@functools.cache
def task() -> ToolUseTask:
    return ToolUseTask("keyvalue", mcp=COMMAND, mcp_timeout_s=200.0)


def test_its_tools_are_on_offer_beside_ours() -> None:
    problem = task().sample(np.random.default_rng(3))
    prompt = task().prompt(problem)[0]["content"]  # type: ignore[index]
    assert '"write_note"' in prompt
    assert '"set_value"' in prompt
    assert task().nondeterministic
    assert not ToolUseTask.nondeterministic
    reward, _ = solve(task(), problem)
    assert reward.score == 1.0
    assert reward.metadata["deterministic"] is False


def test_a_request_that_its_tools_answer() -> None:
    problem = on_the_server("What is 2 + 3?", ("add", {"a": 2, "b": 3}), answer="5")
    for texts, score in task().examples(problem).items():
        episode = task().start(problem)
        replies = [episode.respond(text) for text in texts]
        assert isinstance(replies[-1], Reward)
        assert replies[-1].score == score


@pytest.mark.parametrize("tool", ["die", "hang"])
def test_a_broken_server_leaves_the_episode_unmeasured(tool: str) -> None:
    quick = ToolUseTask("keyvalue", mcp=COMMAND, mcp_timeout_s=1.0 if tool == "hang" else 200.0)
    problem = quick.sample(np.random.default_rng(3))
    reward = quick.start(problem).respond(written((tool, {})))
    assert isinstance(reward, Reward)
    assert reward.score is None
    assert reward.metadata["failure"]


def test_an_environment_says_that_it_was_not_scored() -> None:
    env = mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue", mcp=COMMAND)
    env.reset(seed=0)
    codec = env.unwrapped.codec  # type: ignore[attr-defined]
    act = [*codec.encode_response(written(("die", {}))), codec.eos_token_id]
    _, reward, terminated, _, info = env.step(act)
    assert (reward, terminated, info["scored"]) == (0.0, True, False)
    assert info["metadata"]["deterministic"] is False
    assert json.loads(env.spec.to_json())["kwargs"]["mcp"] == COMMAND  # type: ignore[union-attr]
    assert settings_of("mint/ToolUse-v0")["mcp"].default is None


def test_the_tools_are_listed_once() -> None:
    assert tools_of(COMMAND) is tools_of(COMMAND)
