"""The judge over HTTP, against a service on loopback that misbehaves in every way we know of."""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judge_server import FAULTS, LONG, JudgeServer, judge_server

import mint_envs
from mint_envs.chat import Answer, ChatProblem, ChatTask, Question
from mint_envs.chat.judge.http import Endpoint, HTTPJudge
from mint_envs.errors import SettingError

#: A time limit that runs out in the moment in which a connection is made loses that socket until it
#: is collected: ``anyio.connect_tcp`` drops the stream that it has when it is cancelled. It takes a
#: limit of tenths of a second and a busy machine. Nothing else may be lost.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Exception ignored in. <(socket|function _SelectorTransport.__del__)"
    ":pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Lost sockets are collected here, and not in the tests of another file."""
    yield
    gc.collect()


KEY_ENV = "TESTS_JUDGE_KEY"
KEY = "sk-tests-0123456789abcdef"
CHOICES = ("bad", "fair", "good")
LONG_FORM = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def rule(data: Any) -> str:
    """Never "bad", so that a 0 can only come from a fault."""
    return CHOICES[1 + hashlib.sha256(data["answer"].encode()).digest()[0] % 2]


def endpoint(server: JudgeServer, **settings: Any) -> Endpoint:
    quick = {"concurrency": 8, "retries": 4, "timeout_s": 9.0, "backoff_s": 0.005}
    return Endpoint(server.url, "tests/model", KEY_ENV, **{**quick, **settings})


def questions(number: int, start: int = 0) -> list[Question]:
    return [
        Question("Judge it.", "Be fair.", CHOICES, (("request", "Say hi."), ("answer", f"hi {i}")))
        for i in range(start, start + number)
    ]


def answers(judge: HTTPJudge, asked: list[Question]) -> list[Answer]:
    found = dict(judge.ask(asked))
    assert sorted(found) == list(range(len(asked)))
    return [found[i] for i in range(len(asked))]


def problems(number: int) -> list[tuple[ChatProblem, str]]:
    return [(ChatProblem("Say hi.", "Say hi.", ()), f"hi {i}") for i in range(number)]


def task(server: JudgeServer, cache: Path | str, **settings: Any) -> ChatTask:
    quick = {"judge_retries": 3, "judge_timeout_s": 9.0, "judge_choices": ", ".join(CHOICES)}
    where = {"judge": server.url, "judge_model": "tests/model", "judge_cache": str(cache)}
    return ChatTask(**{**quick, **where, **settings})


@pytest.fixture(autouse=True)
def quick_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint_envs.chat.judge.settings.BACKOFF_S", 0.005)


# -- one fault at a time ------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_leaves_no_mark(fault: str) -> None:
    with judge_server(rule, lambda fence: (fault,)) as server:
        asked = questions(1)
        limit = 0.3 if fault in LONG else 30.0
        (answer,) = answers(HTTPJudge(endpoint(server, timeout_s=limit)), asked)
    assert asked[0].read(answer.text) == rule({"answer": "hi 0"})
    assert server.faults[fault] == 1 or fault in LONG
    assert server.strays == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_unmeasured_and_never_zero(fault: str, tmp_path: Path) -> None:
    with judge_server(rule, lambda fence: (fault, "always")) as server:
        limit = 0.3 if fault in LONG else 30.0
        judged = task(server, tmp_path, judge_retries=2, judge_timeout_s=limit)
        (reward,) = judged.score_batch(problems(1))
    assert reward.score is None
    assert reward.metadata["error"]
    # On a busy machine a request may be given up before it has arrived.
    assert server.faults[fault] == 3 or fault in LONG
    assert server.strays == []
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_asking_again_does_not_help_is_asked_once(status: int, tmp_path: Path) -> None:
    FAULTS[str(status)] = lambda handler, fence: handler.reply(b"{}", status)
    try:
        with judge_server(rule, lambda fence: (str(status), "always")) as server:
            reward = task(server, tmp_path, judge_key_env=KEY_ENV).score_batch(problems(1))[0]
    finally:
        del FAULTS[str(status)]
    assert reward.score is None
    assert str(status) in reward.metadata["error"]
    assert sum(server.requests.values()) == 1
    if status == 401:  # say what to do
        assert KEY_ENV in reward.metadata["error"]


def test_a_service_that_is_not_there_is_unmeasured(tmp_path: Path) -> None:
    with judge_server(rule) as server:
        gone = task(server, tmp_path, judge_retries=1)
    rewards = gone.score_batch(problems(3))
    assert [reward.score for reward in rewards] == [None] * 3
    env = mint_envs.make(
        "mint/Chat-v0", judge=server.url, judge_model="m", judge_cache=str(tmp_path),
        judge_retries=0,
    )  # fmt: skip
    env.reset(seed=0)
    answer = env.unwrapped.problem.answer  # type: ignore[attr-defined]
    *_, info = env.step(list(answer.encode()))
    assert not info["scored"]
    assert info["metadata"]["error"] == "the connection failed (ConnectError)"


