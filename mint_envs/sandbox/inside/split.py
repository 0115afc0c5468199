"""The tests' half of a split check: the program is in another process, behind stubs."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable
from typing import Any

from . import pytest_like
from .foreign import HarnessFailed, stub
from .names import UNCLEAR, readings
from .records import Records, describe_error
from .stubs import Program
from .wire import encode_outward

#: Errors of the tests' own that a program could bring about without being called: by a full disk,
#: a lack of memory or of threads.
_SHARED = (OSError, MemoryError, RuntimeError)


def tests(job: dict[str, Any], records: Records, peer: int) -> None:
    """Run the tests; this process writes the records.

    Where it is not clear which built-in names are the program's, all is run once for each reading.
    """
    whose = job["names"] or [()] * len(job["steps"])
    own: set[str] = set()
    sys.modules["pytest"] = pytest_like.module
    if any(whose) and not records.attempt(-1, lambda: own.update(_own_names(job, peer))):
        return
    plays = [readings(names, own) for names in whose]
    rounds = max(map(len, plays), default=1)
    book = records if rounds == 1 else _Book()
    for turn in range(rounds):
        _Round(job, book, peer, own, [play[turn % len(play)] for play in plays]).run()
    if isinstance(book, _Book):
        book.write(records)


def _own_names(job: dict[str, Any], peer: int) -> set[str]:
    return Program(peer, [], {}).ask_own_names()


class _Book(Records):
    """Keeps the results of several rounds: a step has a value only if all agree."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[str, Any]] = {}

    def add(self, index: int, kind: str, payload: Any) -> None:
        old = self._kept.setdefault(index, (kind, payload))
        if old[0] == "error" or old == (kind, payload):
            return
        unclear = ["Unsupported", f"Unsupported: {UNCLEAR}"]
        self._kept[index] = ("error", payload if kind == "error" else unclear)

    def write(self, records: Records) -> None:
        for index, (kind, payload) in sorted(self._kept.items()):
            records.add(index, kind, payload)


class _Round:
    """The tests from first to last, by one reading of each."""

    def __init__(
        self, job: dict[str, Any], records: Records, peer: int, own: set[str],
        plays: list[set[str]],
    ) -> None:  # fmt: skip
        self._job, self._records, self._plays = job, records, plays
        self._unclear = bool(job["names"])  # which names are the program's is its own choice
        self._scope: dict[str, Any] = {"__name__": "tests"}
        self._program = program = Program(peer, job["classes"], self._scope)
        roles = dict(job["roles"])
        self._stubs = {_bound(n): stub(program, n, roles.get(n, "")) for n in job["stubs"]}
        self._values = [name for name, role in roles.items() if role == "value"]
        self._compiled = {i: job["raw"][start:end] for i, start, end in job["compiled"]}
        self._own = {n: stub(program, n, "") for n in own if any(n in p for p in plays)}
        self._tools = {
            "__settle__": program.settle,
            "__ahead__": program.ahead,
            "__run__": lambda *path: pytest_like.run(self._scope, *path),
        }

    def run(self) -> None:
        if not self._attempt(-1, self._prepare):
            return
        index = -self._job["first"]
        for place, own in enumerate(self._plays, 1):
            self._program.eager = self._job["steps"][place - 1][0] == "now"
            self._choose(own)
            done = self._attempt(max(index, -1), lambda place=place: self._step(place))  # type: ignore[misc]
            if not done and (index < 0 or self._job["stop_early"]):
                return
            index += 1
        if not self._program.calls and not self._unclear:
            self._records.add(index, "error", ["HarnessFailed", "no test has called the program"])

    def _attempt(self, index: int, action: Callable[[], Any]) -> bool:
        """Record what comes of a step; what fails before the program is called is not its fault."""

        def told() -> Any:
            try:
                return action()
            except HarnessFailed:
                raise
            except Exception as error:
                if self._program.calls or self._unclear or isinstance(error, _SHARED):
                    raise
                raise HarnessFailed(
                    f"the tests failed before they called the program: {describe_error(error)[1]}"
                ) from None

        return self._records.attempt(index, told)

    def _prepare(self) -> None:
        self._scope.update(self._stubs)
        self._scope.update(self._tools)
        words = self._job["words"]
        self._program.stops = "StopIteration" in words
        if "seed(" in words:
            self._share_seeds("numpy" in words)
        self._execute(0, self._job["setup"])
        self._scope.update(self._stubs)  # the setup may hold the prompt, which defines it too

    def _share_seeds(self, with_numpy: bool) -> None:
        import random

        self._program.share_seed("random", random, lambda: list(random.getstate()))
        if with_numpy:
            import numpy

            legacy: Any = numpy.random

            def state() -> list[Any]:
                kind, keys, *rest = legacy.get_state()
                return [kind, keys.tolist(), *rest]

            self._program.share_seed("numpy", legacy, state)

    def _execute(self, place: int, text: str) -> bool:
        """Run a piece of test code; the caller has compiled what is large."""
        code = self._compiled.get(place)
        exec(marshal.loads(code) if code else _code_of(text, "exec"), self._scope)
        return True

    def _evaluate(self, text: str) -> Any:
        return encode_outward(eval(_code_of(text, "eval"), self._scope))

    def _choose(self, own: set[str]) -> None:
        for name, stand_in in self._own.items():
            if name in own:
                self._scope[name] = stand_in
            elif self._scope.get(name) is stand_in:
                del self._scope[name]

    def _step(self, place: int) -> Any:
        """Return the value of a step."""
        failed = self._program.failed
        failed.clear()
        for name in self._values:
            self._scope[name] = self._program.call(f"={name}", (), {})
        kind, text = self._job["steps"][place - 1]
        value = self._execute(place, text) if kind == "exec" else self._evaluate(text)
        self._program.settle()
        if failed:  # ``except:`` in tests is no way out
            raise failed[0]
        return value


def _bound(name: str) -> str:
    """Return what the tests call a stub: an entry that is ``max`` is not their ``max``."""
    builtins = vars(sys.modules["builtins"])
    return name if name.isidentifier() and name not in builtins else "candidate"


def _code_of(text: str, kind: str) -> Any:
    return compile(text, "tests.py", kind, dont_inherit=True)
