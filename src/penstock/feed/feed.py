"""The parts common to all feeds: a dataset's elements with a framework's arrays instead of NumPy's."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO, TypeAlias

import numpy as np

from penstock.core.arrays import Reserve
from penstock.core.closing import Closing
from penstock.core.live import LivePasses
from penstock.core.verdicts import Verdict
from penstock.elements.encoded import encoded_images
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed import images
from penstock.feed.clock import NoteTransfer
from penstock.feed.parcel import NUMBERS, each_converted, is_numeric
from penstock.feed.protocol import Finish, Placement

if TYPE_CHECKING:
    from penstock.plan.explain import Explanation


class ElementIterator(Protocol):
    """The methods of a dataset's iterator that a feed uses."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def stats(self) -> Any: ...
    def verdict(self) -> Verdict: ...
    def close(self) -> None: ...


class AheadIterator(ElementIterator, Protocol):
    """An iterator whose consumer may take elements ahead and report the position of the one it returned."""

    def ledger(self) -> dict[str, Any]: ...
    def position(self) -> Any: ...
    def tuning(self) -> Any: ...
    def report_position(self, position: Any, /) -> None: ...
    def live(
        self, title: str = ..., /, *, details: bool = ..., leave: bool = ..., file: TextIO | None = ...
    ) -> None: ...
    def explain(self) -> Explanation: ...
    def display(self, title: Callable[[], str], verdict: Callable[[], str], /) -> str: ...
    def note_transfer(self, name: str, begin: int, took: int, nbytes: int, /) -> None: ...
    def trace(self, path: Any, /) -> None: ...
    def report(self, path: Any, /) -> None: ...
    def to_tensorboard(self, to: Any, /) -> None: ...
    def to_prometheus(self, pipeline: str = ..., *, registry: Any = ...) -> None: ...
    def to_opentelemetry(self, pipeline: str = ..., *, meter: Any = ...) -> None: ...


class Iterable(Protocol):
    """The methods of a dataset that a feed uses."""

    @property
    def epoch(self) -> int: ...
    def iterator(self, *, epoch: int | None = None) -> ElementIterator: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def __len__(self) -> int: ...


class Allocating(Iterable, Protocol):
    """A dataset whose iterators can write batches into memory that the feed reserves."""

    def iterator(self, *, epoch: int | None = None, allocate: Reserve | None = None) -> AheadIterator: ...


Convert: TypeAlias = Callable[[np.ndarray | Ragged | Sparse], Any]
"""A function that converts an array, `Ragged` or `Sparse` to the framework's type, if it has one."""


class Here:
    """The placement in the host's memory: arrays are converted one by one, and may share the memory of the batch."""

    gathers = 1
    allocate: Reserve | None = None
    clock = None

    def __init__(self, convert: Convert, finish: Finish | None = None) -> None:
        self._convert = convert
        self._finish = finish

    def place(self, batches: list[Any]) -> Any:
        """Convert the arrays of a batch."""
        leaves, structure = flatten(batches[0])
        batch = unflatten(structure, each_converted(self._converted, leaves, lambda: paths(structure)))
        return batch if self._finish is None else self._finish(batch)

    def wait(self, placed: Any) -> Any:
        return placed

    def release(self, placed: Any) -> None:
        """Do nothing: whoever has the batch has its memory."""

    def _converted(self, leaf: Any) -> Any:
        if isinstance(leaf, Ragged | Sparse):
            return self._convert(leaf) if leaf.dtype.kind in NUMBERS else leaf
        if is_numeric(leaf):
            return self._convert(np.asarray(leaf))
        if encoded_images(leaf):
            raise images.not_on("the CPU")
        return leaf


