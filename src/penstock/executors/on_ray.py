"""A `concurrent.futures.Executor` over a Ray cluster: one Ray task a call, results through Ray's object store."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import cache, partial
from typing import Any

import numpy as np

from penstock.core.errors import WorkerError
from penstock.core.lazy import require
from penstock.executors.protocol import LostWorkerError

LOST = ("WorkerCrashedError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError", "RaySystemError")
"""Errors of Ray that tell of a worker, a node or a result that is gone; subclasses count."""


def ray(
    *,
    num_cpus: float = 1,
    resources: Mapping[str, float] | None = None,
    address: str | None = None,
    workers: int | None = None,
) -> RayExecutor:
    """Return an executor that runs tasks on a Ray cluster; `Options(executor="ray")` uses one with these defaults.

    A plan travels to each node once, results come through Ray's object store. A task whose worker or node dies is made
    again, and an element that ends two workers by itself is an error that names it, as with worker processes.

    Args:
        num_cpus: CPUs that a task reserves.
        resources: Custom resources that a task reserves, such as `{"preprocessing": 1}`, by which nodes are chosen.
        address: Address of the cluster, such as `"auto"` or `"ray://head:10001"`. Default: the cluster that this
            process is connected to already, else what `ray.init()` finds or starts.
        workers: Tasks that run at a time. Default: as many as the CPUs of the cluster can run, asked at each start of
            an iterator.

    Raises:
        MissingDependencyError: Ray is not installed.
        WorkerError: No cluster answers at the address, or it runs another version of Ray or of Python.

    >>> executor = ps.executors.ray(num_cpus=2, address="auto")  # doctest: +SKIP
    >>> ds = ps.Dataset.range(1000).map(abs).batch(10)
    >>> for batch in ds.with_options(ps.Options(executor=executor)):  # doctest: +SKIP
    ...     pass
    """
    return RayExecutor(num_cpus=num_cpus, resources=resources, address=address, workers=workers)


@cache
def default_executor() -> RayExecutor:
    """Return the executor of `Options(executor="ray")`, the same for all runs of this process."""
    return ray()


class RayExecutor(Executor):
    """An executor whose tasks are tasks of a Ray cluster; made by `ps.executors.ray()`.

    Ray itself never makes a task again: Penstock does, so that it knows which elements end their worker.
    """

    def __init__(
        self, *, num_cpus: float, resources: Mapping[str, float] | None, address: str | None, workers: int | None
    ) -> None:
        """Connect to the cluster, unless this process is connected already."""
        self._ray: Any = require("ray", extra="ray", purpose="ps.executors.ray()")
        _connect(self._ray, address)
        self._num_cpus = num_cpus
        self._resources = dict(resources or {})
        self._workers = workers
        options = {"num_cpus": num_cpus, "resources": self._resources, "max_retries": 0}
        self._run: Any = self._ray.remote(_run).options(**options, scheduling_strategy="SPREAD")
        self._under_way: set[_RayFuture] = set()
        self._lock = threading.Lock()
        self._is_shut = False

    @property
    def workers(self) -> int:
        """The number of tasks that the cluster can run at a time, at least one."""
        if self._workers is not None:
            return self._workers
        all_of = self._ray.cluster_resources()
        wanted = {"CPU": self._num_cpus, **self._resources}
        fit = [all_of.get(name, 0) / amount for name, amount in wanted.items() if amount > 0]
        return max(int(min(fit, default=1)), 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future of a call that a Ray task makes.

        Raises:
            RuntimeError: The executor was shut down.
        """
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
        reference = self._run.remote(fn, args, kwargs)
        future = _RayFuture()
        with self._lock:
            self._under_way.add(future)
        reference.future().add_done_callback(partial(self._done, future))
        return future

    def keep(self, data: bytes) -> Stored:
        """Put bytes into the object store, which carries them to each node once."""
        return Stored(self._ray.put(data))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; the connection to the cluster stays, for other executors and for the caller."""
        with self._lock:
            self._is_shut = True
            under_way = list(self._under_way)
        for future in under_way:
            if cancel_futures:
                future.cancel()
        if wait:
            for future in under_way:
                future.finished.wait()

    def _done(self, future: _RayFuture, answer: Future[Any]) -> None:
        with self._lock:
            self._under_way.discard(future)
        future.settle(answer)


class Stored:
    """Bytes in the object store of the cluster."""

    def __init__(self, reference: Any) -> None:
        """Hold the bytes in the store for as long as this object, or a task that was given it, lives."""
        self._reference = reference

    def load(self) -> bytes:
        """Return the bytes."""
        return require("ray", extra="ray", purpose="a worker of a Ray cluster").get(self._reference)


class _RayFuture(Future[Any]):
    """The future of a Ray task, which runs to its end although the future may be canceled.

    Ray 2.60 ends the whole process now and then if a task is canceled just as it ends (`ray.cancel`).
    """

    def __init__(self) -> None:
        super().__init__()
        self.finished = threading.Event()

    def settle(self, answer: Future[Any]) -> None:
        """Take the result or the error of the Ray task."""
        try:
            if self.set_running_or_notify_cancel():
                _settle(self, answer)
        finally:
            self.finished.set()


def _settle(future: Future[Any], answer: Future[Any]) -> None:
    error = answer.exception()
    if error is not None:
        future.set_exception(_told(error))
        return
    has_failed, data, buffers = answer.result()
    # arrays in the object store are read-only; whether the consumer may write must not depend on the executor
    value = pickle.loads(data, buffers=list(map(bytearray, buffers)))  # noqa: S301 - of `_run`
    if has_failed:
        future.set_exception(value)
    else:
        future.set_result(value)


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, bytes, list[Any]]:
    """Make a call in a worker of the cluster; return whether it failed, and the pickled result or exception.

    Ray would change the class of an exception.
    """
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    try:
        data = cloudpickle.dumps(function(*args, **kwargs), protocol=5, buffer_callback=buffers.append)
    except Exception as error:  # noqa: BLE001 - the caller raises it
        return True, _pickled(error), []
    return False, data, [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]


def _pickled(error: Exception) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(error)
    except Exception as unpicklable:  # noqa: BLE001 - of any class
        told = WorkerError(f"{type(error).__name__}: {error} (the exception cannot be pickled: {unpicklable})")
        return cloudpickle.dumps(told)


def _told(error: BaseException) -> BaseException:
    """Return Penstock's error for one of Ray's."""
    names = {kind.__name__ for kind in type(error).__mro__}
    first_line = str(error).strip().partition("\n")[0]
    if names.intersection(LOST):
        what = "a node" if "NodeDiedError" in names else "a worker"
        return LostWorkerError(f"{what} of the Ray cluster was lost ({type(error).__name__})")
    cause = getattr(error, "cause", None)
    if isinstance(cause, ModuleNotFoundError) or "ModuleNotFoundError" in names:
        return WorkerError(
            f"a worker of the Ray cluster cannot import what it needs ({cause or first_line}): install the same "
            "packages on every node, Penstock among them, or pass them by ray.init(runtime_env={'pip': [...]})"
        )
    return WorkerError(f"a task of the Ray cluster failed: {type(error).__name__}: {first_line}")


def _connect(ray: Any, address: str | None) -> None:
    if ray.is_initialized():
        return
    try:
        ray.init(address=address, log_to_driver=True, logging_level="error", include_dashboard=False)
    except Exception as error:
        where = "started here" if address is None else f"reached at {address!r}"
        raise WorkerError(
            f"no Ray cluster could be {where}: {type(error).__name__}: {str(error).strip()}. Start one with "
            "`ray start --head`, or give its address to ps.executors.ray(address=)"
        ) from error
