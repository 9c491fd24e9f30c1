"""Run tasks without shared memory: a small plan travels with each task, a large one once, in a file without a name."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from multiprocessing import connection
from typing import Any, TypeVar

import numpy as np

from penstock.core.pickling import dumps
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Made, Result, Task
from penstock.engine.tasks.works import Rebuildable, Work
from penstock.engine.transport.raised import Raised, pickled_error
from penstock.executors.protocol import KeptOnce
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.trial import on_trial

T = TypeVar("T")
LARGEST_CARRIED = 1 << 16  # bytes of a pickled plan that may travel with every task
OTHER_HOSTS = "other hosts"
"""The answer of a worker that cannot open the file with the plan, and the way of the plan from then on."""


@dataclass(frozen=True)
class PickledPlan:
    """A pickled work: its bytes, or the path of the file that holds them after a `key` that no other file has.

    The file has no name in any folder: others open it through the process that made it, and it vanishes with that
    process, however it ends. Where the system has no `/proc`, the file has a name until `remove`. An executor that
    carries bytes to its hosts by itself has `kept` them instead.
    """

    data: bytes | None
    path: str = ""
    key: bytes = b""
    file: Any = field(default=None, compare=False, repr=False)
    kept: Any = field(default=None, compare=False, repr=False)
    routes: dict[Any, PickledPlan] = field(default_factory=dict, compare=False, repr=False)

    def load(self) -> Any:
        """Return the unpickled object."""
        import cloudpickle

        if self.data is not None:
            return cloudpickle.loads(self.data)
        if self.kept is not None:
            return cloudpickle.loads(self.kept.load())
        try:
            with open(self.path, "rb") as file:
                if file.read(len(self.key)) == self.key:
                    return cloudpickle.load(file)
        except OSError as error:
            raise OtherHostError from error
        raise OtherHostError  # a process of the same number

    def to(self, executor: object) -> PickledPlan:
        """Return the same plan as it travels to the workers of an executor."""
        if self.file is None or OTHER_HOSTS in self.routes:
            return self.routes.get(OTHER_HOSTS, self)
        if isinstance(executor, KeptOnce) and id(executor) not in self.routes:
            self.routes[id(executor)] = replace(self, file=None, kept=executor.keep(self._bytes()))
        return self.routes.get(id(executor), self)

    def leave_host(self) -> None:
        """Send the bytes with each task, since a worker runs on another host."""
        if self.file is not None and not self.file.closed:
            self.routes[OTHER_HOSTS] = replace(self, file=None, data=self._bytes())

    def _bytes(self) -> bytes:
        return os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, len(self.key))

    def remove(self) -> None:
        """Delete the file, if any."""
        self.forget()
        if self.file is not None and self.path == self.file.name:
            with suppress(FileNotFoundError):
                os.unlink(self.path)

    def forget(self) -> None:
        """Close the file, if any, which a forked child leaves to its parent."""
        if self.file is not None:
            self.file.close()

    def __reduce__(self) -> Any:
        return PickledPlan, (self.data, self.path, self.key, None, self.kept)


class OtherHostError(Exception):
    """The file at its path is not that of the plan: this worker runs on another host."""


def _in_file(data: bytes) -> PickledPlan:
    import tempfile

    key = os.urandom(16)
    has_proc = os.path.isdir("/proc/self/fd")
    make: Any = tempfile.TemporaryFile if has_proc else partial(tempfile.NamedTemporaryFile, delete=False)
    file = make()  # open until `remove`
    file.write(key + data)
    file.flush()
    path = f"/proc/{os.getpid()}/fd/{file.fileno()}" if has_proc else file.name
    return PickledPlan(None, path, key, file)


def _unpicklable(plan: Node) -> str | None:
    """Return the operation whose function cannot be pickled, with the variable of the function at fault, if any."""
    for node in post_order(plan):
        for function in node.functions:
            if not _fails(function):
                continue
            code = getattr(function, "__code__", None)
            used = {} if code is None else {name: function.__globals__.get(name) for name in code.co_names}
            cells = () if code is None else zip(code.co_freevars, function.__closure__ or (), strict=True)
            for name, cell in cells:
                with suppress(ValueError):  # an empty cell
                    used[name] = cell.cell_contents
            used |= vars(function) if code is None and hasattr(function, "__dict__") else {}
            at_fault = next((name for name, value in used.items() if _fails(value)), None)
            return f"{at_fault} in {node.label()}" if at_fault else f"the function of {node.label()}"
    return None


def _fails(value: Any) -> bool:
    try:
        dumps(value)
    except Exception:  # noqa: BLE001 - the caller raises the first one
        return True
    return False


def dumped_plan(work: Rebuildable, observer: Observer, dump: Callable[[Any, Callable[..., bytes]], T]) -> T:
    """Return what `dump(value, dumps)` makes of a work's plan, with functions by value, and the observer of it."""
    try:
        return dump((type(work), work.plan, work.numbered_from, observer), dumps)
    except Exception as error:
        if named := _unpicklable(work.plan):
            error.add_note(f"{named} cannot be pickled for the workers: make it inside the function, or use threads")
        raise


