"""The server: what is refused, and tokens."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from scratch import scratch
from server_requests import TOKEN, raw
from serving import serving

import mint_envs
from mint_envs.client import Client, RequestRefused, TokenRefused
from mint_envs.errors import SettingError
from mint_envs.executors import Local
from mint_envs.family import BUILT_IN
from mint_envs.registration import family_of
from mint_envs.serve import Settings
from mint_envs.serve.catalog import Catalog
from mint_envs.serve.settings import check_host, read_secret

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
    for id in BUILT_IN:
        names = family_of(id).client_settings
        assert names <= set(mint_envs.registration.settings_of(id)), id
        assert not names & {"dataset", "sandbox", "url", "judge", "tokenizer", "question_field"}


OFFERED = {
    "offered.py": "import mint_envs\nfrom mint_envs.math.tasks import MathTask\n"
    "mint_envs.register('my/Offered-v0', MathTask)\n"
    "def exact(response, answer):\n    return float(response.strip() == answer)\n",
    "rows.jsonl": '{"prompt": "2 + 3?", "answer": "5"}\n',
}


def test_an_offer_may_name_the_module_of_its_id(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    offers = ("offered:my/Offered-v0", "f=offered.py:exact?dataset=rows.jsonl")
    with (
        scratch(tmp_path, OFFERED),
        serving(Settings(offers=offers), Local()) as url,
        Client(url) as client,
    ):
        assert [env.name for env in client.envs()] == ["my/Offered-v0", "f"]
        assert client.score("f", [(0, "5")], by="index")[0].score == 1.0
    with pytest.raises(SettingError, match="no_such_module"):
        Catalog(Settings(offers=("no_such_module:my/Env-v0",)))


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
        read_secret(path, "")
    path.chmod(0o600)
    assert read_secret(path, "other") == TOKEN
    with pytest.raises(SettingError, match="cannot be read"):
        read_secret(tmp_path / "none", "")
