"""Sessions that any process goes on with: what is signed, what is refused, and what is held."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_tasks import Chance, Count, Odd, Secret, Slow, kill
from server_requests import KEY, raw
from serving import serving

import mint_envs
from mint_envs import Reward
from mint_envs.client import Client, SessionLost, Unreachable
from mint_envs.executors.processes import Processes
from mint_envs.problems import ProblemRef, examples_of
from mint_envs.serve import Settings
from mint_envs.serve.played import PlayedTurns
from mint_envs.serve.references import SessionRef, Signer, StaleReference
from mint_envs.serve.work import Home

mint_envs.register("tests/Odd-v0", Odd)
mint_envs.register("tests/Count-v0", Count)
mint_envs.register("tests/Chance-v0", Chance)
mint_envs.register("tests/Secret-v0", Secret)
mint_envs.register("tests/Slow-v0", Slow)

OFFERS = ("tests/Count-v0", "tests/Chance-v0", "tests/Secret-v0", "tests/Slow-v0",
          "mint/ToolUse-v0", "mint/Math-v0")  # fmt: skip


class Balancer(httpx.BaseTransport):
    """Sends each request to the one of several servers whose turn it is, by ``order``."""

    def __init__(self, urls: tuple[str, ...], order: str = "001101000101110") -> None:
        self._urls = itertools.cycle([urls[int(number)] for number in order])
        self._transport = httpx.HTTPTransport()
        self.sent: list[httpx.URL] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        to = httpx.URL(next(self._urls))
        request.url = request.url.copy_with(host=to.host, port=to.port)
        self.sent.append(request.url)
        return self._transport.handle_request(request)

    def close(self) -> None:
        self._transport.close()


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[str, str]]:
    """Two servers with one key, which share nothing else."""
    settings = Settings(offers=OFFERS, session_key=KEY, executor="processes:1")
    with serving(settings) as one, serving(settings) as other:
        yield one, other


def turns(url: str) -> dict[str, float]:
    """Return how many turns were played in an episode that was under way, or played again."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("mint_turns_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


def test_a_session_goes_from_one_server_to_the_other(two: tuple[str, str]) -> None:
    """Each turn is played by another, and every reward is the one that is right."""
    task = mint_envs.make("mint/ToolUse-v0").unwrapped.task
    balancer = Balancer(two)
    with Client("http://127.0.0.1", transport=balancer) as client:
        for seed in range(4):
            for texts, wanted in examples_of(task, ProblemRef(seed=seed).of(task)).items():
                session = client.session("mint/ToolUse-v0", seed=seed)
                episode = task.start(ProblemRef(seed=seed).of(task))
                assert session.movable
                for text in texts:
                    assert session.respond(text) == episode.respond(text)
                assert session.reward is not None
                assert session.reward.score == wanted
    assert sum(turns(url).get("played_again", 0) for url in two) >= 2


def test_a_server_that_is_away_is_waited_for() -> None:
    """A restart in the middle of an episode costs the client a moment, and no more."""
    pool = Processes(1)
    settings = Settings(offers=OFFERS, session_key=KEY)
    try:
        with serving(settings, pool) as url:
            client = Client(url, patience_s=120)
            session = client.session("tests/Count-v0", seed=5)
            assert session.respond("1") == "1 said"
        with client, ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(session.respond, "2")
            time.sleep(0.6)
            with serving(settings, pool, int(url.rpartition(":")[2])):
                assert waiting.result(120) == "2 said"
    finally:
        pool.close()


def test_patience_ends() -> None:
    with Client("http://127.0.0.1:9", patience_s=0.3) as client:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="for patience_s"):
            client.envs()
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("status", [502, 503, 504])
def test_what_a_balancer_says_without_a_server_is_no_answer(status: int) -> None:
    told = iter([status, status, 200])

    def answer(_: httpx.Request) -> httpx.Response:
        code = next(told)
        return httpx.Response(code, json={"envs": []} if code == 200 else None)

    with Client(transport=httpx.MockTransport(answer)) as client:
        assert client.envs() == []


