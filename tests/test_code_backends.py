"""The backends that are not on this machine, against doubles of docker and of SandboxFusion."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mint_envs.code import Sandbox, grade
from mint_envs.errors import SandboxUnavailable, SettingError
from mint_envs.sandbox import Job, container
from tests import exchange

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


def test_docker_refuses_other_languages_rather_than_failing_them(docker: Path) -> None:
    with Sandbox("docker:runsc", workers=1) as sandbox:
        with pytest.raises(SandboxUnavailable, match="needs namespaces"):
            grade("```js\nconsole.log(8)\n```", IO, language="js", sandbox=sandbox)
        assert grade(DOUBLE, IO, sandbox=sandbox).score == 1.0


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


class _Fusion:
    """Answers as SandboxFusion does, for Python, with no sandbox (the programs are ours)."""

    failures = 0

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        self.seen.append(request)
        if self.failures:
            self.failures -= 1
            return {"status": "SandboxError", "message": "no free runner", "files": {}}
        with tempfile.TemporaryDirectory() as folder:
            result = _ran(request, folder)
            paths = [Path(folder) / name for name in request["fetch_files"]]
            files = {p.name: b64encode(p.read_bytes()).decode() for p in paths if p.exists()}
        status = "Success" if result["return_code"] == 0 else "Failed"
        return {"status": status, "message": "", "run_result": result, "files": files}


def _ran(request: dict[str, Any], folder: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", request["code"]],
            input=(request.get("stdin") or "").encode(),
            capture_output=True,
            timeout=request["run_timeout"],
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": "TimeLimitExceeded", "return_code": None, "stdout": "", "stderr": ""}
    return {"status": "Finished", "execution_time": 0.01, "return_code": done.returncode,
            "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}  # fmt: skip


@pytest.fixture
def fusion() -> Iterator[tuple[str, _Fusion]]:
    double = _Fusion()
    with exchange.server(double) as url:
        yield url, double


def test_remote_brings_values_back_and_compares_here(fusion: tuple[str, _Fusion]) -> None:
    url, double = fusion
    with Sandbox(f"remote:{url}") as sandbox:
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        assert grade(ADD, [("add(1, 2)", 4)], sandbox=sandbox).score == 0.0
        assert grade(ADD, [("add(1000, 24680)", 25680)], sandbox=sandbox).score == 1.0
        assert grade(DOUBLE, IO, sandbox=sandbox).score == 1.0
        fails = "```python\nraise ValueError('no')\n```"
        reward = grade(fails, IO, sandbox=sandbox)
        assert (reward.score, reward.metadata["error_type"]) == (0.0, "ValueError")
        loop = "```python\nwhile True: pass\n```"
        assert grade(loop, IO, sandbox=sandbox, sandbox_timeout_s=0.3).metadata["limit"] == "wall"
    sent = json.dumps(double.seen)
    assert "add(1000, 24680)" in sent
    assert "25680" not in sent  # expected values stay here


def test_remote_tries_again_and_then_says_unmeasured(fusion: tuple[str, _Fusion]) -> None:
    url, double = fusion
    with Sandbox(f"remote:{url}") as sandbox:
        double.failures = 2
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        double.failures = 100
        reward = grade(ADD, [("add(5, 5)", 10)], sandbox=sandbox)
        assert reward.score is None
        assert "no free runner" in reward.metadata["reason"]


def test_remote_needs_files_back() -> None:
    with (
        exchange.server(lambda request: {"status": "Success"}) as url,
        pytest.raises(SandboxUnavailable, match="fetch_files"),
    ):
        Sandbox(f"remote:{url}")


def test_remote_that_stalls_on_output_is_not_measured() -> None:
    """A pipe that nobody reads stops a program that may well be right."""
    stalled = {"status": "TimeLimitExceeded", "return_code": None, "stdout": "x" * 70000}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        files = {name: b64encode(b"ready").decode() for name in request["fetch_files"]}
        return {"status": "Failed", "run_result": stalled, "files": files}

    with exchange.server(answer) as url, Sandbox(f"remote:{url}") as sandbox:
        outcome = sandbox.run("console.log('x')", stdin="", language="js")
        assert "so much output" in outcome.failure


def test_remote_asks_for_no_address_space_that_a_virtual_machine_cannot_live_in(
    fusion: tuple[str, _Fusion],
) -> None:
    url, double = fusion
    with Sandbox(f"remote:{url}") as sandbox:
        for language in ("js", "cpp", "python"):
            sandbox.run("1", stdin="", language=language)
    asked = {request["language"]: request["memory_limit_MB"] for request in double.seen[1:]}
    assert asked == {"nodejs": -1, "cpp": 1024, "python": 1024}


@pytest.mark.parametrize("kind", ["remote", "docker"])
def test_after_a_fork_they_still_run(kind: str, docker: Path, fusion: tuple[str, _Fusion]) -> None:
    """A child has none of its parent's threads, and shares its pipes."""
    name = f"remote:{fusion[0]}" if kind == "remote" else kind
    with Sandbox(name, workers=2) as sandbox:
        assert grade(ADD, ADD_TESTS, sandbox=sandbox).score == 1.0
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        child = context.Process(target=_grade_others, args=(sandbox, results))
        child.start()
        assert results.get(timeout=60) == [1.0, 0.0]
        child.join(30)
        assert child.exitcode == 0
        assert grade(ADD, [("add(7, 7)", 14)], sandbox=sandbox).score == 1.0


def _grade_others(sandbox: Sandbox, results: Any) -> None:
    tests = ([("add(5, 6)", 11)], [("add(5, 6)", 12)])
    results.put([grade(ADD, test, sandbox=sandbox).score for test in tests])
    sandbox.close()


def test_remote_says_that_it_cannot_do_a_split_check(fusion: tuple[str, _Fusion]) -> None:
    url, _ = fusion
    with Sandbox(f"remote:{url}") as sandbox:
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
            from mint_envs.sandbox import Outcome

            return [Outcome(failure="closed today") for _ in jobs]

        def close(self) -> None:
            pass

    with Sandbox(Nothing()) as sandbox:
        reward = grade(ADD, ADD_TESTS, sandbox=sandbox)
        assert (reward.score, reward.metadata["reason"]) == (None, "closed today")
        assert sandbox.run_jobs([]) == []
        assert sandbox.run_jobs([Job("x = 1")])[0].failure == "closed today"
