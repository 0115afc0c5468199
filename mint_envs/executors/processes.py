"""The executor ``"processes"``: workers on this machine, each a process that can be replaced.

Each worker has a pipe and a thread of its own, and nothing is shared between them: one that is
killed, crashes or is late is replaced, its work is done again, and no other notices.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import OrderedDict
from concurrent.futures import Future
from typing import Any

from ..children import kill_group, kill_on_hangup
from ..core import Task
from ..errors import SettingError, require
from ..family import BUILT_IN
from .orders import Orders
from .port import CannotStart, Lost, TaskTable, Work, remembered

_TRIES = 3
_STARTS = 20
_FIRST_STARTS = 3  # none ever came up: that is no accident
_START_S = 120.0
_PAUSE_S = 0.05
#: Imported once, by the process that workers are forked from: it has one thread, so that is safe.
_PRELOAD = [__name__, *sorted({task.rpartition(".")[0] for task in BUILT_IN.values()})]

_CANNOT_START = (
    "no worker comes up (%s; what it said is above). In a script of your own, begin the work under "
    'if __name__ == "__main__": since each worker imports the script'
)
_CANNOT_LOAD = (
    "a worker cannot load the task: %s. Define its class in a module that a new Python process can "
    "import: an installed one, or a file beside the script, not a notebook"
)

_FORKED = (
    "a process that was forked after executor='processes' was first used can start no workers: use "
    "executor='local' in it, or start it by spawn or forkserver"
)

_Asked = tuple[Future[Any], Work, str, bytes, Any]


class Processes:
    """Workers on this machine.

    A script that uses it needs the usual ``if __name__ == "__main__":``, as with
    ``multiprocessing``.

    Args:
        workers: processes; 0 means one for each CPU.
        deadline_s: seconds of wall clock after which a worker that does not answer is ended, and
            its work lost; None means never.
        nice: by which programs give way to other work (``sandbox.port.give_way``).
    """

    chooses = True

    def __init__(self, workers: int = 0, deadline_s: float | None = None, nice: int = 0) -> None:
        require(0 <= workers <= 1024, f"workers={workers} must be from 0 (one per CPU) to 1024")
        from ..sandbox.port import cpu_count

        self.slots = workers or cpu_count()
        self.replaced = 0  # workers that were lost so far
        self._deadline_s, self._nice = deadline_s, nice
        self._process = os.getpid()
        self._came_up = False  # a worker, ever
        self._tasks = TaskTable(pickle.dumps)
        self._asked: Orders[_Asked] = Orders(self.slots)
        self._closed = False
        self._workers: dict[int, _WorkerProcess] = {}
        self._doing: dict[int, Future[Any]] = {}  # what each thread's worker is at
        self._abandoned: set[Future[Any]] = set()
        self._choosing = threading.Lock()
        self._threads = [
            threading.Thread(target=self._attend, args=(i,), name=f"mint-worker-{i}", daemon=True)
            for i in range(self.slots)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that have been started."""
        return [worker.pid for worker in list(self._workers.values())]

    def submit(
        self, function: Work, task: Task[Any] | None, item: Any, at: int | None = None
    ) -> Future[Any]:
        """As an ``Executor``; ``at`` is the worker, from 0 to ``slots``, that is to do it."""
        require(not self._closed, "this executor is closed: make another")
        require(
            self._process == os.getpid(),
            "this executor was made before the process was forked, and its threads are not in the "
            "copy: make another here",
        )
        future: Future[Any] = Future()
        name, packed = self._tasks.get(task)
        self._asked.put((future, function, name, packed, item), at)
        if self._closed:  # by another thread, since we looked
            self._give_up_waiting()
        return future

    def abandon(self, future: Future[Any]) -> None:
        """End work that nobody waits for: it is not begun, or its worker is replaced.

        The future of work under way raises ``Lost``.
        """
        if future.cancel():
            return
        with self._choosing:
            at = next((i for i, one in self._doing.items() if one is future), None)
            worker = None if at is None else self._workers.get(at)
            if worker is None:
                return
            self._abandoned.add(future)
            worker.kill()

    def close(self) -> None:
        """End the workers, in the middle of their work if they have any."""
        if self._process != os.getpid():
            return  # a copy by fork: the workers are another's
        self._closed = True
        self._give_up_waiting()
        for worker in list(self._workers.values()):
            worker.stop()

    def _attend(self, i: int) -> None:
        """What each thread does: give its worker one piece of work after the other."""
        while (asked := self._asked.take(i)) is not None:
            future = asked[0]
            if not future.set_running_or_notify_cancel():
                continue
            with self._choosing:
                self._doing[i] = future
            try:
                result = self._done(i, *asked)
            except BaseException as error:
                self._at_nothing(i, future)
                future.set_exception(error)
            else:
                self._at_nothing(i, future)
                future.set_result(result)
            del asked, future
        if worker := self._workers.pop(i, None):
            worker.stop()

    def _at_nothing(self, i: int, future: Future[Any]) -> None:
        with self._choosing:
            self._doing.pop(i, None)
            self._abandoned.discard(future)

    def _give_up_waiting(self) -> None:
        """Answer for what nobody will do now, and let the threads end."""
        for future, *_ in self._asked.close():
            if future.set_running_or_notify_cancel():
                future.set_exception(Lost("the executor was closed"))

    def _done(
        self, i: int, future: Future[Any], function: Work, name: str, packed: bytes, item: Any
    ) -> Any:
        reason, tries, starts = "", 0, 0
        while tries < _TRIES and starts < _STARTS:
            if self._closed:
                raise Lost("the executor was closed")
            try:
                return self._worker(i).ask(function, name, packed, item, self._deadline_s)
            except _Late as error:
                self._drop(i)
                raise Lost(str(error)) from None
            except _Gone as error:
                if future in self._abandoned:
                    self._drop(i)
                    self._start_anew(i)
                    raise Lost("it was given up: nobody waits for it") from None
                reason = f"a worker was lost: {error}"
                had_come_up = self._drop(i)
                tries += had_come_up  # one that was killed while it started had not tried
                starts += not had_come_up
                if starts >= _FIRST_STARTS and not self._came_up:
                    raise CannotStart(_CANNOT_START % error) from None
                time.sleep(_PAUSE_S * starts)  # what is out of room has some again
        raise Lost(reason)

    def _worker(self, i: int) -> _WorkerProcess:
        """Return the worker of a thread, which is up.

        Raises:
            _Gone: it was lost while it started.
            _Late: it did not come up in time.
        """
        worker = self._workers.get(i) or self._start(i)
        worker.come_up()
        self._came_up = True
        return worker

    def _start_anew(self, i: int) -> None:
        """Let another worker come up before this place is free: who comes next shall not wait."""
        try:
            self._worker(i)
        except (_Gone, _Late, CannotStart):
            self._drop(i)  # who comes next is told

    def _start(self, i: int) -> _WorkerProcess:
        try:
            worker = self._workers[i] = _WorkerProcess(self._nice)
        except ChildProcessError as error:  # the process that forks workers is another's child
            raise CannotStart(_FORKED) from error
        except (OSError, EOFError) as error:  # it was killed too, or no process is to be had
            raise _Gone(_error_text(error)) from None
        if self._closed:
            worker.stop()
        return worker

    def _drop(self, i: int) -> bool:
        """End the worker of a thread; return whether it had come up."""
        self.replaced += 1
        worker = self._workers.pop(i, None)
        if worker is not None:
            worker.stop()
        return worker is not None and worker.ready


