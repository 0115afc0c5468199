"""The mint backend before the run: keys, addresses, models."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_server import GOOD_KEYS, Fault, Service
from mint_steps import step
from toy_model import MODEL

from trainers.backends import (
    LoraParams,
)
from trainers.backends.mint import MintBackend
from trainers.errors import BackendError, TrainerError

# -- before the run -------------------------------------------------------------------------------


def test_no_key() -> None:
    for key in (None, ""):
        with pytest.raises(BackendError, match="MINT_API_KEY") as caught:
            MintBackend(MODEL, LoraParams(), key, "http://127.0.0.1:9")
        assert "--backend local" in str(caught.value)
    assert issubclass(BackendError, TrainerError)


def test_nobody_listens(connect: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(BackendError, match="cannot reach") as caught:
        connect(base_url=url)
    assert time.monotonic() - start < 20
    assert len(str(caught.value).splitlines()) == 1


def test_a_host_that_never_answers_is_found_in_three_seconds(connect: Any) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(BackendError, match=r"cannot reach|no answer"):
            connect(base_url=url)
        assert time.monotonic() - start < 20


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://[", "http://a b"])
def test_a_bad_address(connect: Any, url: str) -> None:
    with pytest.raises(BackendError, match=r"no address|cannot reach"):
        connect(base_url=url)


def test_another_kind_of_server(service: Service, connect: Any) -> None:
    service.fail("healthz", Fault(404))
    with pytest.raises(BackendError, match="not as a MinT"):
        connect()


def test_the_key_does_not_follow_a_redirect(service: Service, connect: Any) -> None:
    other = Service()
    try:
        service.fail("healthz", Fault(307, {"Location": f"{other.url}/api/v1/healthz"}))
        with pytest.raises(BackendError, match=other.url):
            connect()
        backend = connect()
        to = {"Location": f"{other.url}/api/v1/forward_backward"}
        service.fail("forward_backward", Fault(307, to))
        with pytest.raises(BackendError, match="failed"):
            step(backend, 0)
        assert other.requests == []
    finally:
        other.stop()


@pytest.mark.parametrize("jwt", [False, True])
@pytest.mark.parametrize("key", GOOD_KEYS)
def test_keys_of_every_form_are_taken(service: Service, connect: Any, key: str, jwt: bool) -> None:
    """MinT's own keys start with sk-, which the SDK alone refuses if the server has no JWTs."""
    service.jwt = jwt
    step(connect(api_key=key), 0)
    assert service.count("optim_step") == 1


@pytest.mark.parametrize("key", ["tml-wrong-key", "sk-wrong-key"])
def test_a_refused_key_is_named_but_not_shown(
    service: Service, connect: Any, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    start = time.monotonic()
    with pytest.raises(BackendError, match="refuses the key") as caught:
        connect(api_key=key)
    assert time.monotonic() - start < 20
    assert "MINT_API_KEY" in str(caught.value)
    assert key not in str(caught.value)
    assert key not in caplog.text


def test_a_key_that_is_refused_later_is_not_shown(
    service: Service, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    backend = connect()
    body = b'{"detail": "key tml-good-key has expired"}'
    service.fail("forward_backward", Fault(401, body=body))
    with pytest.raises(BackendError, match="refuses the key") as caught:
        step(backend, 0)
    assert "has expired" in str(caught.value)
    assert "tml-good-key" not in str(caught.value)
    assert "tml-good-key" not in caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_unknown_model_is_named_with_the_nearest(connect: Any) -> None:
    with pytest.raises(BackendError, match=r"toy/Bigram-2.*Did you mean 'toy/Bigram-1'"):
        connect(base_model="toy/Bigram-2")


def test_out_of_credit_is_said_at_once(service: Service, connect: Any) -> None:
    backend = connect()
    service.fail("forward_backward", Fault(402))
    with pytest.raises(BackendError, match="credit"):
        step(backend, 0)


def test_a_service_that_is_starting_is_waited_for(service: Service, connect: Any) -> None:
    for endpoint in ("healthz", "client/config", "get_server_capabilities", "create_session"):
        service.fail(endpoint, Fault(503))
    service.fail("create_model", Fault(503), Fault(429, {"Retry-After": "0.1"}))
    step(connect(), 0)


def test_tokenizer_that_cannot_be_loaded(connect: Any, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="--tokenizer"):
        connect(tokenizer=str(tmp_path))


def test_importing_the_backend_does_not_import_the_sdk() -> None:
    code = (
        "import sys, trainers.backends.mint;"
        "assert not {'mint', 'tinker', 'httpx', 'tenacity', 'grpc', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
