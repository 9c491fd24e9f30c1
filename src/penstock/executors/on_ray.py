"""A `concurrent.futures.Executor` over a Ray cluster: one Ray task a call, results through Ray's object store."""

from __future__ import annotations

import math
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import lru_cache, partial
from typing import Any

import numpy as np

from penstock.core import pickling
from penstock.core.checks import check_count, check_mapping, check_number, check_text
from penstock.core.errors import WorkerError
from penstock.core.lazy import require
from penstock.executors.in_place import STAYS_FROM, results_in_place
from penstock.executors.nodes import Nodes
from penstock.executors.protocol import LostWorkerError

CONNECTION_ENDED = (
    "the connection to the Ray cluster was ended by ray.shutdown(): close your iterators before that, and make a new "
    "executor with ps.executors.ray() after it"
)
LOST = ("WorkerCrashedError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError", "RaySystemError")
"""Errors of Ray that tell of a worker, a node or a result that is gone; subclasses count."""
OTHER_VERSIONS = "Version mismatch:"
"""The beginning of Ray's error about a cluster of another version of Ray or Python."""
OWN_RESOURCES = ("CPU", "GPU", "memory", "object_store_memory")
"""The built-in resources of Ray."""
ANSWERS_WITHIN = 10.0  # seconds
_NODES_KNOWN = 1.0  # seconds
_MUCH_LESS = 0.75  # share of the CPUs asked for, below which fewer are asked


def ray(
    *,
    num_cpus: float = 1,
    resources: Mapping[str, float] | None = None,
    address: str | None = None,
    workers: int | None = None,
    max_cpus: float = 0,
) -> RayExecutor:
    """Return an executor that runs tasks on a Ray cluster; `Options(executor="ray")` uses one with these defaults.

    A plan travels to each node once, results come through Ray's object store. A task whose worker or node dies is made
    again, and an element that ends two workers by itself is an error that names it, as with worker processes.

    Args:
        num_cpus: CPUs that a task reserves.
        resources: Custom resources that a task reserves, such as `{"preprocessing": 1}`, by which nodes are chosen.
        address: Address of the cluster, such as `"auto"` or `"ray://head:10001"`. Default: the cluster that this
            process is connected to already, else what `ray.init()` finds or starts.
        workers: Tasks that run at a time. Default: as many as the CPUs of the cluster can run, also when nodes join or
            leave while an iterator is under way.
        max_cpus: CPUs that may be asked of Ray's autoscaler, at most. As many are asked as keep up with the consumer's
            step, and given back at the end of the iterator. Ray has one such request for the whole cluster: the last
            executor to ask replaces the requests of others. Default: none are asked.

    Raises:
        TypeError: An argument has another type.
        ValueError: A number is out of range, or above 1 and not whole where Ray takes no parts of more than one.
        MissingDependencyError: Ray is not installed.
        WorkerError: No cluster answers at the address, or it runs another version of Ray or of Python.

    >>> executor = ps.executors.ray(num_cpus=2, address="auto")  # doctest: +SKIP
    >>> ds = ps.Dataset.range(1000).map(abs).batch(10)
    >>> for batch in ds.with_options(ps.Options(executor=executor)):  # doctest: +SKIP
    ...     pass
    """
    call = "executors.ray"
    return RayExecutor(
        num_cpus=_amount("num_cpus", num_cpus),
        resources=None if resources is None else _checked_resources(resources),
        address=None if address is None else check_text(call, "address", address),
        workers=None if workers is None else check_count(call, "workers", workers, least=1),
        max_cpus=_number("max_cpus", max_cpus),
    )


def _number(name: str, value: object) -> float:
    number = check_number("executors.ray", name, value)
    if not 0 <= number < math.inf:
        raise ValueError(f"executors.ray({name}={value!r}): expected a finite number, not below 0")
    return number


def _amount(name: str, value: object) -> float:
    """Return an amount of a resource, of which Ray takes no parts of more than one."""
    number = _number(name, value)
    if number > 1 and number != int(number):
        raise ValueError(f"executors.ray({name}={value!r}): expected a whole number, or one below 1")
    return number


