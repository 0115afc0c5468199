"""The child process in which a user's reward function runs: ``python -m mint_envs.offline.worker``.

It may hang, exit, print, or run a hostile response in its own process; the parent notices and
starts another. Requests and replies are lines of JSON on two pipes; standard output is not used.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from ..core import Task
from ..errors import ContractError, MintEnvsError, RewardError, SettingError
from ..testing.verdicts import NoVerdict, finish, named
from .items import describe, settled
from .rows_task import BenchTask, FunctionTask
from .targets import Target, load

#: What the benchmark's programs leave behind wherever they are run.
CANARY = "mint_envs_canary"

CLOCK = 6  # seconds by the clock for one of CPU time: a busy machine is not a hanging one

_BATCH = 64
_FEW = 1000  # rows of a function that are all taken
_PROGRAM = re.compile(r"^(def|class|import|from) ", re.MULTILINE)


class Session:
    """The target, loaded, and its problems."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.task: Task[Any] = load(Target(**setup["target"]))
        self.numbers = _numbers(self.task, setup["problems"], setup["wanted"])
        self.problems = [self.task.problem(number) for number in self.numbers]

    def items(self) -> list[dict[str, Any]]:
        pairs = enumerate(zip(self.numbers, self.problems, strict=True))
        found = [describe(self.task, problem, i, n) for i, (n, problem) in pairs]
        return [item.to_json() for item in settled(found)]

    def verdict(self, index: int, turns: list[str]) -> list[Any]:
        """Return [status, score, note, seconds, whether the response was run in here]."""
        sys.modules.pop(CANARY, None)
        start = time.perf_counter()
        status, score, note = _verdict(self.task, self.problems[index], tuple(turns))
        seconds = time.perf_counter() - start
        return [status, score, note, seconds, sys.modules.pop(CANARY, None) is not None]


