"""The server's client, its page, and its stop."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from server_requests import TOKEN, raw
from serving import running, serving

from mint_envs.cli import main
from mint_envs.client import Busy as ServerBusy
from mint_envs.client import Client, RequestRefused, Unreachable
from mint_envs.errors import SettingError
from mint_envs.executors.processes import Processes
from mint_envs.serve import Settings
from mint_envs.serve.wire import read_strict_json

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
    assert "/v1/sessions/respond" in page.text
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
        read_strict_json(b"[" + b"[]," * 1_000_000 + b"[]]")
    assert len(read_strict_json(b"[" + b"[]," * 100_000 + b"[]]")) == 100_001


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
    text = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
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
    script = Path(__file__).parents[1] / "soak_serve.py"
    options = ["--seconds", "5", "--clients", "200", "--sessions", "100"]
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong 0, errors 0" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "MINT_SERVE_TOKEN"),
        (["--offer", "mint/Mth-v0"], "Did you mean mint/Math-v0?"),
        (["no/Such-v0"], "there is no environment no/Such-v0"),
        (["CartPole-v1"], "CartPole-v1 is not an environment of mint_envs.register"),
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
