"""The server: episodes of several turns."""

from __future__ import annotations

import json
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from odd_tasks import Count, kill
from server_requests import raw
from serving import serving

from mint_envs import Reward
from mint_envs.client import Client, SessionLost
from mint_envs.executors.processes import Processes
from mint_envs.problems import ProblemRef
from mint_envs.serve import Settings
from mint_envs.serve.sessions import OpenSession, Sessions
from mint_envs.serve.work import NoRoom

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


def opened(sessions: Sessions) -> OpenSession:
    session = OpenSession("e", Count(), ProblemRef(seed=0))
    sessions.add(session)
    return session


def test_sessions_are_bounded_and_closed_when_idle() -> None:
    sessions, now = store()
    first, second, _ = opened(sessions), opened(sessions), opened(sessions)
    with pytest.raises(NoRoom) as caught:
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
    with pytest.raises(NoRoom, match="MiB"):
        sessions.check_text("x" * 500)
    sessions.advance(one, "x", False, Reward(1.0))
    sessions.close(other.id)
    assert (sessions.bytes, len(sessions)) == (0, 0)


def test_ended_sessions_keep_no_text() -> None:
    sessions, _ = store(max_bytes=10**7)
    tracemalloc.start()
    try:
        for number in range(50):
            one, text = opened(sessions), f"{number}" * 100_000
            sessions.advance(one, text, False, Reward(1.0))
            assert one.said_before(text, False, 0) == Reward(1.0)
            assert one.said_before(f"{text}.", False, 0) is None
        del text
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


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
