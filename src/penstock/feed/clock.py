"""Measure how long a device waits for its batches, without making it wait for the measurement."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from penstock.core.frozen import frozen
from penstock.core.verdicts import Verdict
from penstock.elements.nested.structure import flatten

if TYPE_CHECKING:
    from penstock.feed.parcel import Parcel

T = TypeVar("T")

_BOUND = 0.05  # share of the time that a device waits before anything but its steps is called the limit
_LEAST_STEPS = 3
_LEAST_SECONDS = 0.05


NoteTransfer: TypeAlias = Callable[[str, int, int, int], object]
"""Takes the name of a transfer, its begin and the time it took (both in ns of `perf_counter_ns`), and its bytes."""


class Clock(Protocol):
    """Notes when batches are asked for and handed out."""

    note: NoteTransfer | None
    """Called with each transfer, if anybody looks at transfers."""

    def begin(self) -> None:
        """Forget what was measured: another pass begins."""
        ...

    def asked(self) -> None:
        """Note that the consumer asks for a batch."""
        ...

    def handed_out(self, batch: Any) -> None:
        """Note that the consumer gets one."""
        ...

    def verdict(self, input_waited: float, of_input: Callable[[], Verdict]) -> Verdict:
        """Return the limit in words; `input_waited` seconds went into waiting for the pipeline, as `of_input` says."""
        ...


@frozen()
class DeviceTimes:
    """Seconds of a device over some `steps`: in all, waiting for batches, and moving them; and the bytes moved."""

    name: str
    steps: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    moving: float = 0.0
    nbytes: int = 0

    @property
    def wait_share(self) -> float:
        """Return the share of its time that the device waits for batches."""
        return self.waited / self.seconds if self.seconds else 0.0

    def verdict(self, input_waited: float, of_input: Callable[[], Verdict]) -> Verdict:
        """Return the limit in words; see `Clock.verdict`."""
        if self.steps < _LEAST_STEPS or self.seconds < _LEAST_SECONDS:
            return _too_early(self.steps, self.seconds, self.name)
        waits = f"{self.name} waited {_percent(self.wait_share)} of the time for its batches"
        moves = f"transfers took {_percent(self.moving / self.seconds)} of the time"
        if self.moving and self.nbytes:
            moves += f", at {self.nbytes / self.moving / 1e9:.3g} GB/s"
        if self.wait_share < _BOUND:
            return Verdict(f"Step-bound: {waits}. It took {self.steps / self.seconds:.3g} steps/s; {moves}.", "step")
        if input_waited >= self.moving:
            found = of_input()
            return found.reworded(
                f"Input-bound: {waits}. {found}", "input" if found.kind in ("early", "step") else None
            )
        change = (
            "Send fewer bytes, such as uint8 that finish= casts on the device, or begin transfers earlier with depth=3."
        )
        ceiling = self.steps / max(self.moving, 1e-9)
        gain = 1 / max(1 - self.wait_share, 1e-3)
        return Verdict(
            f"Transfer-bound: {waits}; {moves}. {change}", "transfer", ceiling=ceiling, change=change, gain=gain
        )


class Event(Protocol):
    """A point in the work of a device, as PyTorch's events are."""

    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_time(self, end_event: Any, /) -> float: ...


Noted: TypeAlias = tuple[Event, Event]
"""The points between which a device waits, or moves a batch."""