class _WorkerProcess:
    """A process and the pipe to it.

    It is no ``children.Child``, since no program is started: ``multiprocessing`` forks it, from a
    process that has imported what it needs. The end is the same: it goes with its group, and with
    this process.
    """

    def __init__(self, nice: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOAD)
        self._pipe, theirs = context.Pipe()
        watched, self._lifeline = context.Pipe(duplex=False)  # closed with this process
        given = theirs, watched, nice
        self._process = context.Process(target=_serve_pipe, args=given, daemon=True)
        self._process.start()
        theirs.close()
        watched.close()
        self.pid = self._process.pid or 0
        self.ready = self._stopped = False
        self._stopping = threading.Lock()

    def come_up(self) -> None:
        """Wait until it is ready for work; raises as ``ask`` does."""
        if not self.ready:
            self._exchange(None, _START_S)
            self.ready = True

    def ask(
        self, function: Work, name: str, packed: bytes, item: Any, deadline_s: float | None
    ) -> Any:
        """Return the result, or raise the error, of the function.

        Raises:
            _Gone: the worker was lost.
            _Late: it did not answer in time.
        """
        work = pickle.dumps((function, item))
        kind, found = self._exchange((name, None, work), deadline_s)
        if kind == "unknown task":
            kind, found = self._exchange((name, packed, work), deadline_s)
        if kind == "error":
            raise found
        return found

    def _exchange(self, message: Any, deadline_s: float | None) -> Any:
        try:
            if message is not None:
                self._pipe.send(message)
            if not self._pipe.poll(deadline_s):
                raise _Late(f"a worker did not answer within {deadline_s:g} s")
            return self._pipe.recv()
        except (OSError, EOFError) as error:
            raise _Gone(_error_text(error)) from None

    def kill(self) -> None:
        """Kill it, and wait for nothing: its own thread sees the end of its pipe, and stops it."""
        with self._stopping:
            if not self._stopped and self._process.is_alive():
                kill_group(self.pid)

    def stop(self) -> None:
        """End it, once: its own thread and ``close`` may both come here.

        A connection that two threads close at a time closes somebody else's descriptor.
        """
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
            self._lifeline.close()
            if self._process.is_alive():
                kill_group(self.pid)
            self._process.join(5)
            self._pipe.close()


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