def _checked_resources(given: object) -> dict[str, float]:
    checked: dict[str, float] = {}
    for name, amount in check_mapping("executors.ray", "resources", given).items():
        if check_text("executors.ray", "resources", name) in OWN_RESOURCES:
            raise ValueError(
                f"executors.ray(resources={{{name!r}: ...}}): this is a built-in resource of Ray, not a custom one; "
                "CPUs are num_cpus="
            )
        checked[name] = _amount(f"resources[{name!r}]", amount)
    return checked


def default_executor() -> RayExecutor:
    """Return the executor of `Options(executor="ray")`, the same for all runs of one connection to a cluster.

    After `ray.shutdown()`, a new run connects again, or starts another cluster.
    """
    found: Any = require("ray", extra="ray", purpose="Options(executor='ray')")
    _connect(found, None)
    here = found.get_runtime_context()
    return _executor_of(here.get_job_id(), here.get_node_id())


@lru_cache(maxsize=1)
def _executor_of(job: str, node: str) -> RayExecutor:
    """Return the executor of a connection: a new one has another job, or another node of another cluster."""
    return ray()


class RayExecutor(Executor):
    """An executor whose tasks are tasks of a Ray cluster; made by `ps.executors.ray()`.

    Ray itself never makes a task again: Penstock does, so that it knows which elements end their worker.
    """

    def __init__(
        self,
        *,
        num_cpus: float,
        resources: Mapping[str, float] | None,
        address: str | None,
        workers: int | None,
        max_cpus: float = 0,
    ) -> None:
        """Connect to the cluster, unless this process is connected already."""
        self._ray: Any = require("ray", extra="ray", purpose="ps.executors.ray()")
        _connect(self._ray, address)
        self._num_cpus = num_cpus
        self._resources = dict(resources or {})
        self._workers = workers
        self._max_cpus = max_cpus
        self._wanted: dict[object, int] = {}  # tasks at a time, by run
        self._asked = 0  # of the autoscaler: tasks at a time
        self._run: Any = self._ray.remote(num_cpus=num_cpus, resources=self._resources, max_retries=0)(_run)
        self._nodes = Nodes()
        self._known_until = 0.0  # time at which the nodes are asked for again
        self._under_way: dict[_RayFuture, str | None] = {}  # with the node that each was sent to, if any
        self._lock = threading.Lock()
        self._scaling = threading.RLock()  # garbage collection may end a run in a thread that holds it
        self._is_shut = False

    @property
    def workers(self) -> int:
        """The number of tasks that the cluster can run at a time, at least one."""
        if self._workers is not None:
            return self._workers
        if not self._ray.is_initialized():
            raise WorkerError(CONNECTION_ENDED)
        return max(self._fitting(self._ray.cluster_resources()), 1)

    def _fitting(self, resources: Mapping[str, float]) -> int:
        """Return the number of tasks that can have these resources at a time."""
        fit = [resources.get(name, 0) / amount for name, amount in self._bundle.items() if amount > 0]
        return int(min(fit, default=1))

    @property
    def _bundle(self) -> dict[str, float]:
        """The resources of a task."""
        return {"CPU": self._num_cpus, **self._resources}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future of a call that a Ray task makes.

        Raises:
            RuntimeError: The executor was shut down.
        """
        return self._begun(None, fn, args, kwargs)

    def submit_near(self, place: int, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Return the future of a call, made on the node of the place if that has few tasks, else on another.

        Raises:
            RuntimeError: The executor was shut down.
        """
        if (now := time.monotonic()) >= self._known_until and self._ray.is_initialized():
            self._known_until = now + _NODES_KNOWN
            alive = [each for each in self._ray.nodes() if each["Alive"]]
            with self._lock:
                self._nodes.know({each["NodeID"]: self._fitting(each["Resources"]) for each in alive})
        return self._begun(place, fn, args, {})

    def scale(self, run: object, workers: int) -> None:
        """Ask the autoscaler for the CPUs of that many tasks at a time, with those of other runs, up to `max_cpus`.

        It is asked again for more at once, but for fewer only if much fewer are needed.
        """
        if not self._max_cpus or not self._ray.is_initialized():
            return
        with self._scaling:
            self._wanted[run] = workers
            if not workers:
                del self._wanted[run]
            most = int(self._max_cpus / self._num_cpus) if self._num_cpus else self.workers
            wanted = min(sum(self._wanted.values()), most)
            if wanted > self._asked or wanted < _MUCH_LESS * self._asked:
                self._asked = wanted
                _ask_for([self._bundle] * wanted)

    def _begun(self, place: int | None, fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Future[Any]:
        future = _RayFuture()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not self._ray.is_initialized():  # a task would start another cluster
                raise RuntimeError(CONNECTION_ENDED)
            node = None if place is None else self._nodes.choose(place)
            self._under_way[future] = node
        try:
            strategy = "SPREAD" if node is None else _affinity(node)
            reference = self._run.options(scheduling_strategy=strategy).remote(fn, args, kwargs)
        except BaseException:
            self._forget(future)
            raise
        reference.future().add_done_callback(partial(self._done, future))
        return future

    def keep(self, data: bytes) -> Stored:
        """Put bytes into the object store, which carries them to each node once."""
        if not self._ray.is_initialized():  # a put would start another cluster
            raise RuntimeError(CONNECTION_ENDED)
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
        self._forget(future)
        future.settle(answer)

    def _forget(self, future: _RayFuture) -> None:
        with self._lock:
            if (node := self._under_way.pop(future)) is not None:
                self._nodes.ended(node)


def _affinity(node: str) -> Any:
    """Return the strategy of Ray that prefers a node, and takes another one if the node is lost."""
    strategies = require("ray.util.scheduling_strategies", extra="ray", purpose="placing a task")
    return strategies.NodeAffinitySchedulingStrategy(node, soft=True)


def _reach(address: str | None) -> None:
    """Raise an `OSError` if nobody answers at an address of a host and a port, for which Ray waits for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWERS_WITHIN).close()


def _ask_for(bundles: list[dict[str, float]]) -> None:
    """Replace the request to the autoscaler, which a cluster without one ignores."""
    require("ray.autoscaler.sdk", extra="ray", purpose="ps.executors.ray(max_cpus=)").request_resources(bundles=bundles)


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
    try:
        value = pickle.loads(data, buffers=results_in_place().writable(buffers))  # noqa: S301 - of `_run`
    except Exception as unopened:  # noqa: BLE001 - of any class
        value, has_failed = _unopened(unopened), True
    if has_failed:
        future.set_exception(value)
    else:
        future.set_result(value)


def _unopened(error: Exception) -> WorkerError:
    failed = WorkerError(
        f"a result of the Ray cluster cannot be opened here: {type(error).__name__}: {error}. Install the same "
        "packages here as on every node"
    )
    failed.__cause__ = error
    return failed


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any, list[Any]]:
    """Make a call in a worker of the cluster; return whether it failed, and the pickled result or exception.

    Ray would change the class of an exception.
    """
    buffers: list[pickle.PickleBuffer] = []
    try:
        data = pickling.dumps(function(*args, **kwargs), protocol=5, buffer_callback=buffers.append)
    except Exception as error:  # noqa: BLE001 - the caller raises it
        return True, _pickled(error), []
    arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
    return False, data if len(data) < STAYS_FROM else np.frombuffer(data, np.uint8), arrays  # Ray copies long bytes


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
    address = address or os.environ.get("RAY_ADDRESS")  # as Ray does
    try:
        _reach(address)
        ray.init(address=address, log_to_driver=True, logging_level="error", include_dashboard=False)
    except Exception as error:
        where = "started here" if address is None else f"reached at {address!r}"
        told = " ".join(str(error).split()).rstrip(".")
        if told.startswith(OTHER_VERSIONS):
            raise WorkerError(
                f"the Ray cluster that was {where} has other versions: {told.removeprefix(OTHER_VERSIONS).strip()}. "
                "Install the same versions of Ray and Python here and on every node"
            ) from error
        raise WorkerError(
            f"no Ray cluster could be {where}: {type(error).__name__}: {told}. Start one with `ray start --head`, or "
            "give its address to ps.executors.ray(address=)"
        ) from error