class EventClock:
    """Measures a device by events in its work, which are read once they are past.

    `record` notes a point in the work of the consumer, after the steps submitted so far. Between that point, noted when
    the consumer asks for a batch, and one noted when the batch is there, the device has nothing to do. Transfers are
    noted with their time on the device; for that, the consumer waits for the device once.
    """

    def __init__(self, name: str, record: Callable[[], Event]) -> None:
        self.note: NoteTransfer | None = None
        self._name = name
        self._record = record
        self._zero: tuple[Event, int] | None = None  # a point and its time here, in ns
        self.begin()

    def begin(self) -> None:
        self._asked: Event | None = None
        self._waits: deque[Noted] = deque()
        self._moves: deque[tuple[Event, Event, int]] = deque()
        self._last: Event | None = None  # when the last batch but those under way was there
        self._sums = DeviceTimes(self._name)

    def asked(self) -> None:
        self._asked = self._record()
        if self.note is not None and self._zero is None:
            self._asked.synchronize()
            self._zero = self._asked, perf_counter_ns()

    def handed_out(self, batch: Any) -> None:
        if self._asked is not None:
            self._waits.append((self._asked, self._record()))
            self._asked = None
        if len(self._waits) > 1 and self._waits[1][1].query():
            self._read()

    def moved(self, began: Event, ended: Event, nbytes: int) -> None:
        """Note the transfer of a batch."""
        self._moves.append((began, ended, nbytes))

    def times(self) -> DeviceTimes:
        """Return the times so far, of the steps that are over."""
        self._read()
        return self._sums

    def verdict(self, input_waited: float, of_input: Callable[[], Verdict]) -> Verdict:
        return self.times().verdict(input_waited, of_input)

    def _read(self) -> None:
        """Add what is over: the first wait, which no step comes before, counts for nothing."""
        sums = self._sums
        steps, seconds, waited, moving, nbytes = sums.steps, sums.seconds, sums.waited, sums.moving, sums.nbytes
        while self._waits and self._waits[0][1].query():
            asked, there = self._waits.popleft()
            if self._last is not None:
                steps += 1
                seconds += self._last.elapsed_time(there) / 1e3
                waited += asked.elapsed_time(there) / 1e3
            self._last = there
        while self._moves and self._moves[0][1].query():
            began, ended, size = self._moves.popleft()
            took = began.elapsed_time(ended)
            moving += took / 1e3
            nbytes += size
            if self.note is not None and self._zero is not None:
                zero, at = self._zero
                self.note(f"to {self._name}", at + round(1e6 * zero.elapsed_time(began)), round(1e6 * took), size)
        self._sums = DeviceTimes(self._name, steps, seconds, waited, moving, nbytes)


class ArrivalClock:
    """Counts the batches that had not arrived when they were handed out, for frameworks without events that tell time.

    A batch under way does not prove that its device waits: the steps before it may take longer than the transfer. Of
    transfers only the call that begins them is noted.
    """

    def __init__(self, name: str) -> None:
        self.note: NoteTransfer | None = None
        self._name = name
        self.begin()

    def begin(self) -> None:
        self._began = self._last = perf_counter()
        self._steps = self._late = 0

    def asked(self) -> None:
        if not self._steps:
            self._began = perf_counter()

    def timed(self, move: Callable[[Parcel], T], parcel: Parcel) -> T:
        """Return the result of a call that begins to move a batch, and note the call."""
        began = perf_counter_ns()
        moved = move(parcel)
        if self.note is not None:
            nbytes = sum(array.nbytes for array in parcel.arrays)
            self.note(f"call: to {self._name}", began, perf_counter_ns() - began, nbytes)
        return moved

    def handed_out(self, batch: Any) -> None:
        self._steps += 1
        self._last = perf_counter()
        leaves = flatten(batch)[0]
        self._late += not all(leaf.is_ready() for leaf in leaves if hasattr(leaf, "is_ready") and not leaf.is_deleted())

    def verdict(self, input_waited: float, of_input: Callable[[], Verdict]) -> Verdict:
        seconds, steps = self._last - self._began, self._steps
        if steps < _LEAST_STEPS or seconds < _LEAST_SECONDS:
            return _too_early(steps, seconds, self._name)
        if input_waited > _BOUND * seconds:
            return of_input()
        late = self._late / steps
        moves = f"{_percent(late)} of the batches were still in transfer to {self._name} when the loop received them"
        bound = "Step-bound" if late < _BOUND else "Step-bound or transfer-bound"
        return Verdict(
            f"{bound}: the loop waited for the pipeline {_percent(input_waited / seconds)} of the time; {moves}.",
            "step" if late < _BOUND else "transfer",
        )


def _too_early(steps: int, seconds: float, name: str) -> Verdict:
    return Verdict(f"Too early to say: {steps} steps in {seconds:.2f} s on {name}.")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
