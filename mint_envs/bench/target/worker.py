"""The process in which a user's reward function runs (``-m mint_envs.bench.target.worker``).

It may hang, exit, print, or run a hostile response in its own process; the parent notices and
starts another. Requests and replies are lines of JSON on two pipes; standard output is not used.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

# By name: what a reward function puts into these modules is no part of the benchmark.
from json import loads
from pathlib import Path
from select import poll
from time import perf_counter
from typing import Any, TextIO

from ...core import Task
from ...errors import ContractError, MintEnvsError, RewardError, SettingError
from ...interop.mint import AdapterTask
from ...loading import imported
from ...problems import NoVerdict, ProblemRef, Turns, play
from ...responses.hacks import CANARY
from ...responses.items import describe_item, settled
from ...testing.guards import Watch, in_thread
from ...testing.verdicts import error_text
from . import clock
from .forks import NoAnswer, in_fork, write_reply
from .functions import no_number, number_of
from .rows_task import FunctionTask, as_float, raw_value, reward_text, sees_of, with_gold
from .targets import FOREIGN, Target, load

_ROUNDING = 1e-6  # of the range: a sum of parts that comes out a little beyond it

_UNREAD = "its problems cannot be read"
_BATCH = 64
_FEW = 1000  # rows of a function that are all taken
_PROGRAM = re.compile(r"^(def|class|import|from) ", re.MULTILINE)


class LoadedTarget:
    """A target and its problems, as the child process has them."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.target = target = Target(**setup["target"])
        self.task: Task[Any] = load(target)
        wanted = setup["wanted"]
        refs = None if wanted is None else [ProblemRef(**row) for row in wanted]
        self.refs = _refs(self.task, setup["problems"], refs)
        try:
            self.problems = [ref.of(self.task) for ref in self.refs]
        except Exception as error:  # of an adapter, which makes its prompts here
            raise SettingError(f"{target.name}: {_UNREAD}: {error_text(error)}") from error

    def items(self) -> list[dict[str, Any]]:
        pairs = enumerate(zip(self.refs, self.problems, strict=True))
        found = [describe_item(self.task, problem, i, ref) for i, (ref, problem) in pairs]
        return [item.to_json() for item in settled(found)]

    def verdict(self, index: int, turns: list[str], gold: str | None = None) -> list[Any]:
        """Return [status, score, note, seconds, whether the response was run in here, its number].

        ``gold``: another right answer than that of the row.
        """
        sys.modules.pop(CANARY, None)
        start = perf_counter()
        problem = self.problems[index] if gold is None else with_gold(self.problems[index], gold)
        status, score, note, raw = _score_turns(self.task, problem, tuple(turns))
        seconds = perf_counter() - start
        return [status, score, note, seconds, sys.modules.pop(CANARY, None) is not None, raw]


