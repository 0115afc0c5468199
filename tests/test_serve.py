"""The server: right rewards, limits, and the client."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from odd_tasks import Chance, Count, Odd, kill
from serving import running, serving

import mint_envs
from mint_envs import Reward, TokenEnv
from mint_envs.cli import main
from mint_envs.client import Busy as ServerBusy
from mint_envs.client import (
    Client,
    RequestRefused,
    SessionLost,
    TokenRefused,
    Unreachable,
)
from mint_envs.errors import SettingError
from mint_envs.executors import Local
from mint_envs.processes import Processes
from mint_envs.serve import Settings
from mint_envs.serve.catalog import HARMLESS, Catalog
from mint_envs.serve.sessions import Session, Sessions
from mint_envs.serve.settings import check_host, read_token
from mint_envs.serve.wire import read_json
from mint_envs.serve.work import Busy, Ref

TOKEN = "a-token-of-enough-letters"

mint_envs.register("tests/Odd-v0", Odd)
mint_envs.register("tests/Count-v0", Count)
mint_envs.register("tests/Chance-v0", Chance)


@pytest.fixture(scope="module")
def workers() -> Iterator[Processes]:
    pool = Processes(2, deadline_s=20)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def url(workers: Processes) -> Iterator[str]:
    with serving(Settings(max_body=200_000, read_s=1.0), workers) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, timeout_s=60) as client:
        yield client


def raw(url: str, path: str, content: str | bytes, **headers: str) -> httpx.Response:
    headers = {"content-type": "application/json", **headers}
    return httpx.post(url + path, content=content, headers=headers, timeout=60)


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
    pool = Processes(1, deadline_s=8.0)
    try:
        with serving(Settings(offers=("tests/Odd-v0",)), pool) as url, Client(url) as client:
            assert client.score("tests/Odd-v0", [(0, "no")])[0].score == 0.0
            assert client.score("tests/Odd-v0", [(0, "sleep 100")])[0].score is None
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


# -- sessions -------------------------------------------------------------------------------------


def test_a_response_sent_twice_counts_once(url: str, client: Client) -> None:
    session = client.session("tests/Count-v0", seed=5)
    path = f"/v1/sessions/{session.id}/respond"
    body = json.dumps({"response": "1", "turn": 0})
    first, again = raw(url, path, body), raw(url, path, body)
    assert first.json() == again.json()
    assert raw(url, path, json.dumps({"response": "2", "turn": 0})).status_code == 409
    assert raw(url, path, json.dumps({"response": "9", "turn": 7})).status_code == 409


def test_the_last_answer_can_be_asked_for_again(url: str, client: Client) -> None:
    session = client.session("mint/Math-v0", seed=1)
    path, body = f"/v1/sessions/{session.id}/respond", json.dumps({"response": "1", "turn": 0})
    first, again = raw(url, path, body), raw(url, path, body)
    assert first.json()["done"]
    assert first.json() == again.json()
    over = raw(url, path, json.dumps({"response": "2", "turn": 1}))
    assert (over.status_code, "is over" in over.text) == (409, True)


def test_a_session_takes_one_response_at_a_time(client: Client) -> None:
    session = client.session("tests/Odd-v0", seed=0)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(session.respond, "sleep 1")
        time.sleep(0.3)
        path = f"/v1/sessions/{session.id}/respond"
        assert raw(client.url, path, '{"response": "x"}').status_code == 409
        assert isinstance(slow.result(), Reward)


def test_closed_and_unknown_sessions(client: Client) -> None:
    session = client.session("tests/Count-v0")
    session.close()
    with pytest.raises(SessionLost, match="open another"):
        session.respond("1")


def test_a_cut_response_ends_the_episode(client: Client) -> None:
    answer = client.session("tests/Count-v0", seed=1).respond("1", cut=True)
    assert isinstance(answer, Reward)
    assert answer.score == 0.0


def test_chance_is_not_played_again() -> None:
    """An episode with chance is either under way where its turn comes, or unmeasured."""
    pool = Processes(1)
    try:
        with serving(Settings(offers=("tests/Chance-v0",)), pool) as url, Client(url) as client:
            session = client.session("tests/Chance-v0", seed=5)
            assert session.respond("1") == "1 said"
            kill(pool)
            answer = session.respond("2")
            assert isinstance(answer, Reward)
            assert answer.score is None
    finally:
        pool.close()


def store(**given: Any) -> tuple[Sessions, list[float]]:
    now = [0.0]
    limits = {"most": 3, "idle_s": 10.0, "max_bytes": 2000, **given}
    return Sessions(**limits, clock=lambda: now[0]), now


def opened(sessions: Sessions) -> Session:
    session = Session("e", Count(), Ref("seed", 0))
    sessions.add(session)
    return session


def test_sessions_are_bounded_and_closed_when_idle() -> None:
    sessions, now = store()
    first, second, _ = opened(sessions), opened(sessions), opened(sessions)
    with pytest.raises(Busy) as caught:
        opened(sessions)
    assert caught.value.retry_s == 10.0
    now[0] = 9.0
    sessions.advance(first, "text", False, "reply")
    second.busy = True
    now[0] = 10.5
    sessions.expire()
    assert (sessions.get(first.id), sessions.get(second.id)) == (first, second)
    assert (len(sessions), sessions.expired) == (2, 1)


def test_sessions_are_bounded_in_bytes_and_give_them_back() -> None:
    sessions, _ = store()
    one, other = opened(sessions), opened(sessions)
    sessions.advance(one, "x" * 1000, False, "y" * 400)
    with pytest.raises(Busy, match="MiB"):
        sessions.check_text("x" * 500)
    sessions.advance(one, "x", False, Reward(1.0))
    sessions.close(other.id)
    assert (sessions.bytes, len(sessions)) == (0, 0)


def test_many_open_sessions(client: Client) -> None:
    """Ten thousand are opened by tests/soak_serve.py."""
    count = 200
    with ThreadPoolExecutor(8) as threads:
        open_ = list(threads.map(lambda i: client.session("tests/Count-v0", seed=i), range(count)))
        for session in open_:
            assert session.respond("1") == "1 said"
        totals = [int(str(s.prompt).split()[-1].rstrip(".")) for s in open_]

        def end(session: Any, total: int) -> Any:
            for number in range(2, total + 1):
                answer = session.respond(str(number))
            return answer

        answers = list(threads.map(end, open_, totals))
    assert [answer.score for answer in answers] == [1.0] * count


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [{"dataset": "/etc/passwd"}, {"sandbox": "remote:http://169.254.169.254"}, {"nope": 1},
     {"tokenizer": "x/y"}, {"sandbox_timeout_s": 3600.0}, {"level": "x" * 5000}],
)  # fmt: skip
def test_settings_that_are_not_a_clients(client: Client, setting: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused):
        client.score("mint/Code-v0", [(0, "")], **setting)


def test_settings_that_are(client: Client) -> None:
    (shown,) = client.prompts("mint/Math-v0", [0], digits=9, style="chat")
    assert isinstance(shown.prompt, list)
    with pytest.raises(RequestRefused, match="digits=99"):
        client.prompts("mint/Math-v0", [0], digits=99)


def test_harmless_settings_exist_and_hold_no_path() -> None:
    for id, names in HARMLESS.items():
        assert names <= set(mint_envs.registration.settings_of(id)), id
        assert not names & {"dataset", "sandbox", "url", "judge", "tokenizer", "question_field"}


def test_an_offer_with_a_data_set_is_the_operators_alone(tmp_path: Any) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "2 + 3?", "answer": "5"}\n')
    offers = (f"mine=mint/Math-v0?dataset={rows}&style=chat",)
    with serving(Settings(offers=offers), Local()) as url, Client(url) as client:
        (env,) = client.envs()
        assert (env.name, env.id, env.size, env.yours) == ("mine", "mint/Math-v0", 1, ())
        assert str(tmp_path) not in httpx.get(f"{url}/v1/envs").text
        assert client.score("mine", [(0, "Answer: 5")], by="index")[0].score == 1.0
        with pytest.raises(RequestRefused, match="operator"):
            client.score("mine", [(0, "5")], by="index", style="completion")
        with pytest.raises(RequestRefused, match="has 1 problems"):
            client.score("mine", [(1, "5")], by="index")
        with pytest.raises(RequestRefused, match="GET /v1/envs"):
            client.score("mint/Math-v0", [(1, "5")])


@pytest.mark.parametrize(
    "offers",
    [("mint/Nope-v0",), ("mint/Math-v0", "mint/Math-v0"), ("mint/Math-v0?dataset=no.jsonl",)],
)
def test_offers_that_cannot_be_made(offers: tuple[str, ...]) -> None:
    with pytest.raises((SettingError, mint_envs.errors.DatasetError)):
        Catalog(Settings(offers=offers))


def test_what_cannot_be_made_by_default_is_left_out() -> None:
    mint_envs.register("tests/Needs-v0", "odd_tasks:Needs")
    try:
        catalog = Catalog(Settings())
    finally:
        mint_envs.registration.gym.registry.pop("tests/Needs-v0")
    assert "tests/Needs-v0" in catalog.left_out
    assert "mint/Math-v0" in catalog.offers


def test_the_operator_may_allow_more() -> None:
    catalog = Catalog(Settings(offers=("mint/Math-v0",), allowed=("mint/Math-v0:answer_field",)))
    assert "answer_field" in catalog.offer("mint/Math-v0").free
    with pytest.raises(SettingError, match="no setting 'x'"):
        Catalog(Settings(allowed=("mint/Math-v0:x",)))


@pytest.mark.parametrize(
    "body",
    ['{"env": NaN}', "[", "", '"text"', "[" * 100_000, "null",
     '{"env":"mint/Math-v0","items":[{"seed":1e999,"response":""}]}',
     '{"env":"mint/Math-v0","items":[{"seed":-1,"response":""}]}',
     '{"env":"mint/Math-v0","items":[{"seed":1,"response":null}]}',
     '{"env":"mint/Math-v0","items":[]}',
     '{"env":"mint/Math-v0","items":[{"seed":1,"response":"","more":1}]}',
     '{"env":"mint/Math-v0","items":[{"seed":"1","response":""}]}',
     '{"env":"mint/Math-v0","items":[{"seed":true,"response":""}]}',
     '{"env":"mint/Math-v0","items":[{"seed":1%s,"response":""}]}' % ("0" * 5000),
     b'{"env":"mint/Math-v0\xff"}'],
    ids=range(15),
)  # fmt: skip
def test_broken_requests(url: str, body: str | bytes) -> None:
    answer = raw(url, "/v1/score", body)
    assert answer.status_code == 422
    assert len(answer.json()["detail"]) > 3


def test_deep_tests_of_a_grader(url: str) -> None:
    deep = '{"items":[{"response":"def f(): pass","tests":[["f()",%s]]}]}' % ("[" * 600 + "]" * 600)
    assert raw(url, "/v1/grade/code", deep).status_code in (200, 422)


def test_a_batch_that_is_too_large(url: str) -> None:
    items = [{"gold": "1", "response": "1"}] * 257
    assert raw(url, "/v1/grade/math", json.dumps({"items": items})).status_code == 413


def test_another_host_name_is_refused(url: str) -> None:
    """A web page of evil.example that resolves to 127.0.0.1 gets nothing."""
    assert httpx.get(f"{url}/v1/envs", headers={"host": "evil.example"}).status_code == 403


def test_plain_forms_of_web_pages_are_refused(url: str) -> None:
    body = '{"env":"mint/Math-v0","items":[{"seed":1,"response":""}]}'
    assert raw(url, "/v1/score", body, **{"content-type": "text/plain"}).status_code == 422


# -- tokens ---------------------------------------------------------------------------------------


def test_the_token() -> None:
    with serving(Settings(token=TOKEN, offers=("mint/Math-v0",)), Local()) as url:
        assert httpx.get(f"{url}/healthz").status_code == 200
        for path in ("/v1/envs", "/metrics", "/docs", "/openapi.json", "/nope"):
            assert httpx.get(url + path).status_code == 401
        for given in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"):
            answer = httpx.get(f"{url}/v1/envs", headers={"authorization": given.encode("latin-1")})
            assert answer.status_code == 401
        with Client(url, "wrong" * 5) as client, pytest.raises(TokenRefused, match="Bearer"):
            client.envs()
        with Client(url, TOKEN) as client:
            assert client.score("mint/Math-v0", [(0, "x")])[0].score == 0.0


def test_no_token_no_service_to_others(tmp_path: Any) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with pytest.raises(SettingError, match="token"):
            check_host(host, "")
        check_host(host, TOKEN)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_host(host, "")
    for token in ("short", "a" * 20 + "\n", "ä" * 20):
        with pytest.raises(SettingError, match="token"):
            Settings(token=token)
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o604)
    with pytest.raises(SettingError, match="chmod 600"):
        read_token(path, "")
    path.chmod(0o600)
    assert read_token(path, "other") == TOKEN
    with pytest.raises(SettingError, match="cannot be read"):
        read_token(tmp_path / "none", "")


# -- the client -----------------------------------------------------------------------------------


def test_no_server() -> None:
    with (
        Client("http://127.0.0.1:9", timeout_s=2) as client,
        pytest.raises(Unreachable, match="serve"),
    ):
        client.envs()


def test_a_token_does_not_go_out_in_clear() -> None:
    with pytest.raises(SettingError, match="in clear"):
        Client("http://example.org", TOKEN)
    Client("http://example.org", TOKEN, insecure=True).close()
    with pytest.raises(SettingError, match="address"):
        Client("example.org")


def test_numbers_that_are_no_json(client: Client) -> None:
    with pytest.raises(RequestRefused, match="finite"):
        client.score("mint/Math-v0", [(0, "")], format_credit=math.nan)


def test_the_client_waits_for_a_busy_server() -> None:
    tries = []

    def answer(request: httpx.Request) -> httpx.Response:
        tries.append(request)
        if len(tries) < 3:
            return httpx.Response(429, json={"detail": "busy"}, headers={"retry-after": "0.1"})
        return httpx.Response(200, json={"rewards": [{"score": None, "parts": {}, "metadata": {}}]})

    with Client(transport=httpx.MockTransport(answer)) as client:
        assert client.score("e", [(1, "x")])[0].score is None
    assert len(tries) == 3
    tries.clear()
    client = Client(transport=httpx.MockTransport(answer), patience_s=0)
    with client, pytest.raises(ServerBusy):
        client.envs()


def test_the_page_and_the_numbers(url: str, client: Client) -> None:
    client.score("mint/Math-v0", [(0, "x")])
    page = httpx.get(f"{url}/docs")
    assert "/v1/sessions/{id}/respond" in page.text
    assert "http://" not in page.text  # nothing is loaded from elsewhere
    assert "https://" not in page.text
    numbers = httpx.get(f"{url}/metrics").text
    assert 'mint_rewards_total{env="mint/Math-v0",measured="yes"}' in numbers
    assert httpx.get(f"{url}/nope/123").status_code == 404
    assert "/nope" not in httpx.get(f"{url}/metrics").text


def test_too_much_work_is_429_and_says_when_to_come_again(workers: Processes) -> None:
    settings = Settings(offers=("tests/Odd-v0",), max_batch=4, max_waiting=4)
    body = json.dumps({"env": "tests/Odd-v0", "items": [{"seed": 0, "response": "sleep 0.5"}] * 4})
    with serving(settings, workers) as url, ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: raw(url, "/v1/score", body), range(6)))
        assert sorted({answer.status_code for answer in answers}) == [200, 429]
        busy = next(answer for answer in answers if answer.status_code == 429)
        assert int(busy.headers["retry-after"]) >= 1
        with Client(url) as client:  # and the client does
            work = [threads.submit(client.score, "tests/Odd-v0", [(0, "sleep 0.1")] * 4)
                    for _ in range(4)]  # fmt: skip
            assert [one.result()[0].score for one in work] == [0.0] * 4


def test_the_loop_is_not_held_up_by_work(url: str, client: Client) -> None:
    with ThreadPoolExecutor(2) as threads:
        slow = [threads.submit(client.score, "tests/Odd-v0", [(0, "sleep 2")]) for _ in range(2)]
        began = time.monotonic()
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert time.monotonic() - began < 1.5
        assert [one.result()[0].score for one in slow] == [0.0, 0.0]


def test_a_graceful_stop_finishes_what_is_in_work(workers: Processes) -> None:
    settings = Settings(offers=("tests/Odd-v0",))
    threads = ThreadPoolExecutor(1)
    with threads, running(settings, workers) as (url, server), Client(url) as client:
        slow = threads.submit(client.score, "tests/Odd-v0", [(0, "sleep 1.5")])
        time.sleep(0.5)
        server.should_exit = True
        assert slow.result()[0].score == 0.0


_ZEROS = ",".join(["0"] * 90_000)
_NAMES = ",".join(f'"a{i}":[]' for i in range(12_000))


def test_a_body_of_very_many_values_is_not_read() -> None:
    """A million empty lists in four megabytes take a second, in which nobody else is served."""
    with pytest.raises(json.JSONDecodeError, match="values"):
        read_json(b"[" + b"[]," * 1_000_000 + b"[]]")
    assert len(read_json(b"[" + b"[]," * 100_000 + b"[]]")) == 100_001


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/score", f'{{"env":"mint/Math-v0","items":[{_ZEROS}]}}'),
        ("/v1/score", f"{{{_NAMES}}}"),
        ("/v1/score", f'{{"env":"mint/Math-v0","settings":{{{_NAMES}}},"items":[]}}'),
        ("/v1/grade/tooluse", f'{{"items":[{{"wanted":[{_ZEROS}],"made":[]}}]}}'),
    ],
    ids=range(4),
)
def test_many_faults_in_one_request_are_one_answer(url: str, path: str, body: str) -> None:
    """Each could be an error of its own, with hundreds of bytes."""
    began = time.monotonic()
    answer = raw(url, path, body)
    assert answer.status_code == 422
    assert len(answer.content) < 2500
    assert time.monotonic() - began < 10


def test_the_python_of_the_docs_runs(url: str, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "serve.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        script = tmp_path / "block.py"
        script.write_text(block.replace("http://127.0.0.1:8421", url), encoding="utf-8")
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_two_hundred_clients_at_once() -> None:
    """The long check, in short: no reward wrong or lost, workers killed, enemies about."""
    script = Path(__file__).with_name("soak_serve.py")
    options = ["--seconds", "5", "--clients", "200", "--sessions", "100"]
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong 0, errors 0" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "MINT_SERVE_TOKEN"),
        (["--offer", "mint/Mth-v0"], "Did you mean 'mint/Math-v0'?"),
        (["--import", "no_such_module"], "no_such_module"),
        (["--executor", "threads", "--port", "0"], "Valid: local, processes, ray"),
        (["--executor", "local", "--port", "0"], "hold up"),
        (["--max-batch", "0"], "must be above 0"),
        (["--host", "203.0.113.7", "--token-file", "none"], "cannot be read"),
    ],
)
def test_the_command_says_what_is_wrong(options: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["serve", *options])
    assert done.exit_code == 2
    assert said in done.output


def test_an_address_that_is_taken(url: str) -> None:
    port = url.rpartition(":")[2]
    done = CliRunner().invoke(main, ["serve", "--port", port])
    assert (done.exit_code, "Choose another port" in done.output) == (2, True)