def test_an_answer_that_was_cut_says_what_to_do(tmp_path: Path) -> None:
    with judge_server(rule, lambda fence: ("cut short", "always")) as server:
        (reward,) = task(server, tmp_path, judge_retries=0).score_batch(problems(1))
    assert "raise max_tokens by judge_options" in reward.metadata["error"]


def test_the_whole_address_will_do(tmp_path: Path) -> None:
    with judge_server(rule) as server:
        url = f"{server.url}/chat/completions/"
        assert task(server, tmp_path, judge=url).score_batch(problems(1))[0].measured
    assert server.strays == []


def test_retry_after_is_waited_out() -> None:
    FAULTS["in a second"] = lambda handler, fence: handler.reply(b"", 429, Retry_After="1")
    FAULTS["tomorrow"] = lambda handler, fence: handler.reply(b"", 503, Retry_After="86400")
    try:
        with judge_server(rule, lambda fence: ("in a second",)) as server:
            assert not answers(HTTPJudge(endpoint(server)), questions(1))[0].error
        ((first, second),) = server.times.values()
        assert second - first >= 1.0
        with judge_server(rule, lambda fence: ("tomorrow",)) as server:
            error = answers(HTTPJudge(endpoint(server)), questions(1))[0].error
        assert "to come back in 86400 s" in error
    finally:
        del FAULTS["in a second"], FAULTS["tomorrow"]


def test_the_whole_request_has_one_limit() -> None:
    """A byte now and then keeps no request alive."""
    for fault in LONG:
        with judge_server(rule, lambda fence, fault=fault: (fault, "always")) as server:
            start = time.monotonic()
            judge = HTTPJudge(endpoint(server, retries=1, timeout_s=0.2))
            assert answers(judge, questions(4))[0].error
            assert time.monotonic() - start < 5


# -- many at a time -----------------------------------------------------------------------------

#: One answer in fifty gets no verdict however often it is asked.
LOST = 50
QUICK = sorted(set(FAULTS) - set(LONG) - {"huge"})