# -- what is signed -------------------------------------------------------------------------------

REF = SessionRef("mint/Math-v0", {"digits": 3}, "offer", 7, None, "episode", "heard", 1000)
PLAIN = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())


@given(st.dictionaries(st.text(), PLAIN, max_size=3), st.text(), st.lists(st.text(), max_size=3))
def test_references_come_back(settings: dict[str, Any], env: str, said: list[str]) -> None:
    signer = Signer(b"key", 10.0, lambda: 1000.0)
    ref = replace(REF, settings=settings, env=env)
    for response in said:
        ref = ref.after(response, "reply", 1000)
    assert signer.read(signer.sign(ref)) == ref


@given(st.data())
def test_a_changed_letter_is_seen(data: st.DataObject) -> None:
    signer = Signer(b"key", 10.0, lambda: 1000.0)
    text = signer.sign(REF)
    at = data.draw(st.integers(2, len(text) - 1))
    letter = data.draw(st.characters().filter(lambda c: c != text[at]))
    with pytest.raises(StaleReference):
        signer.read(text[:at] + letter + text[at + 1 :])


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "not one of this server"), ("2.abc.def", "version 2 of the wire"), ("1..", "another key"),
     ("1." + "A" * 40_000, "another key"), ("\ud800", "another key")],
)  # fmt: skip
def test_what_is_no_reference(text: str, said: str) -> None:
    with pytest.raises(StaleReference, match=said):
        Signer(b"key", 10.0).read(text)


def test_references_of_others_and_of_long_ago() -> None:
    now = [1000.0]
    signer = Signer(b"key", 10.0, lambda: now[0])
    text = signer.sign(REF)
    assert signer.read(text) == REF
    with pytest.raises(StaleReference, match="another key"):
        Signer(b"other", 10.0, lambda: now[0]).read(text)
    now[0] = 1010.5
    with pytest.raises(StaleReference, match="idle for more than 10 s"):
        signer.read(text)


def test_another_offer_under_the_name(two: tuple[str, str]) -> None:
    """An operator who changes what a name stands for does not change episodes under way."""
    offers = ("sums=mint/Math-v0?digits=2",)
    other = ("sums=mint/Math-v0?digits=3",)
    with serving(Settings(offers=offers, session_key=KEY)) as url, Client(url) as client:
        begun = client.session("sums", seed=1)._session
    for changed in (other, ("mint/Math-v0",)):
        with serving(Settings(offers=changed, session_key=KEY)) as url:
            body = json.dumps({"session": begun, "response": "1"})
            answer = raw(url, "/v1/sessions/respond", body)
            assert (answer.status_code, "is not what it was" in answer.text) == (410, True)


# -- what cannot be moved -------------------------------------------------------------------------


def test_chance_that_a_task_does_not_declare_is_found_out(two: tuple[str, str]) -> None:
    """The episode says something else when it is played again: no reward comes of it."""
    with Client("http://127.0.0.1", transport=Balancer(two, "00111")) as client:
        session = client.session("tests/Secret-v0", seed=0)
        session.respond("who are you?")
        with pytest.raises(SessionLost, match="chance that its task does not declare"):
            session.respond("and now?")


def test_an_episode_with_chance_stays_where_it_is(two: tuple[str, str]) -> None:
    """It says so; and the client finds the process that holds it on another connection."""
    balancer = Balancer(two)
    with Client("http://127.0.0.1", transport=balancer) as client:
        session = client.session("tests/Chance-v0", seed=5)
        assert not session.movable
        assert "nondeterministic" in str(session.why_held)
        assert session.respond("1") == "1 said"
        assert session.respond("2") in ("2 said", Reward(1.0))
    with Client("http://127.0.0.1", transport=Balancer(two, "0")) as client:
        held = client.session("tests/Chance-v0", seed=5)
    with Client("http://127.0.0.1", transport=Balancer(two, "1")) as client:
        held._client = client
        with pytest.raises(SessionLost, match="held by another process"):
            held.respond("1")


