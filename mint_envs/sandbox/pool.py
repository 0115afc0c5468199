"""Many zygotes over all cores, behind one ``run``: safe from threads, asyncio and after a fork."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .blame import settle
from .environment import HEAVY, PythonEnvironment
from .port import Job, Outcome, cpu_count
from .toolchains import TOOLCHAINS, Artifacts, run_compiled
from .worker import SandboxWorker, TierRefused, ZygoteLost

#: How many zygotes in a row may be found dead before a job is given to them, or as they start.
_STARTS = 20
#: Modules that cost tens of milliseconds to import, or make each fork dearer if they are: a program
#: that names one of them goes to a zygote that has them.
_LIBRARY = ("dataclasses", "datetime", "decimal", "fractions", "statistics", "threading", "json")
_KINDS = (
    ("numpy", ("numpy",), (*_LIBRARY, "numpy")),
    ("library", (*_LIBRARY, "unittest", "asyncio"), _LIBRARY),
)

#: Every pool of this process, so that a forked child can let go of them.
_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


class Pool:
    """A backend on this machine: at most ``workers`` zygotes of each kind, started when needed.

    A kind is what the zygote was made ready for: plain Python, Python with more of its library or
    numpy imported (180 ms that a program would pay for each time), or another language's tools.

    Args:
        tier: ``"namespaces"``, ``"landlock"`` or ``"plain"``.
        workers: programs run at the same time; 0 means one for each CPU of this process.
        environment: whose packages programs may import.

    Raises:
        TierRefused: the tier does not work on this machine.
    """

    def __init__(
        self, tier: str, workers: int = 0, environment: PythonEnvironment | None = None
    ) -> None:
        self.tier = tier
        self._environment = environment
        self.workers = workers or cpu_count()
        self._begin_anew()
        with self._kind("python"):
            pass  # fail now rather than at the first job
        _POOLS.add(self)

    def _begin_anew(self) -> None:
        self._changed = threading.Condition()
        self._artifacts = Artifacts()
        self._idle: dict[str, list[SandboxWorker]] = {}
        self._count: dict[str, int] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs at once as far as there are workers; outcomes keep the order."""
        if len(jobs) == 1 or self.workers == 1:
            return [self._run_one(job) for job in jobs]
        return list(self._executor().map(self._run_one, jobs))

    def close(self) -> None:
        with self._changed:
            self._closed = True
            idle = [worker for workers in self._idle.values() for worker in workers]
            self._idle.clear()
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        for worker in idle:
            worker.close()

    def _executor(self) -> ThreadPoolExecutor:
        with self._changed:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.workers, "mint-sandbox")
            return self._threads

    def _run_one(self, job: Job) -> Outcome:
        """Run a job; when its zygote is lost, again on another, until it is clear whose fault."""
        kind = self._kind_of(job)
        return settle(lambda it: self._try(it, kind), lambda it: self._try(it, kind), job)

    def _try(self, job: Job, kind: str) -> Outcome:
        """Run a job once; the outcome says so if its zygote, or the machine, let it down."""
        for _ in range(_STARTS):
            try:
                with self._kind(kind) as lease:
                    if job.language != "python":
                        return run_compiled(lease.worker, job, self._artifacts)
                    return lease.worker.run(job)
            except ZygoteLost as error:
                reason = str(error)
                if error.begun:
                    break
            except (TierRefused, OSError) as error:  # no sandbox, no descriptor, no memory
                reason = str(error)
                break
        return Outcome(failure=reason)

    def _kind(self, kind: str) -> _Lease:
        return _Lease(self, kind)

    # -- leases -----------------------------------------------------------------------------------

    def _take(self, kind: str) -> SandboxWorker:
        with self._changed:
            while True:
                if self._closed:
                    raise TierRefused("the sandbox is closed")
                if idle := self._idle.get(kind):
                    return idle.pop()
                if self._count.get(kind, 0) < self.workers:
                    self._count[kind] = self._count.get(kind, 0) + 1
                    break
                self._changed.wait()
        try:
            return self._start(kind)
        except BaseException:
            self._give_up(kind)
            raise

    def _start(self, kind: str) -> SandboxWorker:
        """Start a worker; one that is killed while it starts is no reason to give up."""
        for _ in range(_STARTS - 1):
            try:
                return self._new_worker(kind)
            except ZygoteLost:
                pass
        try:
            return self._new_worker(kind)
        except ZygoteLost as error:
            raise TierRefused(str(error)) from None

    def _kind_of(self, job: Job) -> str:
        if job.language != "python":
            return job.language
        text = f"{job.program}\n{job.setup}"
        if self._environment and _names_one(text, HEAVY):
            return "packages"
        return next((kind for kind, words, _ in _KINDS if _names_one(text, words)), "python")

    def _new_worker(self, kind: str) -> SandboxWorker:
        preloads: dict[str, tuple[str, ...]] = {
            "python": (),
            **{name: modules for name, _, modules in _KINDS},
        }
        if self._environment:
            preloads["packages"] = (*_LIBRARY, *self._environment.heavy())
        if kind in preloads:
            return SandboxWorker(self.tier, preloads[kind], environment=self._environment)
        return SandboxWorker(self.tier, toolchain=tuple(TOOLCHAINS[kind].paths()))

    def _give_up(self, kind: str) -> None:
        with self._changed:
            self._count[kind] -= 1
            self._changed.notify()

    def _give_back(self, kind: str, worker: SandboxWorker, sound: bool) -> None:
        with self._changed:
            sound = sound and not self._closed
            if sound:
                self._idle.setdefault(kind, []).append(worker)
                self._changed.notify()
        if not sound:
            worker.close()
            self._give_up(kind)

    def _after_fork(self) -> None:
        """In a forked child: the zygotes are the parent's; start others when they are needed."""
        for workers in self._idle.values():
            for worker in workers:
                worker.forget()
        closed = self._closed
        self._begin_anew()
        self._closed = closed


def _names_one(text: str, words: Iterable[str]) -> bool:
    """Tell whether one of the words is in a text; to search for all at once takes far longer."""
    return any(word in text and re.search(rf"\b{word}\b", text) for word in words)


class _Lease:
    """A worker for the time of a ``with`` block; a broken one is not used again."""

    def __init__(self, pool: Pool, kind: str) -> None:
        self._pool, self._kind = pool, kind

    def __enter__(self) -> _Lease:
        self.worker = self._pool._take(self._kind)
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        # An OSError is this process's own, which has no descriptor or memory left.
        harmless = kind is None or issubclass(kind, OSError)
        self._pool._give_back(self._kind, self.worker, harmless and self.worker.sound)


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool._after_fork()


os.register_at_fork(after_in_child=_forget_all)