def many_faults(fence: str) -> tuple[str, ...]:
    number = int(fence[-8:], 16)
    if number % LOST == 0:
        return (QUICK[number // LOST % len(QUICK)], "always")
    if LONG_FORM and number % 97 == 0:
        return (LONG[number // 97 % len(LONG)],)
    pool = [*QUICK, "slow", "slow"]
    return tuple(pool[(number >> 8 * i) % len(pool)] for i in range(number % 3))


def test_many_scorings_lose_none(tmp_path: Path) -> None:
    """Four threads score the same responses, each twice over; each is judged once.

    HYPOTHESIS_PROFILE=long makes it ten thousand.
    """
    number = 10_000 if LONG_FORM else 100
    pairs = problems(number)
    with judge_server(rule, many_faults) as server:
        judged = task(server, tmp_path, judge_concurrency=16, judge_timeout_s=20.0)
        scored: list[list[Any]] = []
        threads = [
            threading.Thread(target=lambda: scored.append(judged.score_batch([*pairs, *pairs])))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        fences = {json.dumps(body["messages"]): None for body in server.bodies}
        again = judged.score_batch(pairs)
    assert len(scored) == 4
    assert len(fences) == number
    lost = 0
    for (_, answer), *rewards in zip(pairs, *(run[:number] for run in scored), strict=True):
        wanted = CHOICES.index(rule({"answer": answer})) / 2
        scores = {reward.score for reward in rewards}
        assert scores in ({wanted}, {None})
        lost += None in scores
    assert all(run[:number] == run[number:] for run in scored)
    assert 0 < lost < number / 20
    assert set(server.verdicts.values()) == {1}
    assert len(server.verdicts) == number - lost
    assert [reward.score for reward in again] == [reward.score for reward in scored[0][:number]]
    assert server.peak <= 16
    assert server.strays == []
    assert len(server.faults) > len(QUICK) * 0.8


def test_the_bound_on_requests_is_reached_and_kept() -> None:
    """Whatever number of threads and tasks ask."""
    with judge_server(rule, pause_s=0.03) as server:
        made = [task(server, "off", judge_concurrency=5) for _ in range(4)]
        threads = [
            threading.Thread(target=one.score_batch, args=(problems(90)[20 * i : 20 * i + 20],))
            for i, one in enumerate(made)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.peak == 5
    assert sum(server.verdicts.values()) == 80


def test_equal_requests_in_flight_are_made_once() -> None:
    """With no cache at all."""
    with judge_server(rule, pause_s=0.3) as server:
        judged = task(server, "off")
        threads = [threading.Thread(target=judged.score_batch, args=(problems(3),))
                   for _ in range(6)]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(server.verdicts.values()) == {1}
        judged.score_batch(problems(3))
        assert set(server.verdicts.values()) == {2}


def test_other_processes_find_the_verdicts(tmp_path: Path) -> None:
    """A fresh process, and a forked child whose parent had a client of its own."""
    with judge_server(rule) as server:
        judged = task(server, tmp_path)
        before = judged.score_batch(problems(20))
        code = (
            "import pickle, sys; task, pairs = pickle.load(sys.stdin.buffer)\n"
            "pickle.dump(task.score_batch(pairs), sys.stdout.buffer)"
        )
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
            input=pickle.dumps((judged, problems(25))), capture_output=True, check=True,
        )  # fmt: skip
        assert pickle.loads(done.stdout)[:20] == before
        assert set(server.verdicts.values()) == {1}
        assert len(server.verdicts) == 25


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_asks_for_itself(tmp_path: Path) -> None:
    with judge_server(rule) as server:
        judged = task(server, tmp_path)
        judged.score_batch(problems(2))
        child = os.fork()
        if child == 0:
            scores = [reward.score for reward in judged.score_batch(problems(4))]
            os._exit(0 if None not in scores else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(server.verdicts) == 4


def test_stopping_early_stops_the_requests() -> None:
    with judge_server(rule, lambda fence: ("hang",) if fence[-1] in "01234567" else ()) as server:
        asked = iter(HTTPJudge(endpoint(server, concurrency=2, timeout_s=9.0)).ask(questions(300)))
        start = time.monotonic()
        next(asked)
        asked.close()  # type: ignore[attr-defined]
        time.sleep(0.2)
        seen = sum(server.requests.values())
        time.sleep(0.2)
        assert sum(server.requests.values()) == seen < 300
        assert time.monotonic() - start < 5


# -- what is sent -------------------------------------------------------------------------------


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    options = {"temperature": None, "seed": 7}
    with judge_server(rule) as server:
        judged = task(server, tmp_path, judge_key_env=KEY_ENV, judge_options=options)
        judged.score_batch(problems(1))
        monkeypatch.delenv(KEY_ENV)
        judged.score_batch(problems(2))
    first = server.bodies[0]
    assert {k: v for k, v in first.items() if k != "messages"} == {
        "max_tokens": 1024, "model": "tests/model", "seed": 7,
    }  # fmt: skip
    assert server.keys == {f"Bearer {KEY}", ""}


def test_the_key_is_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in rewards, logs, objects or files, even if the service sends it back."""
    monkeypatch.setenv(KEY_ENV, KEY)
    caplog.set_level(logging.DEBUG)
    FAULTS["echo"] = lambda handler, fence: handler.reply(
        handler.headers["Authorization"].encode(), 500
    )
    FAULTS["echo 400"] = lambda handler, fence: handler.reply(
        handler.headers["Authorization"].encode(), 400
    )
    FAULTS["echo, no HTTP"] = lambda handler, fence: (
        handler.wfile.write(handler.headers["Authorization"].encode() + b"\r\n\r\n"),
        handler.drop(),
    )[0]  # fmt: skip
    plans = iter([("echo", "always"), ("echo 400", "always"), ("echo, no HTTP", "always"), ()])
    chosen: dict[str, tuple[str, ...]] = {}
    try:
        with judge_server(
            rule, lambda fence: chosen[fence] if fence in chosen else chosen.setdefault(
                fence, next(plans))
        ) as server:  # fmt: skip
            judged = task(server, tmp_path, judge_key_env=KEY_ENV, judge_retries=1)
            rewards = [judged.score(*pair) for pair in problems(4)]
    finally:
        for name in ("echo", "echo 400", "echo, no HTTP"):
            del FAULTS[name]
    assert [reward.score is None for reward in rewards] == [True, True, True, False]
    assert server.keys == {f"Bearer {KEY}"}
    kept = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    seen = [repr(rewards), caplog.text, repr(judged.__dict__), kept,
            pickle.dumps(judged).decode("latin-1")]  # fmt: skip
    assert "tests/model" in kept
    assert not any(KEY in text or KEY[3:] in text for text in seen)


def test_a_key_that_no_header_can_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, f"{KEY}\n{KEY}")
    with pytest.raises(SettingError, match=KEY_ENV) as caught:
        ChatTask(judge="http://localhost:9/v1", judge_model="m", judge_cache="off",
                 judge_key_env=KEY_ENV)  # fmt: skip
    assert KEY not in str(caught.value)