def pickled_plan(work: Work, observer: Observer) -> PickledPlan:
    """Pickle the plan of a work for an executor."""
    data = dumped_plan(work, observer, lambda value, dumps: dumps(value))
    return PickledPlan(data) if len(data) <= LARGEST_CARRIED else _in_file(data)


class Pickled:
    """A task on its way to an executor that pickles it and its result, since memory does not travel."""

    def __init__(self, plan: PickledPlan, task: Task, executor: Any = None) -> None:
        self.function = run_remotely
        self.processes: dict[int, Any] = {}  # none of which writes into our memory
        self._plan = plan
        self.args: tuple[Any, ...] = plan.to(executor), task._replace(slot=None)
        if isinstance(getattr(executor, "_processes", None), dict):
            self.args += (Siblings(executor),)

    def opened(self, answer: Any) -> tuple[Result, Any] | None:
        """Return the result, and the counts of the observer; `None` if the worker could not open the plan."""
        if answer == OTHER_HOSTS:
            self._plan.leave_host()
            return None
        return answer if isinstance(answer, tuple) else (answer, None)


class Siblings:
    """The process ids of the workers of a `ProcessPoolExecutor` at the time when this is pickled."""

    def __init__(self, executor: Any) -> None:
        self._processes: dict[int, Any] = vars(executor)["_processes"]  # without the executor, which would not end

    def __reduce__(self) -> Any:
        return tuple, (list(self._processes or ()),)


def run_remotely(plan: PickledPlan, task: Task, siblings: Any = ()) -> tuple[Made, Any] | Raised | str:
    """Make a task in the worker's process; return its result and the counts of its observer, or `OTHER_HOSTS`.

    An exception is returned, since the executor's own pickling may change it, or break the executor.
    """
    end_with_parent(siblings)
    try:
        work, observer = loaded(plan)
    except OtherHostError:
        return OTHER_HOSTS
    except Exception as error:  # noqa: BLE001 - of a user's module; the consumer raises it
        return Raised("not loaded", pickled_error(error), None)
    try:
        with on_trial(task.trial, work.plan):
            return work.make(task), observer.drain()
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        return Raised("failed", pickled_error(error), observer.drain())


_siblings: dict[int, int] = {}  # descriptors that mean no other process, by process id


def end_with_parent(siblings: Any = ()) -> None:
    """End this process and its `siblings` as soon as the one that started them is dead, if that is `multiprocessing`.

    A process of a `ProcessPoolExecutor` would wait forever for its next task, also one that never had a task.
    """
    _watch_parent()
    if hasattr(os, "pidfd_open") and multiprocessing.parent_process() is not None:
        for pid in siblings:
            if pid not in _siblings and pid != os.getpid():
                with suppress(OSError):
                    _siblings[pid] = os.pidfd_open(pid)


@cache
def _watch_parent() -> None:
    parent: Any = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_await_end_of, args=[parent], name="penstock-parent", daemon=True).start()


def _await_end_of(parent: Any) -> None:
    with suppress(ProcessLookupError):  # dead already
        # unlike the sentinel, a pipe, no sibling holds a pidfd
        ended = os.pidfd_open(parent.pid) if hasattr(os, "pidfd_open") else parent.sentinel
        connection.wait([ended])
    for sibling in list(_siblings.values()):
        with suppress(OSError):
            signal.pidfd_send_signal(sibling, signal.SIGKILL)
    os._exit(1)


def loaded(plan: PickledPlan) -> tuple[Work, Observer]:
    """Return a work and its observer, unpickled once in each process."""
    return _unpickled_from_file(plan) if plan.data is None else _unpickled_from_data(plan)


def _unpickled(plan: PickledPlan) -> tuple[Work, Observer]:
    kind, node, numbered_from, observer = plan.load()
    return kind(node, fresh, observer, numbered_from), observer


_unpickled_from_file = lru_cache(maxsize=4)(_unpickled)
_unpickled_from_data = lru_cache(maxsize=64)(_unpickled)  # small plans: virtual streams have many that differ in a seed


def plans_loaded() -> int:
    """Return the number of plans that this process has loaded so far."""
    return _unpickled_from_file.cache_info().misses + _unpickled_from_data.cache_info().misses


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return new memory for an array."""
    return np.empty(shape, dtype)