class _Gone(Exception):
    """A worker was lost."""


class _Late(Exception):
    """A worker did not answer in time."""


def _serve_pipe(pipe: Any, lifeline: Any, nice: int) -> None:
    """What a worker does until its pipe is closed."""
    os.setsid()
    kill_on_hangup(lifeline.fileno(), -os.getpid())
    if lifeline.poll():  # it was too late for that
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asked
    from ..sandbox.port import give_way, limit_workers

    limit_workers(1)  # there is a worker for every core already
    give_way(nice)
    tasks: OrderedDict[str, Any] = OrderedDict()
    with contextlib.suppress(EOFError, OSError):
        pipe.send("ready")
        while True:
            name, packed, work = pipe.recv()
            pipe.send_bytes(_do_work(tasks, name, packed, work))


def _do_work(tasks: OrderedDict[str, Any], name: str, packed: bytes | None, work: bytes) -> bytes:
    if packed is None and name not in tasks:
        return pickle.dumps(("unknown task", None))
    try:
        task = remembered(tasks, name, lambda: _loaded(packed or b""))
        function, item = pickle.loads(work)
        return pickle.dumps(("value", function(task, item)))
    except Exception as error:
        error.add_note(traceback.format_exc())
        return _packed_error(error)


def _loaded(packed: bytes) -> Any:
    try:
        return pickle.loads(packed)
    except (ImportError, AttributeError) as error:
        raise SettingError(_CANNOT_LOAD % error) from error


def _packed_error(error: Exception) -> bytes:
    """Pickle an error; one that cannot go both ways becomes its text."""
    try:
        packed = pickle.dumps(("error", error))
        pickle.loads(packed)
    except Exception:
        return pickle.dumps(("error", RuntimeError(f"{type(error).__name__}: {error}")))
    return packed
