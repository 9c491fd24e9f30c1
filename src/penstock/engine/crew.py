"""Who runs tasks: threads of our own, the caller's threads, or an executor that shares no memory with us."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from penstock.core.errors import WorkerError
from penstock.engine.executors.remote import Shipment, shipped
from penstock.engine.executors.threads import Threads
from penstock.engine.observer import Observer
from penstock.engine.parcel import Parcel
from penstock.engine.window import Window
from penstock.plan.node import Node


class Making(Protocol):
    """What a crew runs: makes one piece of a parcel, here, or as an errand of another process."""

    @property
    def source(self) -> Node: ...
    def make(self, parcel: Parcel, piece: int) -> Any: ...
    def errand(self, shipment: Shipment, parcel: Parcel, piece: int) -> tuple[Any, ...]: ...


class Crew(Protocol):
    """Begins a parcel's tasks, and tells the window how each ended."""

    @property
    def name(self) -> str: ...

    shares_gil: bool

    def submit(self, parcel: Parcel, piece: int, window: Window) -> None: ...
    def resize(self, workers: int) -> None: ...
    def close(self) -> None: ...


class ThreadCrew:
    """Runs tasks in threads, which write straight into the parcel's memory."""

    shares_gil = True

    def __init__(self, maker: Making, executor: Executor, own: Threads | None = None) -> None:
        self._maker = maker
        self._executor = executor
        self._own = own  # an executor that was handed in is the caller's to resize and to shut down

    @property
    def name(self) -> str:
        workers = None if self._own is None else self._own.workers
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else type(self._executor).__name__

    def submit(self, parcel: Parcel, piece: int, window: Window) -> None:
        if self._own is not None and self._own.post(partial(self._make, parcel, piece, window)):
            return
        future = _submitted(self._executor, parcel, self._maker.make, parcel, piece)
        parcel.futures.append(future)
        future.add_done_callback(lambda done: window.filled(parcel, piece, _result(done, parcel)))

    def _make(self, parcel: Parcel, piece: int, window: Window) -> None:
        try:
            result = self._maker.make(parcel, piece)
        except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
            result = error
        window.filled(parcel, piece, result)

    def resize(self, workers: int) -> None:
        if self._own is not None:
            self._own.resize(workers)

    def close(self) -> None:
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)


class RemoteCrew:
    """Runs tasks through an executor of other processes or hosts; the plan travels to them, and their results back."""

    shares_gil = False

    def __init__(self, maker: Making, executor: Executor, observer: Observer) -> None:
        self._maker = maker
        self._executor = executor
        self._observer = observer
        self._shipment: Shipment = shipped(maker.source, observer)

    @property
    def name(self) -> str:
        return type(self._executor).__name__

    def submit(self, parcel: Parcel, piece: int, window: Window) -> None:
        future = _submitted(self._executor, parcel, *self._maker.errand(self._shipment, parcel, piece))
        parcel.futures.append(future)

        def done(future: Future[Any]) -> None:
            result = _result(future, parcel)
            if isinstance(result, tuple):
                result, counted = result
                self._observer.absorb(counted)
            window.filled(parcel, piece, result)

        future.add_done_callback(done)

    def resize(self, workers: int) -> None:
        pass

    def close(self) -> None:
        self._shipment.remove()


def runs_here(executor: Executor) -> bool:
    """Whether the executor's tasks see our memory."""
    return isinstance(executor, ThreadPoolExecutor | Threads)


def crew_for(executor: str | Executor, workers: int, maker: Making, observer: Observer) -> Crew:
    """Whoever runs tasks for this setting of `Options.executor`."""
    if isinstance(executor, str):
        threads = Threads(workers)
        return ThreadCrew(maker, threads, own=threads)
    if runs_here(executor):
        return ThreadCrew(maker, executor)
    return RemoteCrew(maker, executor, observer)


def _submitted(executor: Executor, parcel: Parcel, function: Any, *args: Any) -> Future[Any]:
    """The task's future; where the executor takes none, one that has failed, so that what was made comes before."""
    try:
        return executor.submit(function, *args)
    except BrokenExecutor as error:  # it broke while earlier items were under way
        refused = _died(parcel, error)
    except RuntimeError as error:
        refused = WorkerError(
            f"the {type(executor).__name__} took no task for items {parcel.low} to {parcel.high}: {error}. "
            "Keep it open for as long as the iterator is used"
        )
        refused.__cause__ = error
    future: Future[Any] = Future()
    future.set_exception(refused)
    return future


def _result(future: Future[Any], parcel: Parcel) -> Any:
    try:
        return future.result()
    except CancelledError as error:
        cancelled = WorkerError(f"the task of items {parcel.low} to {parcel.high} was cancelled by its executor")
        cancelled.__cause__ = error
        return cancelled
    except BrokenExecutor as error:
        return _died(parcel, error)
    except BaseException as error:  # noqa: BLE001 - handed to the consumer, which raises it
        return error


def _died(parcel: Parcel, error: BrokenExecutor) -> WorkerError:
    died = WorkerError(
        f"a worker died while items {parcel.low} to {parcel.high} were under way: {error}. Their rows are lost to the "
        "executor, not to the cursor: load state_dict() into an iterator over a new one"
    )
    died.__cause__ = error
    return died