def _refs(task: Task[Any], count: int, wanted: list[ProblemRef] | None) -> list[ProblemRef]:
    """Return which problems to take: ``count`` spread over the data set, and those wanted."""
    size = task.size
    if isinstance(task, FunctionTask) and (wanted != [] or task.size <= _FEW):
        wanted = None  # its rows are those of the saved responses, or few
    if wanted is None and size is None:
        raise SettingError(
            "an endless environment finds a problem by 'index' or 'seed' only, and the rows have "
            "neither: give it their problems (--set dataset=FILE), or name a reward function"
        )
    if size is None or wanted is None or size <= count:
        chosen = list(range(size if size is not None else count))
    else:
        chosen = [i * size // count for i in range(count)]  # a part that speaks for the whole
    refs = [ProblemRef(index=index) for index in chosen]
    return list(dict.fromkeys([*refs, *(_by_index(task, ref) for ref in wanted or [])]))


def _by_index(task: Task[Any], ref: ProblemRef) -> ProblemRef:
    """Return the same problem by its index, where it is an endless task's: one has one name."""
    if task.size is None and ref.seed is not None:
        return ProblemRef(index=ref.seed)
    return ref


Scored = tuple[str, Any, str, float | None]


def _score_turns(task: Task[Any], problem: Any, turns: Turns) -> Scored:
    """Return (status, score, note, number); status is "ok", "unmeasured", "range" or "error"."""
    try:
        if isinstance(task, FOREIGN):
            return _scaled(task, number_of(raw_value(task, problem, turns[-1])))
        reward = play(task, problem, turns)
    except (RewardError, NoVerdict) as error:
        return "range", None, str(error), None
    except MintEnvsError as error:
        return "error", None, f"{type(error).__name__}: {error}", None
    except BaseException as error:
        return "error", None, error_text(error), None
    if reward.score is None:
        return "unmeasured", None, str(reward.metadata.get("reason", ""))[:200], None
    return "ok", reward.score, "", reward.score


def _scaled(task: Any, value: Any) -> Scored:
    """Scale what a user's reward returned to its range."""
    if value is None:
        return "unmeasured", None, "", None
    number, shown = as_float(value), reward_text(value)
    if number is None:
        return "range", None, f"score={shown} is {no_number(value)}", None
    low, high = task.reward_range
    if not low <= number <= high:  # NaN too
        near = low - _ROUNDING * (high - low) <= number <= high + _ROUNDING * (high - low)
        score = (min(max(number, low), high) - low) / (high - low) if near else None
        return "range", score, f"score={shown} is not in [{low:g}, {high:g}]", number
    return "ok", (number - low) / (high - low), "", number


# -- requests -------------------------------------------------------------------------------------


def _score(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    apart = request["apart_s"] if isinstance(loaded.task, FOREIGN) else 0
    gold = request.get("gold")
    for index, turns in request["pairs"]:
        if not apart:
            yield loaded.verdict(index, turns, gold)
            continue
        try:
            yield in_fork(lambda: loaded.verdict(index, turns, gold), apart)  # noqa: B023
        except NoAnswer as error:
            yield [error.status, None, str(error), error.seconds, False, None]


def _list_items(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    task = loaded.task
    try:
        described = _described(loaded, request["apart_s"])
    except BaseException as error:
        yield {"failed": f"{_UNREAD}: {error_text(error)}"}
        return
    yield {
        "items": described,
        "single_turn": task.single_turn,
        "size": task.size,
        "nondeterministic": task.nondeterministic,
        "same_again": getattr(task, "same_again", True),
        "function": isinstance(task, FOREIGN),
        "sees": sorted(sees_of(task)),
        "from_rows": isinstance(task, FunctionTask),
        "stop": list(task.stop),
    }


def _described(loaded: LoadedTarget, seconds: float) -> Any:
    """Return the problems; of an adapter, whose answers are found by asking it, in a copy."""
    if isinstance(loaded.task, AdapterTask):
        try:
            return in_fork(loaded.items, seconds)
        except NoAnswer:
            loaded.task.asks = False
    return loaded.items()


def _run_kit(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Run the conformance kit on the target; yield what it finds and what it tried."""
    from ...testing import check_task

    try:
        report = check_task(
            loaded.task, problems=request["problems"], max_examples=request["texts"]
        )
        yield {"findings": [], "cases": report.cases, "skipped": report.skipped}
    except ContractError as error:
        rows = [[f.check, f.fault, f.advice] for f in error.findings]
        yield {"findings": rows, "cases": {}, "skipped": {}}
    except BaseException as error:  # KeyboardInterrupt, say: what no task may raise
        row = ["any text", f"scoring raises {error_text(error)}", "Any string gets a reward"]
        yield {"findings": [row], "cases": {}, "skipped": {}}


def _batch(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Score batches for some seconds, no program twice; yield [responses scored, seconds]."""
    rounds, done, start = 0, 0, perf_counter()
    in_batches = loaded.task.single_turn and not isinstance(loaded.task, FOREIGN)
    while perf_counter() - start < request["seconds"] or not rounds:
        rounds += 1
        for batch in _pair_batches(request["pairs"]):
            new = [(index, [fresh(text, rounds) for text in turns]) for index, turns in batch]
            if in_batches:
                loaded.task.score_batch([(loaded.problems[i], turns[0]) for i, turns in new])
            else:
                for count, (index, turns) in enumerate(new, 1):
                    loaded.verdict(index, turns)
                    if perf_counter() - start > request["seconds"]:
                        done += count - len(batch)
                        break
            done += len(batch)
            if perf_counter() - start > request["seconds"]:
                break
    yield [done, perf_counter() - start]


def _pair_batches(pairs: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(pairs), _BATCH):
        yield pairs[first : first + _BATCH]


def fresh(text: str, number: int) -> str:
    """Return a response that is another one for a cache of programs, and means the same."""
    return _PROGRAM.sub(lambda found: f"# run {number}\n{found.group()}", text, count=1)


def _solve(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Yield the answers that the user's solver gives to all prompts, or how it failed."""
    try:
        solver = imported(request["solver"])
        answers = [solver(loaded.task.prompt(problem)) for problem in loaded.problems]
        yield [[a] if isinstance(a, str) else None if a is None else list(a) for a in answers]
    except BaseException as error:
        told = str(error) if isinstance(error, MintEnvsError) else f"it raises {error_text(error)}"
        yield {"failed": told}


def _set_range(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """From now on rewards are scaled from these bounds, here and where the task is pickled to."""
    low, high = request["bounds"]
    loaded.task.reward_range = low, high  # type: ignore[attr-defined]
    loaded.target = replace(loaded.target, low=low, high=high)
    loaded.task.source = load, loaded.target  # type: ignore[attr-defined]
    yield {}


def _watched(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Yield for each response what its scoring changes: of the random state, and of its row."""
    watch = Watch()
    for index, turns in request["pairs"]:
        before = repr(loaded.problems[index])
        watch.touched()
        loaded.verdict(index, turns)
        yield [watch.touched(), repr(loaded.problems[index]) != before]


def _threaded(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Yield verdicts that were made in another thread."""
    for index, turns in request["pairs"]:
        yield in_thread(lambda: loaded.verdict(index, turns))  # noqa: B023


def _warm(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Score words that no test asks for, on the last problem."""
    loaded.verdict(len(loaded.problems) - 1, ["I do not know what was asked."])
    yield {}


def _together(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    """Yield what a function of batches gives to all responses in one call; None if it is none."""
    call = getattr(getattr(loaded.task, "call", None), "many", None)
    if call is None:
        yield None
        return
    pairs = [(loaded.problems[index], turns[-1]) for index, turns in request["pairs"]]
    try:
        values = call([(row, loaded.task.prompt(row), text) for row, text in pairs])
        yield [as_float(number_of(value)) for value in values]
    except BaseException as error:
        yield {"failed": error_text(error)}


def _move_clock(loaded: LoadedTarget, request: dict[str, Any]) -> Iterator[Any]:
    clock.move(request["seconds"])
    yield {}


_REQUESTS: dict[str, Callable[[LoadedTarget, dict[str, Any]], Iterator[Any]]] = {
    "score": _score,
    "items": _list_items,
    "contract": _run_kit,
    "batch": _batch,
    "solve": _solve,
    "range": _set_range,
    "watched": _watched,
    "threaded": _threaded,
    "together": _together,
    "warm": _warm,
    "clock": _move_clock,
}


def _limit(setup: dict[str, Any]) -> None:
    """Bound memory: by what was asked, else so that this machine has some left.

    Only the soft limits: a sandbox that the reward uses sets its own.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = (setup.get("memory_mb") or 0) << 20
    if memory:
        _soft_limit(resource.RLIMIT_AS, memory)
    elif sys.platform == "linux":
        _soft_limit(resource.RLIMIT_DATA, _free_memory() // 2)
        with suppress(OSError):  # where others took the rest: this process goes, not theirs
            Path("/proc/self/oom_score_adj").write_text("1000")


def _soft_limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _free_memory() -> int:
    """Return bytes of memory that are free, or can be made so."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def main(requests: TextIO, replies: TextIO) -> None:
    """Serve requests until the pipe is closed."""
    setup = loads(requests.readline())
    sys.path[:] = setup["path"]
    _limit(setup)
    warnings.simplefilter("ignore")
    if setup.get("clock"):
        clock.install()
    try:
        loaded = LoadedTarget(setup)
        write_reply(replies, {"ready": True})
    except MintEnvsError as error:
        write_reply(replies, {"failed": str(error), "mistake": True})
        return
    except BaseException as error:
        write_reply(replies, {"failed": f"loading it raises {error_text(error)}"})
        return
    for line in requests:
        request = loads(line)
        for value in _REQUESTS[request["do"]](loaded, request):
            write_reply(replies, value)


def _end_with_parent(source: int, target: int) -> None:
    """See to it that a function that hangs does not outlive a benchmark that was killed.

    On Linux the kernel does (``children.Child``). Elsewhere a process of its own watches the pipe
    of the requests: a thread could not, since what hangs may hold the interpreter.
    """
    worker = os.getpid()
    if sys.platform == "linux" or os.fork():
        return
    os.close(target)  # or the parent would not see the worker's end
    watch = poll()
    watch.register(source, 0)  # tells of nothing but the other side's end
    while not watch.poll(1000) and os.getppid() == worker:
        pass
    os.killpg(worker, signal.SIGKILL)  # with all that it left behind, and with this process


if __name__ == "__main__":
    source, target = map(int, sys.argv[1:])
    _end_with_parent(source, target)
    channels = os.fdopen(source, "r"), os.fdopen(target, "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    main(*channels)