class FedIterator(Closing):
    """An iterator whose elements have a framework's arrays, and which otherwise works like the iterator it wraps.

    Up to `depth` steps are placed at a time, including the next one. Positions are those of the steps that the consumer
    received, not of the elements taken ahead for the others.
    """

    def __init__(self, source: AheadIterator, placement: Placement, depth: int = 1) -> None:
        self._source = source
        self._placement = placement
        self._depth = depth
        self._takes_ahead = depth > 1 or placement.gathers > 1
        self._lock = threading.RLock()
        self._note: NoteTransfer | None = None
        self._begin()

    def _begin(self) -> None:
        self._placed: deque[tuple[Any, Any]] = deque()  # transfers, and the position after each
        self._taken: list[Any] = []  # elements of the next step
        self._is_begun = False
        self._over = False  # the source has no more
        self._failure: Exception | None = None  # raised once all that was placed before is handed out
        if (clock := self._placement.clock) is not None:
            clock.begin()
            clock.note = self._note

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._source!r}>"

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with self._lock:
            clock = self._placement.clock
            if clock is not None:
                clock.asked()
            self._place_ahead()
            if not self._placed:
                raise self._end()
            placed, position = self._placed.popleft()
            try:
                batch = self._placement.wait(placed)
            except Exception:
                self._source.close()
                self._drop()  # what was placed after a failure is not handed out
                raise
            finally:
                self._placement.release(placed)
            if self._takes_ahead:
                self._source.report_position(position)
            if clock is not None:
                clock.handed_out(batch)
            return batch

    def _end(self) -> Exception:
        """Return the exception that says why there is no step."""
        failure, self._failure = self._failure, None
        if failure is None:
            self._source.report_position(None)
            return StopIteration()
        self._over = False  # what is asked for after a failure is an error of the source
        return failure

    def _place_ahead(self) -> None:
        """Begin transfers until `depth` are under way, or the source ends."""
        if self._takes_ahead and not self._is_begun:
            self._source.report_position(self._source.position())
            self._is_begun = True
        while not self._over and len(self._placed) < self._depth:
            self._take()
            if not self._taken:
                return
            batches, self._taken = self._taken, []
            try:
                self._placed.append((self._placement.place(batches), self._position()))
            except Exception as error:  # noqa: BLE001 - raised once what was placed before it is handed out
                self._over, self._failure = True, error if self._failure is None else self._failure
                self._source.close()

    def _take(self) -> None:
        """Take the elements of the next step; fewer at the end of the epoch, or before a failure."""
        while not self._over and len(self._taken) < self._placement.gathers:
            try:
                self._taken.append(next(self._source))
            except StopIteration:
                self._over = True
            except Exception as error:  # noqa: BLE001 - raised once what was placed before it is handed out
                self._over, self._failure = True, error

    def _position(self) -> Any:
        return self._source.position() if self._takes_ahead else None

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the step received last; see `Iterator.state_dict`."""
        return self._source.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Continue from a saved position; see `Iterator.load_state_dict`."""
        self._source.load_state_dict(state)
        with self._lock:
            self._drop()
            self._begin()

    def ledger(self) -> dict[str, Any]:
        """Return the rows received since the iterator was made or a state was loaded; see `Iterator.ledger`."""
        return self._source.ledger()

    def tuning(self) -> Any:
        """Return the settings that the tuner has found so far; see `Iterator.tuning`."""
        return self._source.tuning()

    def stats(self) -> Any:
        """Return the counts so far, with those of elements taken ahead; see `Iterator.stats`."""
        return self._source.stats()

    def verdict(self) -> Verdict:
        """Return what limits this run: the pipeline, transfers to the device, or the steps; see `Iterator.verdict`."""
        return _verdict(self._placement, self._source)

    def live(self, title: str = "", *, details: bool = True, leave: bool = True, file: TextIO | None = None) -> None:
        """Show this pass on the terminal while it is under way; see `Iterator.live`."""
        self._source.live(title, details=details, leave=leave, file=file)

    def explain(self) -> Explanation:
        """Return the plan as written and as run, with the figures of this run; see `Iterator.explain`."""
        return self._source.explain()

    def _repr_html_(self) -> str:
        return self._source.display(lambda: repr(self), self.verdict)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace of this pass; see `Iterator.trace`."""
        self._source.trace(path)
        self._note_transfers()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page about this pass when it ends; see `Iterator.report`."""
        self._source.report(path)
        self._note_transfers()

    def _note_transfers(self) -> None:
        if (clock := self._placement.clock) is not None:
            clock.note = self._note = self._source.note_transfer

    def to_tensorboard(self, to: Any) -> None:
        """Write the figures of this pass for TensorBoard; see `Iterator.to_tensorboard`."""
        self._source.to_tensorboard(to)

    def to_prometheus(self, pipeline: str = "penstock", *, registry: Any = None) -> None:
        """Let Prometheus scrape the counts of this pass; see `Iterator.to_prometheus`."""
        self._source.to_prometheus(pipeline, registry=registry)

    def to_opentelemetry(self, pipeline: str = "penstock", *, meter: Any = None) -> None:
        """Let OpenTelemetry observe the counts of this pass; see `Iterator.to_opentelemetry`."""
        self._source.to_opentelemetry(pipeline, meter=meter)

    def close(self) -> None:
        """Stop at once."""
        self._source.close()  # without the lock, which a `next` that waits holds
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        while self._placed:
            self._placement.release(self._placed.popleft()[0])


