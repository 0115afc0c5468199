"""The parent's end of a worker: a time-out for every reply, and a new process after a death."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...children import ChildGone, ChildLate, LineChild
from ...errors import MintEnvsError, SettingError
from ...loading import is_file
from ...problems import ProblemRef, Turns
from ...responses.items import Item
from .forks import CLOCK, crowd
from .targets import Target

Pair = tuple[int, Turns]

_START_S = 300.0  # importing a user's module may load a model
_GRACE_S = 0.5  # a closed pipe ends it, with its sandbox
_ENDING_S = 5.0
_MOST_LOST = 20  # responses that hang or end the process, before it is given up
_MOST_LOST_S = 300.0  # by the clock, that such responses took
_SOON_S = 1.0  # and twenty times what the slowest answer took
_OFTEN = 3  # responses that hang, from which on copies score: they are ended at less cost
_LEAST_S = 0.5  # that an answer is waited for, whatever the time
_SLOW_S = 1.0  # an error that takes longer counts with them: memory that runs out, say


class WorkerDied(MintEnvsError):
    """The child process ended, or did not answer in time."""


class TimeOver(WorkerDied):
    """The time of the whole benchmark was over before an answer came: nobody's fault."""


@dataclass(frozen=True, slots=True)
class TargetVerdict:
    """What one response got.

    Args:
        status: ``"ok"``, ``"unmeasured"``, ``"range"`` (no number in the range), ``"error"``
            (it raised), ``"died"`` (the process ended) or ``"hung"`` (no answer in time).
        score: in [0, 1]; None unless ``status`` is ``"ok"``.
        note: what went wrong.
        seconds: wall time of the call.
        ran: the response was run as code in the process of the reward function.
        raw: the number that the function returned, if it is one.
    """

    status: str
    score: float | None
    note: str = ""
    seconds: float = 0.0
    ran: bool = False
    raw: float | None = None

    @property
    def paid(self) -> bool:
        """Half of the full mark or more."""
        return self.score is not None and self.score >= 0.5


