"""Programs run by a SandboxFusion server, over HTTP.

The same runner as here is sent along, and values come back: the verdict stays on this side. A
split check needs two processes that talk to each other, which such a server does not offer.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..errors import SandboxUnavailable, SettingError
from .port import Job, Outcome, ran_out_of_memory, read_records
from .toolchains import TOOLCHAINS

_INSIDE = Path(__file__).parent / "inside"
_TRIES = 3
_EXTRA_S = 30.0
_SPLIT = (
    "these tests need a split check (test code and program in two processes), which the remote "
    "sandbox cannot do: use the default, docker or podman"
)
_RECORDS, _PRINTED = "mint-records", "mint-stdout"
_PIPE = 1 << 16  # of what a program prints, the server reads about so much while it runs
_SCRIPT = """\
import os, resource, sys, types
package = types.ModuleType("inside"); package.__path__ = []
sys.modules["inside"] = package
for name, source in {sources!r}.items():
    module = types.ModuleType("inside." + name); module.__package__ = "inside"
    sys.modules["inside." + name] = module; setattr(package, name, module)
    exec(compile(source, name, "exec"), module.__dict__)
mode, made = {mode!r}, os.O_RDWR | os.O_CREAT | os.O_TRUNC
out, printed = (os.open(name, made) for name in {files!r})
null = os.open(os.devnull, os.O_RDWR)
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
os.dup2(printed if mode == "main" else null, 1)
if mode != "main": os.dup2(null, 0)
package.runner.run({job!r}.encode(), mode, out, -1)
os._exit(0)
"""
_PROBE = f"open({_RECORDS!r}, 'w').write('ready')"


class Remote:
    """A backend behind SandboxFusion's ``/run_code``.

    Args:
        url: of the server, such as ``"http://localhost:8080"``.
        workers: requests at the same time; 0 means 16.

    Raises:
        SettingError: the URL is no http(s) URL.
        SandboxUnavailable: no such server answers there.
    """

    tier = "remote"

    def __init__(self, url: str = "http://localhost:8080", workers: int = 0) -> None:
        if not url.startswith(("http://", "https://")):
            raise SettingError(f"url={url!r} must begin with http:// or https://")
        self._url = url.rstrip("/") + "/run_code"
        self._workers = workers or 16
        self._begin()
        self._sources = {
            name: (_INSIDE / f"{name}.py").read_text(encoding="utf-8")
            for name in ("wire", "names", "records", "scripts", "runner")
        }
        try:
            probe = {"code": _PROBE, "language": "python", "run_timeout": 10}
            answer = self._post({**probe, "fetch_files": [_RECORDS]}, 30.0)
            if _file(answer, _RECORDS) != b"ready":
                raise ValueError(f"it ran no Python: {answer.get('message') or answer}")
        except (OSError, ValueError) as error:
            self.close()
            raise SandboxUnavailable(
                f"sandbox='remote': no SandboxFusion server answers at {url} ({error}). Start one "
                "(its image is volcengine/sandbox-fusion), or give sandbox='remote:http://...'."
            ) from None

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._threads = ThreadPoolExecutor(self._workers, "mint-remote")

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        if self._owner != os.getpid():  # after a fork: the threads stayed with the parent
            self._begin()
        return list(self._threads.map(self._run_one, jobs))

    def close(self) -> None:
        self._threads.shutdown()

    def _run_one(self, job: Job) -> Outcome:
        if job.kind == "split":
            return Outcome(failure=_SPLIT)
        request = self._request(job)
        reason = ""
        for attempt in range(_TRIES):
            try:
                answer = self._post(request, 2 * job.limits.cpu_s + _EXTRA_S)
            except (OSError, ValueError) as error:
                reason = str(error)
                time.sleep(0.2 * 4**attempt)
                continue
            if answer.get("status") in ("Success", "Failed"):
                read = _python_outcome if request["fetch_files"] else _remote_outcome
                return read(answer, job)
            reason = str(answer.get("message") or answer.get("status"))
        return Outcome(failure=f"the remote sandbox failed {_TRIES} times: {reason}")

    def _request(self, job: Job) -> dict[str, Any]:
        own = job.language == "python"
        return {
            "code": self._script(job) if own else job.program,
            "language": job.language if own else TOOLCHAINS[job.language].remote or job.language,
            "stdin": job.stdin,
            "run_timeout": job.limits.cpu_s,
            "compile_timeout": 60,
            "memory_limit_MB": _memory_mb(job),
            "fetch_files": [_RECORDS, _PRINTED] if own else [],
        }

    def _script(self, job: Job) -> str:
        """Return the runner and the job as one program, which leaves its results in two files.

        What a program prints comes back through a pipe that stalls beyond some 100 KiB.
        """
        return _SCRIPT.format(
            sources=self._sources,
            mode=job.kind,
            files=(_RECORDS, _PRINTED),
            most=job.limits.output + 1,
            job=json.dumps(job.payload()),
        )

    def _post(self, body: dict[str, Any], timeout_s: float) -> Mapping[str, Any]:
        """Return the answer. Raises OSError or ValueError when there is none."""
        request = urllib.request.Request(
            self._url,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            answer = json.loads(response.read())
        if not isinstance(answer, Mapping) or "status" not in answer:
            raise ValueError("the answer is not SandboxFusion's")
        return answer


def _memory_mb(job: Job) -> int:
    """Return the limit to ask for; -1, the server's own, for virtual machines.

    It limits address space there, of which they reserve more than they use.
    """
    machine = job.language != "python" and TOOLCHAINS[job.language].reserve > 0
    return -1 if machine else job.limits.memory >> 20


def _file(answer: Mapping[str, Any], name: str) -> bytes:
    """Return a file that the server was asked for; empty if the program took it away."""
    files = answer.get("files")
    if not isinstance(files, Mapping):
        raise ValueError("the server does not return files (fetch_files)")
    return base64.b64decode(str(files.get(name) or ""))


def _python_outcome(answer: Mapping[str, Any], job: Job) -> Outcome:
    ran = answer.get("run_result") or {}
    limit = "wall" if ran.get("status") == "TimeLimitExceeded" else ""
    text, printed = _file(answer, _RECORDS), _file(answer, _PRINTED)
    if len(text) > job.limits.output or len(printed) > job.limits.output:
        limit, text = limit or "output", b""
    records, code = read_records(text), _code(ran, limit)
    limit = limit or ("memory" if ran_out_of_memory(records) else "")
    seconds = float(ran.get("execution_time") or 0.0)
    return Outcome(records, printed[: job.limits.output], limit, code, seconds)


def _remote_outcome(answer: Mapping[str, Any], job: Job) -> Outcome:
    compiled = answer.get("compile_result") or {}
    ran = answer.get("run_result") or {}
    if not ran:
        text = str(compiled.get("stderr") or answer.get("message") or "it did not compile")
        return Outcome({-1: ("error", ["CompileError", text])}, exit_code=1)
    limit = "wall" if ran.get("status") == "TimeLimitExceeded" else ""
    stdout = str(ran.get("stdout") or "").encode("utf-8", "surrogatepass")
    if limit and len(stdout) >= _PIPE:
        return Outcome(failure="the remote sandbox stalls on so much output")
    code = _code(ran, limit)
    limit = limit or ("output" if len(stdout) > job.limits.output else "")
    seconds = float(ran.get("execution_time") or 0.0)
    return Outcome(_stderr_error(ran, code), stdout[: job.limits.output], limit, code, seconds)


def _code(ran: Mapping[str, Any], limit: str) -> int:
    code = ran.get("return_code")
    return code if isinstance(code, int) else 0 if limit else 1


def _stderr_error(ran: Mapping[str, Any], code: int) -> dict[int, tuple[str, Any]]:
    """Return the last line of stderr of a script that failed, as its error."""
    lines = str(ran.get("stderr") or "").strip().splitlines()
    if not lines or code == 0:
        return {}
    return {-1: ("error", [lines[-1].partition(":")[0][:80], lines[-1]])}