def _verdict(placement: Placement, source: ElementIterator) -> Verdict:
    clock = placement.clock
    if clock is None:
        return source.verdict()
    stats = source.stats()
    return clock.verdict(stats.waited - stats.warm_up, source.verdict)


class SharedPasses:
    """Another view of a dataset, with the same passes: iterating over either takes the next epoch of both."""

    def __init__(self, dataset: Allocating) -> None:
        self._dataset = dataset

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._dataset!r}>"

    @property
    def epoch(self) -> int:
        """Return the epoch under way, or else the next one; see `Dataset.epoch`."""
        return self._dataset.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass; see `Dataset.set_epoch`."""
        self._dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the pass under way; see `Dataset.state_dict`."""
        return self._dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position; see `Dataset.load_state_dict`."""
        self._dataset.load_state_dict(state)


class FrameworkFeed(SharedPasses):
    """A dataset whose iterators yield a framework's arrays.

    Where a library runs the loop, `verdict()` and `stats()` describe the pass begun last.
    """

    def __init__(self, dataset: Allocating, placement: Placement, depth: int = 1) -> None:
        super().__init__(dataset)
        self._placement = placement
        self._depth = depth
        self._last: ElementIterator | None = None  # of the pass begun last, closed when the feed's iterator is gone

    def __iter__(self) -> FedIterator:
        return self.iterator()

    def __len__(self) -> int:
        return ceil(len(self._dataset) / self._placement.gathers)

    def iterator(self, *, epoch: int | None = None) -> FedIterator:
        """Return an iterator over one epoch; see `Dataset.iterator`."""
        self._last = source = self._dataset.iterator(epoch=epoch, allocate=self._placement.allocate)
        made = FedIterator(source, self._placement, self._depth)
        weakref.finalize(made, source.close)
        return made

    def progress(
        self, title: str = "", *, details: bool = False, leave: bool = True, file: TextIO | None = None
    ) -> LivePasses[Any]:
        """Return an iterable over the same steps, each pass of which is shown; see `Dataset.progress`."""
        return LivePasses[Any](self, title, details=details, leave=leave, file=file)

    def stats(self) -> Any:
        """Return the counts of the pass begun last; see `Iterator.stats`."""
        return self._told().stats()

    def verdict(self) -> Verdict:
        """Return what limited the pass begun last; see `Iterator.verdict`."""
        return _verdict(self._placement, self._told())

    def _told(self) -> ElementIterator:
        return self._dataset.iterator() if self._last is None else self._last
