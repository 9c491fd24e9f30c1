"""Records of tf.train.Example and SequenceExample into columns, natively; `reference.example` is the twin."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate
from penstock.kernels import _native
from penstock.kernels.reference import example as reference

RecordRuns: TypeAlias = list[Any]
"""Records: `bytes` and other buffers, one for each record, or pairs of joined bytes and `int64` splits."""

ANY = -1
"""The size of a slot for any number of values."""
_FIRST_GUESS = 4  # initial room, in values for each record
_SPARE = 1.25  # spare room beyond earlier needs
_KNOWN = 1.1  # ratio to ignore

_INT64 = np.dtype(np.int64)
_NO_SPLITS = np.zeros(0, _INT64)


class FeatureKind(IntEnum):
    """The kind of a feature's values, numbered like the fields of tf.train.Feature."""

    BYTES = 1
    FLOAT = 2
    INT64 = 3


_DTYPES = {FeatureKind.FLOAT: np.dtype(np.float32), FeatureKind.INT64: _INT64}


class ParseStatus(IntEnum):
    """The result of the kernel."""

    DONE = 0
    NO_ROOM = 1
    DAMAGED = 2
    WRONG_KIND = 3
    WRONG_COUNT = 4
    MISSING = 5
    NO_TEXT = 6


