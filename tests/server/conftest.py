"""A server with workers of its own, and a client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from odd_tasks import Chance, Count, Odd
from server_requests import KEY
from serving import serving

import mint_envs
from mint_envs.client import Client
from mint_envs.executors.processes import Processes
from mint_envs.serve import Settings

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
    with serving(Settings(max_body=200_000, read_s=1.0, session_key=KEY), workers) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, timeout_s=60) as client:
        yield client
