"""The server: right rewards, and workers that are lost."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest
from odd_tasks import kill
from server_requests import raw
from serving import serving

import mint_envs
from mint_envs import Reward, TokenEnv
from mint_envs.client import Client
from mint_envs.executors.processes import Processes
from mint_envs.serve import Settings

# -- rewards --------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", ["mint/Math-v0", "mint/Code-v0", "mint/Chat-v0"])
def test_a_reward_is_the_one_that_step_gives(client: Client, env: str) -> None:
    local = mint_envs.make(env).unwrapped
    assert isinstance(local, TokenEnv)
    for seed in (0, 7):
        local.reset(seed=seed)
        (shown,) = client.prompts(env, [seed])
        assert shown.prompt == local.task.prompt(local.problem)
        assert shown.problem_id == local.task.problem_id(local.problem)
        examples = local.task.examples(local.problem)
        rewards = client.score(env, [(seed, text) for text in examples])
        assert [reward.score for reward in rewards] == list(examples.values())
        assert rewards == local.task.score_batch([(local.problem, text) for text in examples])


def test_episodes_of_several_turns(client: Client) -> None:
    env = mint_envs.make("mint/ToolUse-v0").unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        for texts, wanted in env.task.examples(env.problem).items():
            texts = (texts,) if isinstance(texts, str) else texts
            with client.session("mint/ToolUse-v0", seed=seed) as session:
                episode = env.task.start(env.problem)
                for text in texts:
                    answer, right = session.respond(text), episode.respond(text)
                    assert answer == right
            assert session.reward is not None
            assert session.reward.score == wanted
            assert client.score("mint/ToolUse-v0", [(seed, texts)])[0] == session.reward


def test_unmeasured_stays_none(client: Client) -> None:
    rewards = client.score("tests/Odd-v0", [(0, "unmeasured"), (0, "no")])
    assert [reward.score for reward in rewards] == [None, 0.0]
    assert rewards[0].metadata["reason"] == "no judge"


def test_odd_metadata_is_json(client: Client) -> None:
    (reward,) = client.score("tests/Odd-v0", [(0, "nan")])
    assert reward.metadata == {"odd": "nan", "set": [1], "text": "\ud800"}


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\U0001f600", "\u2028", "é" * 1000])
def test_any_text_survives(client: Client, text: str) -> None:
    (reward,) = client.score("mint/Math-v0", [(1, text)])
    assert (
        reward
        == mint_envs.score_batch(
            (task := mint_envs.make("mint/Math-v0").unwrapped.task),
            [(task.sample(np.random.default_rng(1)), text)],
        )[0]
    )


def test_graders(client: Client) -> None:
    assert client.grade("math", [{"gold": "1/2", "response": "0.5"}])[0].score == 1
    program = {"response": "def f(x):\n    return x + 1", "tests": [["f(1)", 2], ["f(2)", 4]]}
    half = client.grade("code", [{**program, "partial_credit": True}, program])
    assert [reward.score for reward in half] == [0.5, 0.0]
    call = {"name": "a", "arguments": {"x": 1}}
    assert client.grade("tooluse", [{"wanted": [call], "made": [call]}])[0].score == 1
    asked = {"response": "no, comma", "instructions": [["punctuation:no_comma", {}]]}
    assert client.grade("chat", [asked])[0].score == 0


def test_batches_keep_their_order(client: Client) -> None:
    task = mint_envs.make("mint/Math-v0").unwrapped.task
    answers = [task.sample(np.random.default_rng(i)).answer for i in range(300)]
    pairs = [(i, answers[i] if i % 3 else "no") for i in range(300)]
    assert [r.score for r in client.score("mint/Math-v0", pairs)] == [
        float(bool(i % 3)) for i in range(300)
    ]


# -- workers that are lost ------------------------------------------------------------------------


def test_a_killed_worker_loses_nothing(client: Client, workers: Processes) -> None:
    before = workers.replaced
    with client.session("tests/Count-v0", seed=5) as session, ThreadPoolExecutor(1) as threads:
        total = int(str(session.prompt).split()[-1].rstrip("."))
        pairs = [(i, f"sleep {i % 3 / 50}") for i in range(100)]
        scores = threads.submit(client.score, "tests/Odd-v0", pairs)
        for number in range(1, total + 1):
            kill(workers, number)
            answer = session.respond(str(number))
        assert [reward.score for reward in scores.result()] == [0.0] * 100
    assert isinstance(answer, Reward)
    assert answer.score == 1.0
    assert workers.replaced >= before + 2


def test_a_response_that_kills_each_worker_is_unmeasured(client: Client) -> None:
    rewards = client.score("tests/Odd-v0", [(0, "no"), (0, "die"), (0, "no")])
    assert [reward.score for reward in rewards] == [0.0, None, 0.0]
    assert "lost" in rewards[1].metadata["reason"]


def test_a_late_worker_is_unmeasured_and_replaced() -> None:
    pool = Processes(1, deadline_s=60.0)
    try:
        with serving(Settings(offers=("tests/Odd-v0",)), pool) as url, Client(url) as client:
            assert client.score("tests/Odd-v0", [(0, "no")])[0].score == 0.0
            pool._deadline_s = 0.5
            assert client.score("tests/Odd-v0", [(0, "sleep 100")])[0].score is None
            pool._deadline_s = 60.0
            assert client.score("tests/Odd-v0", [(0, "no")])[0].score == 0.0
    finally:
        pool.close()


def test_a_killed_sandbox_worker_changes_nothing(client: Client, workers: Processes) -> None:
    program = "def f(x):\n    return x + {}"
    items = [{"response": program.format(i), "tests": [["f(1)", 5]]} for i in range(60)]
    client.grade("code", items[:2])
    killed = []
    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(client.grade, "code", items)
        while not work.done() and len(killed) < 12:  # a machine that is busy starts them slowly
            killed += [
                zygote for pid in workers.pids for zygote in zygotes(pid)[:1] if dead(zygote)
            ]
            time.sleep(0.1)
        scores = [reward.score for reward in work.result()]
    assert killed
    assert scores == [float(i == 4) for i in range(60)]


def zygotes(pid: int) -> list[psutil.Process]:
    """The sandbox workers of a scoring worker."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def dead(process: psutil.Process) -> bool:
    """Kill -9; return whether it was there to be killed."""
    try:
        process.kill()
    except psutil.Error:
        return False
    return True


def test_a_fault_of_a_task_is_500_and_the_server_goes_on(url: str, client: Client) -> None:
    body = {"env": "tests/Odd-v0", "items": [{"seed": 1, "response": "raise"}]}
    answer = raw(url, "/v1/score", json.dumps(body))
    assert (answer.status_code, "Traceback" in answer.text) == (500, False)
    assert client.score("tests/Odd-v0", [(0, "no")])[0].score == 0.0