class WantedFeature(NamedTuple):
    """One requested feature: `size` values, or `ANY` number, in each record, or in each step if `in_lists`.

    A record without a `required` feature is a fault; otherwise a slot of fixed size has the `default`: an array of that
    many values, or a list of texts. `text` is true for bytes that are decoded to `str`.
    """

    name: str
    kind: FeatureKind
    size: int = ANY
    in_lists: bool = False
    required: bool = False
    default: Any = None
    text: bool = False

    @property
    def fixed(self) -> bool:
        """True if every record has the same number of values."""
        return self.size != ANY and not self.in_lists

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array of values."""
        return _DTYPES.get(self.kind, np.dtype(object))


class Values(NamedTuple):
    """The values of one slot in all records, end to end.

    Record i has values `splits[i]` to `splits[i + 1]`; in lists these are its steps, and the values of step s begin at
    `step_splits[s]`. Slots of fixed size have no `splits`, and slots outside lists no `step_splits`.
    """

    values: NDArray[Any]
    splits: NDArray[np.int64] = _NO_SPLITS
    step_splits: NDArray[np.int64] = _NO_SPLITS


class Fault(NamedTuple):
    """The first invalid record; `slot` is `None` if the record is damaged as a whole."""

    status: ParseStatus
    record: int
    slot: int | None
    found: int = 0


def features_in(record: bytes) -> dict[str, tuple[int, int]] | None:
    """Return the kind (0: none) and number of values of each feature of an Example; `None` if it is damaged.

    >>> features_in(bytes.fromhex("0a0e0a0c0a017812071a050a03010203"))
    {'x': (3, 3)}
    """
    return reference.features_in(record)


class ExampleKernel:
    """A parser of records for one list of slots; any thread may use it."""

    def __init__(self, slots: Sequence[WantedFeature]) -> None:
        self.slots = tuple(slots)
        self.spec = _native.ExampleSpec(
            [(slot.name.encode(), int(slot.kind), slot.size, slot.in_lists, slot.required) for slot in self.slots]
        )
        # The largest averages of steps and values for a record: these only determine the room tried first.
        self._guesses = [(float(_FIRST_GUESS), float(_FIRST_GUESS)) for _ in self.slots]
        self.learnt = 0
        """The number of times that records turned out larger than expected."""

    def room(self, slot: int, count: int) -> int:
        """Return the room for values of a slot in this many records: the exact number if fixed, else an estimate."""
        wanted = self.slots[slot]
        return count * wanted.size if wanted.fixed else _room_for(self._guesses[slot][1], count)

    def learn(self, used: Sequence[int], count: int, steps: Sequence[int] | None = None) -> None:
        """Update the estimates with the numbers of values and steps of this many records."""
        if not count:
            return
        for i, values in enumerate(used):
            of_steps = steps[i] if steps else 0
            guess = self._guesses[i]
            if values > guess[1] * _KNOWN * count or of_steps > guess[0] * _KNOWN * count:
                self._guesses[i] = max(guess[0], of_steps / count), max(guess[1], values / count)
                self.learnt += 1

    def parse(
        self,
        records: RecordRuns,
        out: Sequence[NDArray[Any] | None] | None = None,
        allocate: Allocate = np.empty,
    ) -> list[Values] | Fault:
        """Return the values of each slot, in one call without the GIL, or the first fault.

        `out` may hold, for a slot of fixed size, a contiguous array of its dtype for the values of k records, which are
        written there. No byte outside a record is read.

        >>> kernel = ExampleKernel([WantedFeature("x", FeatureKind.INT64)])
        >>> kernel.parse([b"", b""])
        [Values(values=array([], dtype=int64), splits=array([0, 0, 0]), step_splits=array([], dtype=int64))]
        """
        parsing = _native.ExampleParsing(self.spec, records)
        count = parsing.records()
        rooms = [
            _Room(slot, count, None if out is None else out[i], self._guesses[i], allocate)
            for i, slot in enumerate(self.slots)
        ]
        status, record, slot, found, in_steps = parsing.run([room.column() for room in rooms])
        while status == ParseStatus.NO_ROOM:
            rooms[slot].grow(found, record, in_steps=in_steps)
            status, record, slot, found, in_steps = parsing.run([room.column() for room in rooms])
        if status != ParseStatus.DONE:
            return Fault(ParseStatus(status), record, slot if slot < len(self.slots) else None, found)
        return self._filled(parsing, rooms, count)

    def _filled(self, parsing: _native.ExampleParsing, rooms: list[_Room], count: int) -> list[Values] | Fault:
        made: list[Values] = []
        for i, room in enumerate(rooms):
            if room.slot.kind == FeatureKind.BYTES:
                slot = room.slot
                texts, bad = parsing.texts(i, room.used, slot.text, [] if slot.default is None else slot.default)
                if bad >= 0:
                    return Fault(ParseStatus.NO_TEXT, room.record_of(bad), i)
                room.take(texts)
            made.append(room.made())
        self.learn([room.used for room in rooms], count, [room.steps for room in rooms])
        return made


class _Room:
    """Memory for the values of one slot, which grows when necessary."""

    def __init__(
        self, slot: WantedFeature, count: int, out: NDArray[Any] | None, guess: tuple[float, float], allocate: Allocate
    ) -> None:
        self.slot, self._count, self._allocate = slot, count, allocate
        self._splits = self._step_splits = _NO_SPLITS
        steps, values = (_room_for(most, count) for most in guess)
        if not slot.fixed:
            self._splits = _splits(count)
        if slot.in_lists:
            self._step_splits = _splits(steps)
        self._room = count * slot.size if slot.fixed else values
        self._values = np.empty(0, object)  # texts are kept elsewhere until complete
        if slot.kind != FeatureKind.BYTES:
            self._values = out.reshape(-1) if out is not None else allocate((self._room,), slot.dtype)

    def column(self) -> tuple[Any, ...]:
        """Return the memory in the form for the kernel."""
        values = self._room if self.slot.kind == FeatureKind.BYTES else self._values
        return values, self.slot.default, self._splits, self._step_splits

    def grow(self, needed: int, record: int, *, in_steps: bool) -> None:
        """Make room for this many values or steps, and for those that the following records are likely to have."""
        size = int(needed * _SPARE * self._count / (record + 1)) + 8
        if in_steps:
            larger = _splits(size)
            larger[: len(self._step_splits)] = self._step_splits
            self._step_splits = larger
            return
        self._room = size
        if self.slot.kind != FeatureKind.BYTES:
            more = self._allocate((size,), self.slot.dtype)
            more[: len(self._values)] = self._values
            self._values = more

    def take(self, texts: list[Any]) -> None:
        """Take the decoded texts."""
        self._values = np.empty(len(texts), object)
        self._values[:] = texts

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self._splits[-1]) if len(self._step_splits) else 0

    @property
    def used(self) -> int:
        """The number of values."""
        if self.slot.fixed:
            return self._count * self.slot.size
        return int(self._step_splits[self._splits[-1]] if len(self._step_splits) else self._splits[-1])

    def record_of(self, value: int) -> int:
        """Return the record of the value at this position."""
        if self.slot.fixed:
            return value // self.slot.size
        if len(self._step_splits):
            value = int(np.searchsorted(self._step_splits[: self.steps + 1], value, side="right")) - 1
        return int(np.searchsorted(self._splits, value, side="right")) - 1

    def made(self) -> Values:
        """Return the values, without unused room."""
        return Values(self._values[: self.used], self._splits, self._step_splits[: self.steps + 1])


def _room_for(guess: float, count: int) -> int:
    return int(guess * _SPARE * count) + 8


def _splits(count: int) -> NDArray[np.int64]:
    splits = np.empty(count + 1, _INT64)
    splits[0] = 0
    return splits


def places_in_rows(splits: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the row and the place in it of each value, `int64[n, 2]`, and the length of the longest row.

    Row i has the values from `splits[i]` to `splits[i + 1]`. Splits that do not begin with 0, or decrease, raise a
    `ValueError`.

    >>> places_in_rows(np.array([0, 1, 1, 3]))
    (array([[0, 0],
           [2, 0],
           [2, 1]]), 2)
    """
    pairs = np.empty((max(int(splits[-1]), 0), 2), _INT64)
    longest = _native.places_in_rows(np.ascontiguousarray(splits, _INT64), pairs)
    return pairs, longest


def example_features(record: bytes) -> dict[str, tuple[FeatureKind, list[Any]]] | None:
    """Return the kind and the values of every feature of a record; `None` if the record is not an Example.

    Use this function to inspect single records: the slow twin does the work.

    >>> example_features(b"")
    {}
    """
    try:
        return {
            name: (FeatureKind(kind), values) for name, (kind, values) in reference.example_features(record).items()
        }
    except reference.WireError:
        return None
