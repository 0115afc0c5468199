"""Recorded exchanges with docker and with SandboxFusion: how they are made and played back.

    python -m tests.exchange docker                       # where `docker info` works
    python -m tests.exchange remote http://localhost:8080 # where a SandboxFusion server runs

Each grades ``CASES`` on the real thing and writes what went over the wire, line by line, to
``tests/data/exchange_docker.jsonl`` or ``exchange_remote.jsonl``. Played back, anything that this
library sends and that was not recorded is refused.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mint_envs.code import Sandbox, grade
from mint_envs.sandbox import container
from mint_envs.sandbox.bridge import read_frame, write_frame

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
DOCKER, REMOTE = DATA / "exchange_docker.jsonl", DATA / "exchange_remote.jsonl"
_PACKAGE = str(Path(container.__file__).parent)

_SPLIT = {
    "code": "for x in range(3):\n    pass\nassert [f(x) for x in (1, 2)] == [2, 3]",
    "entry_point": "f",
}
_ADD = "def f(x):\n    return x + 1\n"
#: name: (program, tests, seconds, score, score by SandboxFusion, limit)
CASES: dict[str, tuple[str, Any, float, float, float | None, str]] = {
    "right": (_ADD, [("f(1)", 2), ("f(-1)", 0)], 5.0, 1.0, 1.0, ""),
    "wrong": ("def f(x):\n    return x\n", [("f(1)", 2)], 5.0, 0.0, 0.0, ""),
    "raises": ("def f(x):\n    raise ValueError('no')\n", [("f(1)", 2)], 5.0, 0.0, 0.0, ""),
    "leaves": ("import os\nos._exit(0)\n", [("f(1)", 2)], 5.0, 0.0, 0.0, ""),
    "script": ("print(int(input()) * 2)\n", [{"stdin": "4\n", "stdout": "8\n"}], 5.0, 1.0, 1.0, ""),
    "exits": ("print(8)\nimport sys\nsys.exit(3)\n", [{"stdin": "", "stdout": "8\n"}], 5.0,
              0.0, 0.0, ""),
    "much": ("print('x' * 5000)\n", [{"stdin": "", "stdout": "x" * 5000}], 5.0, 1.0, 1.0, ""),
    "split": (_ADD, _SPLIT, 5.0, 1.0, None, ""),
    "endless": ("while True:\n    pass\n", [("f(1)", 2)], 0.5, 0.0, 0.0, "cpu"),
    "hungry": ("x = bytearray(3 << 30)\ndef f(x):\n    return 2\n", [("f(1)", 2)], 5.0,
               0.0, 0.0, "memory"),
}  # fmt: skip


def verdict(sandbox: Sandbox, name: str) -> tuple[float | None, str]:
    program, tests, seconds, *_ = CASES[name]
    reward = grade(f"```python\n{program}```", tests, sandbox=sandbox, sandbox_timeout_s=seconds)
    return reward.score, reward.metadata["limit"]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Log:
    """A transcript that two threads write to."""

    def __init__(self, path: Path) -> None:
        self._file, self._lock = path.open("a"), threading.Lock()

    def add(self, **line: Any) -> None:
        with self._lock:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()


# -- docker ---------------------------------------------------------------------------------------


@contextmanager
def as_docker(call: str) -> Iterator[None]:
    """Put a ``docker`` before all others that does ``call``, an expression of this module's."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "docker"
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
            f"from tests import exchange\nexchange.{call}\n"
        )
        script.chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
        try:
            yield
        finally:
            os.environ["PATH"] = before


def command_line() -> list[str]:
    """Return the arguments that this ``docker`` got, without the machine's own paths."""
    return [word.replace(_PACKAGE, "{package}") for word in sys.argv[1:]]


def tee(real: str, log: str) -> None:
    """Run the real docker and write down what goes in and out."""
    transcript = Log(Path(log))
    transcript.add(run=command_line())
    process = subprocess.Popen([real, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    back = threading.Thread(
        target=_copy, args=(process.stdout, sys.stdout.buffer, transcript, "said")
    )
    back.start()
    _copy(sys.stdin.buffer, process.stdin, transcript, "sent")
    process.stdin.close()
    back.join()
    process.wait()


def _copy(source: Any, target: Any, transcript: Log, word: str) -> None:
    while (frame := read_frame(source)) is not None:
        transcript.add(**{word: frame})
        write_frame(target, frame)


def play(log: str) -> None:
    """Be the docker of a transcript: the same command line, the same jobs, the same answers."""
    recorded = lines(Path(log))
    if command_line() != recorded[0]["run"]:
        sys.exit(f"this command was not recorded: {command_line()}")
    said = {line["said"]["id"]: line["said"] for line in recorded[2:] if "said" in line}
    jobs = [line["sent"] for line in recorded if "sent" in line]
    write_frame(sys.stdout.buffer, recorded[1]["said"])
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        known = [sent["id"] for sent in jobs if sent["job"] == frame["job"]]
        if not known:
            sys.exit(f"this job was not recorded: {frame['job']}")
        write_frame(sys.stdout.buffer, {**said[known[0]], "id": frame["id"]})


def docker_missing() -> str:
    """Return why no program can be run in docker here; empty if one can."""
    if shutil.which("docker") is None:
        return "no docker command"
    for words in (["info"], ["image", "inspect", container.IMAGE]):
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["docker does not answer"])[-1]
    return ""


# -- SandboxFusion --------------------------------------------------------------------------------


def without_sources(request: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a request the runner's source, which changes with this library."""
    code = re.sub(r"(?m)^for name, source in .*$", "for name, source in {...}:", request["code"])
    return {**request, "code": code}


@contextmanager
def server(answer: Any) -> Iterator[str]:
    """Serve ``answer(request) -> answer`` on this machine; yields the URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            data = json.dumps(answer(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def forward(url: str, transcript: Log) -> Any:
    """Return an answer to requests: the real server's, written down."""

    def answer(request: dict[str, Any]) -> Any:
        made = urllib.request.Request(
            f"{url}/run_code", json.dumps(request).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(made, timeout=120) as response:
            said = json.loads(response.read())
        transcript.add(sent=without_sources(request), said=said)
        return said

    return answer


def replay(path: Path) -> Any:
    """Return an answer to requests: what the transcript has."""
    recorded = lines(path)

    def answer(request: dict[str, Any]) -> Any:
        asked = without_sources(request)
        known = [line["said"] for line in recorded if line["sent"] == asked]
        return known[0] if known else {"detail": f"this was not recorded: {asked}"}

    return answer


def main(kind: str, url: str = "") -> None:
    path = DOCKER if kind == "docker" else REMOTE
    path.unlink(missing_ok=True)
    if kind == "docker":
        with as_docker(f"tee({shutil.which('docker')!r}, {str(path)!r})"):
            _grade(Sandbox("docker", workers=2))
    else:
        with server(forward(url, Log(path))) as here:
            _grade(Sandbox(f"remote:{here}", workers=2))


def _grade(sandbox: Sandbox) -> None:
    with sandbox:
        for name in CASES:
            print(name, *verdict(sandbox, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