class TargetWorker:
    """A target in a child process of its own.

    Args:
        target: what to load.
        problems: how many of its problems to take.
        wanted: problems to take besides; None for all there are.
        timeout_s: seconds of CPU time of the child for one reply; by the clock, six times that, and
            more on a crowded machine.
        memory_mb: address space of the child; 0: half of what is free.
        hash_seed: of the child's ``hash``.
        clock: whether its clock can be moved.
    """

    def __init__(
        self,
        target: Target,
        problems: int = 32,
        wanted: Sequence[ProblemRef] | None = (),
        timeout_s: float = 20.0,
        memory_mb: int = 0,
        hash_seed: str = "1",
        clock: bool = False,
    ) -> None:
        self._setup: dict[str, Any] = {
            "target": asdict(target),
            "problems": problems,
            "wanted": None if wanted is None else [ref.to_row() for ref in wanted],
            "memory_mb": memory_mb,
            "path": _path(target),
            "clock": clock,
        }
        self.timeout_s, self._hash_seed = timeout_s, hash_seed
        self._child: LineChild | None = None
        self.starts = 0
        self.lost, self.lost_s = 0, 0.0
        self._died = False
        self._threads = 0  # of the process when it was started
        self._function = True
        self._bounds: tuple[float, float] | None = None
        self._hung, self._slowest = 0, 0.0
        self.most_lost_s = _MOST_LOST_S
        self.over = math.inf  # on the clock ``monotonic``: from then on no answer is waited for

    def __enter__(self) -> TargetWorker:
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        self._kill()

    @property
    def alive(self) -> bool:
        """Whether its process runs, so that nothing need be loaded for the next response."""
        return self._child is not None

    def _start(self) -> None:
        command = [sys.executable, "-m", "mint_envs.bench.target.worker"]
        self._child = LineChild(command, own_pipes=True, env=_worker_environ(self._hash_seed))
        self.starts += 1
        name = self._setup["target"]["name"]
        try:
            self._send(self._setup)
            answer = self._receive(_START_S)
        except TimeOver:
            self._kill()
            raise
        except WorkerDied as error:
            self._kill()
            raise WorkerDied(f"{name}: while it is loaded, {error}") from None
        if "failed" in answer:
            self._kill()
            text = " ".join(answer["failed"].split())
            raise SettingError(text) if answer.get("mistake") else WorkerDied(f"{name}: {text}")
        self._threads = self._count_threads()
        if self._bounds is not None:
            self._send({"do": "range", "bounds": self._bounds})
            self._receive(_START_S)
        if self._died:
            self._warm()

    def _warm(self) -> None:
        """Score something, so that each copy need not import what is imported when it is used."""
        try:
            self._send({"do": "warm"})
            self._receive(self.timeout_s)
        except WorkerDied:
            self._kill()
            self._died = False
            self._start()
            self._died = True

    def set_range(self, low: float, high: float) -> None:
        """Let rewards be scaled from these bounds."""
        self._bounds = low, high
        self.ask("range", bounds=self._bounds)

    def _count_threads(self) -> int:
        """Return the number of threads of the process; 0 where it cannot be known."""
        assert self._child is not None
        try:
            return len(os.listdir(f"/proc/{self._child.pid}/task"))
        except OSError:
            return 0  # not Linux

    def _kill(self) -> None:
        if self._child is not None:
            self._child.end(_GRACE_S)
            self._child = None

    def _send(self, value: Any) -> None:
        assert self._child is not None
        try:
            self._child.send(json.dumps(value).encode() + b"\n", _START_S)
        except ChildGone:
            raise WorkerDied(self._ending()) from None
        except ChildLate as error:
            raise WorkerDied(str(error)) from None

    def _receive(self, timeout_s: float) -> Any:
        """Return the next reply.

        Raises:
            WorkerDied: there is none.
            TimeOver: it was waited for until ``over``.
        """
        assert self._child is not None
        left = max(_LEAST_S, self.over - time.monotonic())
        try:
            wall = CLOCK * timeout_s * crowd()
            return json.loads(self._child.line(min(wall, left), timeout_s))
        except ChildGone:
            raise WorkerDied(self._ending()) from None
        except ChildLate as error:
            if time.monotonic() > self.over:
                raise TimeOver("the time was over") from None
            raise WorkerDied(str(error)) from None
        except ValueError:
            raise WorkerDied("it wrote into the channel of the benchmark") from None

    def _ending(self) -> str:
        assert self._child is not None
        try:
            self._child.wait(_ENDING_S)
        except ChildLate:
            return "it closed the channel of the benchmark"
        return f"its process ended with code {self._child.end()}"

    def ask(self, do: str, replies: int = 1, timeout_s: float = 0.0, **request: Any) -> list[Any]:
        """Return the replies to a request; a fresh process serves the next one after a failure."""
        if self._child is None:
            self._start()
        try:
            self._send({"do": do, **request})
            return [self._receive(timeout_s or self.timeout_s) for _ in range(replies)]
        except WorkerDied:
            self._kill()
            raise

    def about(self) -> tuple[list[Item], dict[str, Any]]:
        """Return the problems, and what else is known of the target."""
        apart_s = 3 * self.timeout_s
        about = self.ask("items", timeout_s=_START_S + apart_s, apart_s=apart_s)[0]
        if "failed" in about:
            raise WorkerDied(f"{self._setup['target']['name']}: {about['failed']}")
        self._function = about["function"]
        return [Item.from_json(row) for row in about.pop("items")], about

    def score(self, pairs: Sequence[Pair]) -> list[TargetVerdict]:
        """Return the verdicts in order."""
        return list(self.each(pairs))

    def each(
        self,
        pairs: Sequence[Pair],
        apart: bool = False,
        gold: str | None = None,
        until: float = math.inf,
    ) -> Iterator[TargetVerdict]:
        """Yield the verdicts one by one, in order; a death costs one response, not the others.

        Args:
            pairs: the problems by their places, and the responses.
            apart: each response of a function is scored in a copy of the child, for responses that
                may do anything to the process that scores them.
            gold: put in place of the rows'.
            until: on the clock ``monotonic``; no process is started after it, so that what comes
                after a death then is left out.
        """
        done, many = 0, 64
        apart = (apart or self._died) and self._function
        if apart and self._child is not None and self._count_threads() != self._threads:
            self._kill()  # what is copied has no pool yet: its threads would be missing in a copy
        while done < len(pairs):
            self._give_up()
            if self._child is None:
                if time.monotonic() > until:
                    return
                self._start()
            chunk = pairs[done : done + many]
            try:
                for verdict in self._counted(chunk, apart, gold):
                    yield verdict
                    done += 1
                    self._give_up()
            except TimeOver:
                if until == math.inf:
                    raise
                return
            apart = (apart or self._died) and self._function

    def _counted(
        self, chunk: Sequence[Pair], apart: bool, gold: str | None
    ) -> Iterator[TargetVerdict]:
        """Yield verdicts; count what is lost, and how long the slowest answer took."""
        start = time.monotonic()
        for verdict in self._chunk(chunk, self._limit if apart else 0, gold):
            if verdict.status == "ok":
                self._slowest = max(self._slowest, verdict.seconds)
            if self._is_lost(verdict, apart):
                self.lost += 1
                self.lost_s += time.monotonic() - start
            yield verdict
            start = time.monotonic()

    @property
    def _limit(self) -> float:
        """Seconds of CPU time for a response: less once one has hung, if all others were fast."""
        return min(self.timeout_s, _SOON_S + 20 * self._slowest) if self._hung else self.timeout_s

    def _is_lost(self, verdict: TargetVerdict, apart: bool) -> bool:
        slow = verdict.status == "error" and verdict.seconds > _SLOW_S
        return slow or verdict.status == "hung" or (verdict.status == "died" and not apart)

    def _give_up(self) -> None:
        too_long = self.lost_s > min(self.most_lost_s, _MOST_LOST_S) and self.lost > 1
        if self.lost > _MOST_LOST or too_long:
            raise WorkerDied(f"{self.lost} responses hung or ended the process")

    def _chunk(
        self, chunk: Sequence[Pair], apart_s: float, gold: str | None
    ) -> Iterator[TargetVerdict]:
        """Yield verdicts until the chunk is done or the process must be replaced."""
        try:
            self._send({"do": "score", "pairs": chunk, "apart_s": apart_s, "gold": gold})
            for _ in chunk:
                verdict = TargetVerdict(*self._receive(self._limit + apart_s))
                if verdict.ran and not apart_s:
                    self._replace()  # what else it changed in there nobody knows
                    yield verdict
                    return
                yield verdict
        except TimeOver:
            self._kill()
            raise
        except WorkerDied as error:
            status = "hung" if "within" in str(error) else "died"
            self._hung += status == "hung"
            self._kill() if status == "hung" and self._hung < _OFTEN else self._replace()
            yield TargetVerdict(status, None, str(error))

    def renew(self) -> None:
        """Go on in a fresh process, in which responses are no longer scored in copies."""
        self._kill()
        self._died, self._hung = False, 0

    def _replace(self) -> None:
        """End the process; from now on only copies of the next one score."""
        self._kill()
        self._died = True


def _path(target: Target) -> list[str]:
    """Return where the child finds modules: first in the working folder, as a script does.

    Not so for a file, whose name another file there may have: it is found by its path.
    """
    return sys.path[:] if is_file(target.name) else [str(Path.cwd()), *sys.path]


def _worker_environ(hash_seed: str) -> dict[str, str]:
    package = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
