"""The wire is a contract: its schema is published, and earlier clients go on working."""

from __future__ import annotations

import json
from typing import Any

import httpx
import make_wire
import pytest

from mint_envs.client import Client, Session
from mint_envs.serve.references import WIRE


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in make_wire.EXCHANGES.read_text().splitlines()]


def test_the_published_schema_is_that_of_the_server() -> None:
    """If it is not, and that is meant: python -m tests.make_wire."""
    assert make_wire.SCHEMA.read_text(encoding="utf-8") == make_wire.schema_text()


def test_clients_of_earlier_releases_are_answered_as_then(lines: list[dict[str, Any]]) -> None:
    requests = [(line["method"], line["path"], line["sent"]) for line in lines]
    with make_wire.client() as server:
        found = make_wire.exchange(server, requests)
    for now, then in zip(found, lines, strict=True):
        assert now["status"] == then["status"], then
        assert missing(then["shape"], now["shape"]) == [], then


def missing(then: Any, now: Any, where: str = "") -> list[str]:
    """Return what was there and is not, or is of another kind."""
    if isinstance(then, dict) and isinstance(now, dict):
        gone = [f"{where}.{name}" for name in then.keys() - now.keys()]
        both = then.keys() & now.keys()
        return gone + [one for n in both for one in missing(then[n], now[n], f"{where}.{n}")]
    if isinstance(then, list) and isinstance(now, list):
        return missing(then[0], now[0], f"{where}[]") if then and now else []
    return [] if then == now else [f"{where}: {then} is {now}"]


def test_what_is_missing_is_seen() -> None:
    then = {"a": "str", "b": [{"c": "number"}]}
    assert missing(then, {**then, "new": "str"}) == []
    found = missing(then, {"a": "number", "b": [{}]})
    assert sorted(found) == [".a: str is number", ".b[].c"]


def test_every_answer_says_its_version(lines: list[dict[str, Any]]) -> None:
    assert {line["path"] for line in lines} >= {
        path for path in json.loads(make_wire.SCHEMA.read_text())["paths"] if path != "/metrics"
    }
    for line in lines:
        assert line["status"] == 204 or line["shape"]["version"] == "number", line
    with make_wire.client() as server:
        assert server.get("/healthz").json()["version"] == WIRE


def test_a_client_of_today_reads_answers_with_more_in_them() -> None:
    opened = {
        "version": 2, "session": "s", "seed": 1, "index": None, "prompt": "p", "problem_id": "i",
        "movable": True, "why_held": None, "idle_s": 1.0, "new": [1],
    }  # fmt: skip
    told = iter([opened, {"version": 2, "session": "t", "turn": 1, "done": False, "reply": "r",
                          "reward": None, "new": {}}])  # fmt: skip
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=next(told)))
    with Client(transport=transport) as client:
        session = client.session("e", seed=1)
        assert isinstance(session, Session)
        assert session.respond("x") == "r"