def _numbers(task: Task[Any], count: int, wanted: list[int] | None) -> list[int]:
    """Return which problems to take: ``count`` spread over the data set, and those wanted."""
    size = task.size
    if isinstance(task, FunctionTask) and (wanted != [] or task.size <= _FEW):
        wanted = None  # its rows are those of the saved responses, or few
    if wanted is None and size is None:
        raise SettingError("an endless environment finds a problem by 'index' or 'seed' only")
    if size is None or wanted is None or size <= count:
        chosen = list(range(size if size is not None else count))
    else:
        chosen = [i * size // count for i in range(count)]  # a part that speaks for the whole
    return list(dict.fromkeys([*chosen, *(wanted or [])]))


def _verdict(task: Task[Any], problem: Any, turns: tuple[str, ...]) -> tuple[str, Any, str]:
    """Return (status, score, note); status is "ok", "unmeasured", "range" or "error"."""
    try:
        reward = finish(task, problem, turns)
    except (RewardError, NoVerdict) as error:
        return "range", None, str(error)
    except MintEnvsError as error:
        return "error", None, f"{type(error).__name__}: {error}"
    except BaseException as error:
        return "error", None, named(error)
    if reward.score is None:
        return "unmeasured", None, str(reward.metadata.get("reason", ""))[:200]
    return "ok", reward.score, ""


# -- requests -------------------------------------------------------------------------------------


def _score(session: Session, request: dict[str, Any]) -> Iterator[Any]:
    apart = request["apart_s"] if isinstance(session.task, BenchTask) else 0
    for index, turns in request["pairs"]:
        if apart:
            yield in_fork(lambda: session.verdict(index, turns), apart)  # noqa: B023
        else:
            yield session.verdict(index, turns)


def in_fork(call: Callable[[], list[Any]], seconds: float) -> list[Any]:
    """Return what ``call`` returns in a copy of this process, or how the copy ended.

    What the call changes, or that it ends or hangs its process, is lost with the copy.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        limit = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        os.write(writing, json.dumps(_plain(call())).encode())
        os._exit(0)
    os.close(writing)
    answer = _read(reading, time.monotonic() + CLOCK * seconds)
    os.close(reading)
    if answer is None:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if answer is None or status in (-signal.SIGXCPU, -signal.SIGKILL):
        return ["hung", None, f"no answer within {seconds:g} s", seconds, False]
    try:
        verdict: list[Any] = json.loads(answer)
    except ValueError:
        return ["died", None, f"its process ended with code {status}", 0.0, False]
    return verdict


def _read(source: int, deadline: float) -> bytes | None:
    """Return all that comes from a pipe until its other end is closed; None if that is too late."""
    found = b""
    while select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
        data = os.read(source, 1 << 16)
        if not data:
            return found
        found += data
    return None


def _items(session: Session, request: dict[str, Any]) -> Iterator[Any]:
    yield {
        "items": session.items(),
        "single_turn": session.task.single_turn,
        "size": session.task.size,
        "nondeterministic": session.task.nondeterministic,
        "same_again": getattr(session.task, "same_again", True),
        "function": isinstance(session.task, BenchTask),
        "stop": list(session.task.stop),
    }


def _contract(session: Session, request: dict[str, Any]) -> Iterator[Any]:
    """Run the conformance kit on the target; yield what it finds and what it tried."""
    from ..testing import check_task

    try:
        report = check_task(
            session.task, problems=request["problems"], max_examples=request["texts"]
        )
        yield {"findings": [], "cases": report.cases, "skipped": report.skipped}
    except ContractError as error:
        rows = [[f.check, f.fault, f.advice] for f in error.findings]
        yield {"findings": rows, "cases": {}, "skipped": {}}


def _batch(session: Session, request: dict[str, Any]) -> Iterator[Any]:
    """Score batches for some seconds, no program twice; yield [responses scored, seconds]."""
    rounds, done, start = 0, 0, time.perf_counter()
    while time.perf_counter() - start < request["seconds"] or not rounds:
        rounds += 1
        for batch in _batches(request["pairs"]):
            pairs = [(session.problems[index], fresh(turns[0], rounds)) for index, turns in batch]
            if session.task.single_turn:
                session.task.score_batch(pairs)
            else:
                for index, turns in batch:
                    session.verdict(index, turns)
            done += len(batch)
            if time.perf_counter() - start > request["seconds"]:
                break
    yield [done, time.perf_counter() - start]


def _batches(pairs: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(pairs), _BATCH):
        yield pairs[first : first + _BATCH]


def fresh(text: str, number: int) -> str:
    """Return a response that is another one for a cache of programs, and means the same."""
    return _PROGRAM.sub(lambda found: f"# run {number}\n{found.group()}", text, count=1)


def _solve(session: Session, request: dict[str, Any]) -> Iterator[Any]:
    from .targets import _imported

    solver = _imported(request["solver"])
    for problem in session.problems:
        answer = solver(session.task.prompt(problem))
        yield [answer] if isinstance(answer, str) else list(answer)


_REQUESTS: dict[str, Callable[[Session, dict[str, Any]], Iterator[Any]]] = {
    "score": _score,
    "items": _items,
    "contract": _contract,
    "batch": _batch,
    "solve": _solve,
}


def _limit(setup: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = setup.get("memory_mb") or 0
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))


def _write(replies: TextIO, value: Any) -> None:
    replies.write(json.dumps(_plain(value)) + "\n")
    replies.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_plain(item) for item in value] if isinstance(value, list) else value


def main(requests: TextIO, replies: TextIO) -> None:
    """Serve requests until the pipe is closed."""
    setup = json.loads(requests.readline())
    sys.path[:] = setup["path"]
    _limit(setup)
    warnings.simplefilter("ignore")
    try:
        session = Session(setup)
        _write(replies, {"ready": True})
    except MintEnvsError as error:
        _write(replies, {"failed": str(error), "mistake": True})
        return
    except BaseException as error:
        _write(replies, {"failed": f"loading it raises {named(error)}"})
        return
    for line in requests:
        request = json.loads(line)
        for value in _REQUESTS[request["do"]](session, request):
            _write(replies, value)


def _end_with_parent(source: int, target: int) -> None:
    """See to it that a function that hangs does not outlive a benchmark that was killed.

    A process of its own watches the pipe of the requests: a thread could not, since what hangs may
    hold the interpreter.
    """
    worker = os.getpid()
    if os.fork():
        return
    os.close(target)  # or the parent would not see the worker's end
    watch = select.poll()
    watch.register(source, 0)  # tells of nothing but the other side's end
    while not watch.poll(1000) and os.getppid() == worker:
        pass
    if os.getppid() == worker:
        os.kill(worker, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    source, target = map(int, sys.argv[1:])
    _end_with_parent(source, target)
    channels = os.fdopen(source, "r"), os.fdopen(target, "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    main(*channels)
