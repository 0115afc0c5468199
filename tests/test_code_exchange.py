"""docker and SandboxFusion: against a recorded exchange anywhere, and live where they run."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from mint_envs.code import Sandbox, grade
from mint_envs.errors import SandboxUnavailable
from tests import exchange, run_code_attacks
from tests.exchange import CASES, DOCKER, REMOTE, verdict


@pytest.fixture
def docker() -> Any:
    with exchange.as_docker(f"play({str(DOCKER)!r})"), Sandbox("docker", workers=2) as sandbox:
        yield sandbox


@pytest.fixture
def remote() -> Any:
    answer = exchange.replay(REMOTE)
    with exchange.server(answer) as url, Sandbox(f"remote:{url}", workers=2) as sandbox:
        yield sandbox


def check_docker(sandbox: Sandbox) -> None:
    for name, (*_, score, _, limit) in CASES.items():
        assert (name, *verdict(sandbox, name)) == (name, score, limit)


def check_remote(sandbox: Sandbox) -> None:
    for name, (*_, score, limit) in CASES.items():
        limit = "wall" if limit == "cpu" else limit  # a server has a clock on the wall only
        assert (name, *verdict(sandbox, name)) == (name, score, limit)


def test_docker_as_recorded(docker: Sandbox) -> None:
    check_docker(docker)


def test_sandbox_fusion_as_recorded(remote: Sandbox) -> None:
    check_remote(remote)


def test_what_was_not_recorded_is_not_measured(docker: Sandbox, remote: Sandbox) -> None:
    program = "```python\ndef f(x):\n    return 'not recorded'\n```"
    for sandbox in (docker, remote):
        reward = grade(program, [("f(1)", "not recorded")], sandbox=sandbox)
        assert reward.score is None
        assert reward.metadata["reason"]


def test_another_command_line_is_not_the_recorded_one() -> None:
    call = f"play({str(DOCKER)!r})"
    with exchange.as_docker(call), pytest.raises(SandboxUnavailable, match="not recorded"):
        Sandbox("docker", workers=2, memory="5g")


def test_expected_values_were_never_sent() -> None:
    for path in (DOCKER, REMOTE):
        sent = json.dumps([line["sent"] for line in exchange.lines(path) if "sent" in line])
        assert "* 5000" in sent
        assert "xxx" not in sent


MUCH = "```python\nprint('x' * 900000)\n```", [{"stdin": "", "stdout": "x" * 900000}]


def test_docker_live() -> None:
    if reason := exchange.docker_missing():
        pytest.skip(f"docker: {reason}")
    attacks = [a for a in run_code_attacks.attacks() if a["class"] in ("result fd", "split check")]
    with Sandbox("docker", workers=2) as sandbox:
        check_docker(sandbox)
        assert grade(*MUCH, sandbox=sandbox).score == 1.0
        assert run_code_attacks.run(sandbox, attacks) == []


def test_sandbox_fusion_live() -> None:
    url = os.environ.get("SANDBOX_FUSION_URL")
    if not url:
        pytest.skip("SandboxFusion: no SANDBOX_FUSION_URL, such as http://localhost:8080")
    with Sandbox(f"remote:{url}") as sandbox:
        check_remote(sandbox)
        assert grade(*MUCH, sandbox=sandbox).score == 1.0
