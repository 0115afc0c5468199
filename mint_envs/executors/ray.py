"""The executor ``"ray"``: work on the nodes of a Ray cluster. Needs: pip install 'mint-envs[ray]'.

Work goes out as plain Ray tasks of one CPU each. Ray runs a task again when its worker or its node
is lost; nothing is kept on a node that could not be made again from what this process holds.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from typing import Any

from ..core import Task
from ..errors import SettingError, require
from .port import Lost, TaskTable, Work, remembered

_TRIES = 4
_CANNOT_LOAD = (
    "a node of the cluster cannot load the task: {}. Install the package that defines it on every "
    "node, or name it to Ray: ray.init(runtime_env={{'py_modules': [...]}}) before the first use"
)


class RayExecutor:
    """Work on a Ray cluster.

    Args:
        address: of the cluster (``"auto"``, ``"ray://host:10001"``); None: the one that this
            process is connected to, or that RAY_ADDRESS names, or that runs on this machine; or
            else a new one here.
        cpus: that a piece of work is counted as; more, for tasks that use several.

    Raises:
        SettingError: Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, cpus: float = 1.0) -> None:
        try:
            import ray
        except ImportError as error:
            raise SettingError("executor='ray' needs: pip install 'mint-envs[ray]'") from error
        self._ray, self._address = ray, address
        self._started = self._closed = False
        self._cluster: Any = None
        self._cpus = cpus
        self._run = ray.remote(_run_on_node).options(num_cpus=cpus, max_retries=_TRIES - 1)
        self._join()

    @property
    def slots(self) -> int:
        """How many pieces run at once on the CPUs that the cluster has now."""
        self._join()
        return max(1, int(self._ray.cluster_resources().get("CPU", 1) / self._cpus))

    def submit(self, function: Work, task: Task[Any] | None, item: Any) -> Future[Any]:
        self._join()
        name, reference = self._tasks.get(task)
        # In a list: Ray then sends the reference, and a worker gets the task once and keeps it.
        asked = self._run.remote(function, name, [reference], item)
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()
        asked.future().add_done_callback(lambda done: self._settle(found, done))
        return found

    def close(self) -> None:
        """Leave the cluster, if this joined it."""
        self._closed = True
        if self._started and self._ray.is_initialized():
            self._ray.shutdown()

    def _join(self) -> None:
        """Join the cluster, if that is to be done: a program may leave it and call ray.init again.

        What was put into an earlier one is not in this one, so tasks are put anew.
        """
        require(not self._closed, "this executor is closed: make another")
        if not self._ray.is_initialized():
            self._connect()
        context = self._ray.get_runtime_context()
        cluster = context.get_node_id(), context.get_job_id()
        if cluster != self._cluster:
            self._cluster, self._tasks = cluster, TaskTable(self._ray.put)

    def _connect(self) -> None:
        self._started = True
        try:
            self._ray.init(
                address=self._address, log_to_driver=False, logging_level="warning",
                include_dashboard=False if self._address is None else None,
            )  # fmt: skip
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise SettingError(
                f"executor='ray': no cluster at {self._address or 'this machine'}: {error}"
            ) from error

    def _settle(self, found: Future[Any], done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            found.set_result(done.result())
        elif isinstance(error, self._ray.exceptions.RayTaskError):
            found.set_exception(error.cause if isinstance(error.cause, Exception) else error)
        else:  # a worker, a node or an object was lost, once too often
            found.set_exception(Lost(f"{type(error).__name__}: {str(error).splitlines()[0]}"))


#: Tasks that this worker has been sent, by name.
_known: OrderedDict[str, Any] = OrderedDict()


def _run_on_node(function: Work, name: str, references: list[Any], item: Any) -> Any:
    """What runs on a node."""
    return function(remembered(_known, name, lambda: _get_task(references[0])), item)


def _get_task(reference: Any) -> Any:
    import ray

    from ..sandbox.port import limit_workers

    limit_workers(1)  # Ray has a worker for every core already
    try:
        return ray.get(reference)
    except ray.exceptions.RaySystemError as error:
        raise SettingError(_CANNOT_LOAD.format(error)) from None
