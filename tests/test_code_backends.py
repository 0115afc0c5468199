"""The backends that are not on this machine, against doubles of docker and of SandboxFusion."""

from __future__ import annotations

import http.server
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mint_envs.code import Sandbox, grade
from mint_envs.code.sandbox import Job, container
from mint_envs.errors import SandboxUnavailable, SettingError

ADD = "```python\ndef add(a, b):\n    return a + b\n```"
ADD_TESTS = [("add(1, 2)", 3), ("add(-1, 1)", 0)]
SPLIT = {"code": "for x in range(3):\n    pass\nassert [add(x, 1) for x in (1, 2)] == [2, 3]",
         "entry_point": "add"}  # fmt: skip
DOUBLE = "```python\nprint(int(input()) * 2)\n```"
IO = [{"stdin": "4\n", "stdout": "8\n"}]

_FAKE_DOCKER = """#!{python}
import os, sys
words = sys.argv[1:]
open({log!r}, "a").write(repr(words) + "\\n")
boot = words[words.index("-c") + 1].replace({inside!r}, {here!r})
os.execv(sys.executable, [sys.executable, "-B", "-c", boot, words[-1]])
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``docker`` that starts the same process without a container; returns its log."""
    log, script = tmp_path / "log", tmp_path / "docker"
    here = str(Path(container.__file__).parent)
    text = _FAKE_DOCKER.format(
        python=sys.executable, log=str(log), inside=container._INSIDE, here=here
    )
    script.write_text(text)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return log


def test_docker_runs_the_same_zygotes_in_a_hardened_container(docker: Path) -> None:
    with Sandbox("docker", workers=2) as sandbox:
        assert sandbox.tier == "docker"
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        assert grade(ADD, [("add(1, 2)", 4)], sandbox=sandbox).score == 0.0
        assert grade(ADD, SPLIT, sandbox=sandbox).score == 1.0
        assert grade(DOUBLE, IO, sandbox=sandbox).score == 1.0
    words = docker.read_text()
    for option in ("--network=none", "--cap-drop=ALL", "--read-only", "no-new-privileges"):
        assert option in words


def test_docker_takes_another_runtime(docker: Path) -> None:
    with Sandbox("docker:runsc", workers=1) as sandbox:
        assert sandbox.tier == "docker:runsc"
    assert "--runtime=runsc" in docker.read_text()


def test_a_lost_container_is_replaced(docker: Path) -> None:
    with Sandbox("docker", workers=1) as sandbox:
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        backend: Any = sandbox._backend
        backend._process.kill()
        backend._process.wait()
        assert grade(ADD, [("add(2, 2)", 4)], sandbox=sandbox).score == 1.0
    assert len(docker.read_text().splitlines()) == 2


def test_without_a_daemon_the_error_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "docker"
    script.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 125\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SandboxUnavailable, match="Cannot connect to the Docker daemon"):
        Sandbox("docker")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(SandboxUnavailable, match="not installed"):
        Sandbox("podman")


class _Fusion(http.server.BaseHTTPRequestHandler):
    """Answers as SandboxFusion does, for Python, with no sandbox (the programs are ours)."""

    failures = 0
    seen: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = type(self)
        kind.seen.append(body)
        if kind.failures:
            kind.failures -= 1
            return self._answer({"status": "SandboxError", "message": "no free runner"})
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", body["code"]],
                input=(body.get("stdin") or "").encode(),
                capture_output=True,
                timeout=body["run_timeout"],
                check=False,
            )
        except subprocess.TimeoutExpired:
            result: dict[str, Any] = {"status": "TimeLimitExceeded", "return_code": None,
                                      "stdout": "", "stderr": ""}  # fmt: skip
            return self._answer({"status": "Failed", "run_result": result})
        result = {"status": "Finished", "execution_time": 0.01, "return_code": done.returncode,
                  "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}  # fmt: skip
        status = "Success" if done.returncode == 0 else "Failed"
        return self._answer({"status": status, "message": "", "run_result": result})

    def _answer(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def fusion() -> Iterator[str]:
    _Fusion.failures, _Fusion.seen = 0, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Fusion)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_remote_brings_values_back_and_compares_here(fusion: str) -> None:
    with Sandbox(f"remote:{fusion}") as sandbox:
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        assert grade(ADD, [("add(1, 2)", 4)], sandbox=sandbox).score == 0.0
        assert grade(ADD, [("add(1000, 24680)", 25680)], sandbox=sandbox).score == 1.0
        assert grade(DOUBLE, IO, sandbox=sandbox).score == 1.0
        fails = "```python\nraise ValueError('no')\n```"
        reward = grade(fails, IO, sandbox=sandbox)
        assert (reward.score, reward.metadata["error_type"]) == (0.0, "ValueError")
        loop = "```python\nwhile True: pass\n```"
        assert grade(loop, IO, sandbox=sandbox, sandbox_timeout_s=0.3).metadata["limit"] == "wall"
    sent = json.dumps(_Fusion.seen)
    assert "add(1000, 24680)" in sent
    assert "25680" not in sent  # expected values stay here


def test_remote_tries_again_and_then_says_unmeasured(fusion: str) -> None:
    with Sandbox(f"remote:{fusion}") as sandbox:
        _Fusion.failures = 2
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        _Fusion.failures = 100
        reward = grade(ADD, [("add(5, 5)", 10)], sandbox=sandbox)
        assert reward.score is None
        assert "no free runner" in reward.metadata["reason"]


def test_remote_says_that_it_cannot_do_a_split_check(fusion: str) -> None:
    with Sandbox(f"remote:{fusion}") as sandbox:
        reward = grade(ADD, SPLIT, sandbox=sandbox)
        assert reward.score is None
        assert "split check" in reward.metadata["reason"]


def test_remote_needs_a_server() -> None:
    with pytest.raises(SandboxUnavailable, match="no SandboxFusion server"):
        Sandbox("remote:http://127.0.0.1:9")
    with pytest.raises(SettingError, match="http"):
        Sandbox("remote", url="localhost:8080")


def test_unsafe_warns_every_time_and_runs() -> None:
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="nothing between them"):
            assert grade(ADD, ADD_TESTS, sandbox="unsafe").score == 1.0


def test_an_unknown_sandbox_is_named() -> None:
    with pytest.raises(SettingError, match="Did you mean 'docker'"):
        Sandbox("dokcer")


def test_any_object_with_the_methods_is_a_backend() -> None:
    class Nothing:
        tier = "nothing"

        def run(self, jobs: Any) -> Any:
            from mint_envs.code.sandbox import Outcome

            return [Outcome(failure="closed today") for _ in jobs]

        def close(self) -> None:
            pass

    with Sandbox(Nothing()) as sandbox:
        reward = grade(ADD, ADD_TESTS, sandbox=sandbox)
        assert (reward.score, reward.metadata["reason"]) == (None, "closed today")
        assert sandbox.run_jobs([]) == []
        assert sandbox.run_jobs([Job("x = 1")])[0].failure == "closed today"