def test_an_episode_with_chance_goes_on_in_its_worker() -> None:
    """There are several, and the one that has the episode is waited for."""
    with serving(Settings(offers=OFFERS, executor="processes:3")) as url, Client(url) as client:
        sessions = [client.session("tests/Chance-v0", seed=5) for _ in range(12)]
        most = int(str(sessions[0].prompt).split()[-1].rstrip("."))
        with ThreadPoolExecutor(6) as threads:
            for number in range(1, most + 1):
                answers = list(threads.map(lambda s, n=number: s.respond(str(n)), sessions))
    assert [answer.score for answer in answers] == [1.0] * 12


# -- what it costs --------------------------------------------------------------------------------


def test_turns_are_not_played_again_where_the_episode_is() -> None:
    """Whatever the number of workers, and of sessions between whose turns others come."""
    with serving(Settings(offers=OFFERS, executor="processes:3")) as url, Client(url) as client:
        sessions = [client.session("tests/Slow-v0", seed=0) for _ in range(5)]
        for _ in range(20):
            for session in sessions:
                session.respond("x")
        assert turns(url) == {"under_way": 100.0}


def test_a_killed_worker_is_played_again_once() -> None:
    pool = Processes(2)
    try:
        with serving(Settings(offers=OFFERS), pool) as url, Client(url) as client:
            session = client.session("tests/Slow-v0", seed=0)
            for _ in range(3):
                session.respond("x")
            kill(pool, 0)
            kill(pool, 1)
            for _ in range(3):
                session.respond("x")
            assert turns(url) == {"under_way": 5.0, "played_again": 1.0}
    finally:
        pool.close()


def test_what_is_kept_is_bounded_and_no_session_is_lost_by_it() -> None:
    settings = Settings(offers=OFFERS, executor="processes:1", max_played=10_000)
    with serving(settings) as url, Client(url) as client:
        sessions = [client.session("tests/Slow-v0", seed=0) for _ in range(20)]
        for number in range(4):
            answers = [session.respond(f"x{number}") for session in sessions]
        assert answers == ["4"] * 20
        kept = httpx.get(f"{url}/metrics").text
        lines = [line for line in kept.splitlines() if line.startswith("mint_session_bytes ")]
        assert 0 < float(lines[0].split()[1]) <= 10_000


def test_played_turns_forget_the_oldest() -> None:
    played = PlayedTurns(5000)
    for number in range(10):
        ref = replace(REF, episode=str(number))
        after = ref.after("x" * 500, "reply", 1000)
        played.keep(ref, (), "x" * 500, False, "reply", after, Home(0))
    assert 1 <= len(played) < 10
    assert played.bytes <= 5000
    assert played.history(ref.after("x" * 500, "reply", 2000)) == (("x" * 500,), Home(0))
    assert played.history(replace(REF, episode="0", turn=1, said="s")) is None
    for number in range(10):
        played.forget(str(number))
    assert (len(played), played.bytes) == (0, 0)


def test_a_session_that_could_not_be_sent_again_is_ended() -> None:
    settings = Settings(offers=OFFERS, executor="processes:1", max_body=2000)
    with serving(settings) as url, Client(url) as client:
        session = client.session("tests/Slow-v0", seed=0)
        session.respond("x" * 1000)
        body = json.dumps({"session": session._session, "response": "y" * 850})
        assert len(body) < 2000
        answer = raw(url, "/v1/sessions/respond", body)
        assert (answer.status_code, "1800 bytes" in answer.text) == (409, True)


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(Settings(session_key=KEY, token=KEY))
    with pytest.raises(mint_envs.errors.SettingError, match="session key has 5 characters"):
        Settings(session_key="short")
    assert os.environ.get("MINT_SERVE_SESSION_KEY") is None
