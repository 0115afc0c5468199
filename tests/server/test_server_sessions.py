"""The server: episodes of several turns."""

from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from odd_tasks import Count, kill
from server_requests import KEY, raw
from serving import serving

from mint_envs import Reward
from mint_envs.client import Client, SessionLost
from mint_envs.executors import Local
from mint_envs.executors.processes import Processes
from mint_envs.problems import ProblemRef
from mint_envs.serve import Settings
from mint_envs.serve.sessions import OpenSession, Sessions
from mint_envs.serve.work import NoRoom

# -- sessions -------------------------------------------------------------------------------------

RESPOND = "/v1/sessions/respond"


def said(client: Client, session: str | None, response: str, **more: Any) -> Any:
    body = {"session": session, "response": response, **more}
    return raw(client.url, RESPOND, json.dumps(body))


def test_a_response_sent_twice_counts_once(client: Client) -> None:
    start = client.session("tests/Count-v0", seed=5)._session
    first, again = said(client, start, "1"), said(client, start, "1")
    assert first.status_code == 200
    assert first.json() == again.json()
    assert first.json()["turn"] == 1


def test_the_last_answer_can_be_asked_for_again(client: Client) -> None:
    start = client.session("mint/Math-v0", seed=1)._session
    first, again = said(client, start, "1"), said(client, start, "1")
    assert first.json()["done"]
    assert first.json()["session"] is None
    assert first.json() == again.json()


def test_going_back_is_another_episode(client: Client) -> None:
    """An episode is its responses: another response to the same turn is another episode."""
    start = client.session("tests/Count-v0", seed=5)._session
    right, wrong = said(client, start, "1").json(), said(client, start, "9").json()
    assert right["reply"] == wrong["reply"] == "1 said"
    missing = said(client, right["session"], "2")
    assert (missing.status_code, "said" in missing.text) == (428, True)
    assert said(client, right["session"], "2", said=["1"]).json()["turn"] == 2


def test_responses_that_it_has_not_had_are_refused(client: Client) -> None:
    session = said(client, client.session("tests/Count-v0", seed=5)._session, "1").json()["session"]
    other = client.session("tests/Count-v0", seed=5)._session
    for wrong in (["2"], [], ["1", "2"]):
        with serving(Settings(session_key=KEY), Local()) as url, Client(url) as stranger:
            assert said(stranger, session, "2", said=wrong).status_code == 422
    assert other != session


def test_a_closed_session(client: Client) -> None:
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
            assert not session.movable
            assert "nondeterministic" in str(session.why_held)
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
