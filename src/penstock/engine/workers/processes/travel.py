"""Tasks on their way to worker processes, as offsets in the arena instead of memory, and results on the way back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import NOTHING, Made, Task
from penstock.engine.tasks.works import Work
from penstock.memory.arena import Arena, Mapping
from penstock.plan.flow import Piece
from penstock.plan.trial import on_trial
from penstock.transport.packets import IN_A_MESSAGE, Packet, Unsent, held_part, opened_packet, packet_of
from penstock.transport.raised import pickled_error

MARGIN = 1.25  # room for a result, in sizes of the largest of the recent ones
FIRST_ROOM = 1 << 20  # bytes, while no result is known
RECENT_RESULTS = 16  # results
SMALL_PART = 2  # a result of less than 1 / 2 of its room is copied
LARGE_ROOM = 2 << 20  # bytes; a smaller room may be held by a smaller result
_OTHERS = 24  # the number of dtypes that NumPy itself has, each with a letter


class ResultSizes:
    """The bytes of the results of one work that were not in a slot.

    >>> sizes = ResultSizes()
    >>> sizes.add(100_000)
    >>> sizes.room
    125000
    """

    def __init__(self) -> None:
        self._sizes: deque[int] = deque(maxlen=RECENT_RESULTS)

    def add(self, nbytes: int) -> None:
        """Note the size of a result."""
        self._sizes.append(nbytes)

    @property
    def room(self) -> int:
        """The bytes to keep free for the next result; 0 if it is likely to fit into a message."""
        largest = max(self._sizes, default=FIRST_ROOM)
        return int(MARGIN * largest) if largest > IN_A_MESSAGE else 0


LeafOnItsWay: TypeAlias = tuple[tuple[int, ...], np.dtype[Any], int | None]
"""A leaf of a slot: its shape, its dtype and its offset, `None` for memory that the worker allocates."""


class Travelling(NamedTuple):
    """A task of a plan on its way: offsets in the arena instead of arrays.

    The `task` itself has no slot, and of a piece only the ids. `given` is the packet of the piece and its offset, which
    is `None` if the packet is in the tail of the message; a task for rows is given none. `room` is the offset and size
    of memory for results that are not in the slot.
    """

    plan: int
    task: Task
    given: tuple[Packet, int | None] | None
    slot: list[LeafOnItsWay] | None
    room: tuple[int, int]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values, for which the other side looks up nothing: in a fifth of the time."""
        low, high, given, _, *more = self.task
        slot = self.slot and [(shape, _name_of(dtype), at) for shape, dtype, at in self.slot]
        return _travelled, (self.plan, low, high, given.ids.tobytes(), more, self.given, slot, self.room)


def _travelled(
    plan: int,
    low: int,
    high: int,
    ids: bytes,
    more: list[Any],
    given: tuple[Packet, int | None] | None,
    slot: list[tuple[tuple[int, ...], Any, int | None]] | None,
    room: tuple[int, int],
) -> Travelling:
    task = Task(low, high, Piece(NOTHING, np.frombuffer(ids, np.int64).copy()), None, *more)
    return Travelling(plan, task, given, slot and [(shape, np.dtype(name), at) for shape, name, at in slot], room)


def _name_of(dtype: np.dtype[Any]) -> Any:
    """Return a letter that stands for a dtype; the dtype itself if none stands for all of it."""
    return dtype.char if dtype.num < _OTHERS and np.dtype(dtype.char) is dtype else dtype


@dataclass
class Sending:
    """A task ready to be sent, as often as needed, and the arrays of the arena that it reads and writes."""

    travelling: Travelling
    tail: bytearray
    held: list[tuple[int, np.ndarray]]  # offset and array, of the slot
    room: np.ndarray | None  # for results that are not in the slot; first it holds what the task is given

    def opened(self, packet: Packet, tail: bytearray) -> Any:
        """Return the result that a worker packed: views of the slot and of the room, or of the tail of the answer."""
        room = None if len(tail) else self.room
        if room is not None and room.nbytes > max(SMALL_PART * packet.nbytes, LARGE_ROOM):
            room = room[: packet.nbytes].copy()  # a small result does not hold the room for a large one
        return opened_packet(
            packet, tail if room is None else room, lambda begin, nbytes: held_part(self.held, begin, nbytes)
        )


def sending(task: Task, plan: int, arena: Arena | None, room_bytes: int) -> Sending:
    """Return a task with its memory as offsets; memory that is not in the arena is replaced by some that is."""
    held: list[tuple[int, np.ndarray]] = []
    slot = None if task.slot is None else [_leaf(array, arena, held) for array in task.slot]
    given, tail, room = _given(task, arena, room_bytes)
    if room is None and arena is not None and room_bytes:
        room = arena.block(room_bytes)
    place = (0, 0) if room is None or arena is None else (arena.place_of(room) or 0, room.nbytes)
    alone = task._replace(given=Piece(NOTHING, task.given.ids), slot=None)
    return Sending(Travelling(plan, alone, given, slot, place), tail, held, room)


def _leaf(array: np.ndarray, arena: Arena | None, held: list[tuple[int, np.ndarray]]) -> LeafOnItsWay:
    at = None
    if arena is not None and not array.dtype.hasobject:
        mine: np.ndarray | None = array
        at = arena.place_of(array)
        if at is None and (mine := arena.allocate(array.shape, array.dtype)) is not None:
            at = arena.place_of(mine)
        if at is not None and mine is not None:
            held.append((at, mine))
    return array.shape, array.dtype, at


def _given(
    task: Task, arena: Arena | None, room_bytes: int
) -> tuple[tuple[Packet, int | None] | None, bytearray, np.ndarray | None]:
    """Return the input of a task, the bytes of it that travel in the message, and its memory in the arena.

    That memory has room for the result too, which is written after the worker has taken a copy of the input.
    """
    piece = task.given
    if not len(piece.chunk):
        return None, bytearray(), None
    made = packet_of(piece)
    nbytes, block = made.packet.nbytes, None
    if arena is not None and nbytes > IN_A_MESSAGE:
        block = arena.block(max(nbytes, room_bytes))
        if block is None and nbytes < room_bytes:
            block = arena.block(nbytes)
    if block is None or arena is None:
        return (made.packet, None), made.tobytes(), None
    made.write(block)
    return (made.packet, arena.place_of(block)), bytearray(), block


def arrived(task: Travelling, tail: bytearray, arena: Mapping | None) -> Task:
    """Return the task that was sent, with its slot in the arena."""
    piece = task.task.given
    if task.given is not None:  # copied: a function may keep what it is given, and the block serves other tasks later
        packet, at = task.given
        piece = opened_packet(packet, tail if at is None or arena is None else arena.part(at, packet.nbytes).copy())
    slot = None if task.slot is None else [_array(*leaf, arena) for leaf in task.slot]
    return task.task._replace(given=piece, slot=slot)


def result_packet(made: Made, room: tuple[int, int], arena: Mapping | None) -> tuple[Packet, Unsent | None]:
    """Return the layout of a result, and the result again unless it is in the slot and in the room."""
    result = packet_of(made, arena)
    begin, nbytes = room[0], result.packet.nbytes
    if arena is None or not IN_A_MESSAGE < nbytes <= room[1]:
        return result.packet, result
    result.write(arena.part(begin, nbytes))
    return result.packet, None


class Answered(NamedTuple):
    """The answer to a task: the packet of its result if the kind is `made`, else a pickled error.

    `counted` are the counts of the observer, if the plan is loaded. `rest` is the result, unless it is in the arena.
    """

    kind: str
    result: Any
    counted: Any
    rest: Unsent | None = None


def answered(
    load: Callable[[], tuple[Work, Observer]], task: Travelling, tail: bytearray, arena: Mapping | None
) -> Answered:
    """Make a task that was sent, of the work that `load()` returns with its observer, and pack its result."""
    try:
        work, observer = load()
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        return Answered("not loaded", pickled_error(error), None)
    try:
        with on_trial(task.task.trial, work.plan):
            made = work.make(arrived(task, tail, arena))
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        return Answered("failed", pickled_error(error), observer.drain())
    try:
        packet, rest = result_packet(made, task.room, arena)
    except BaseException as error:  # noqa: BLE001 - of a user's class; the consumer raises it
        return Answered("not packed", pickled_error(error), observer.drain())
    return Answered("made", packet, observer.drain(), rest)


def _array(shape: tuple[int, ...], dtype: np.dtype[Any], at: int | None, arena: Mapping | None) -> np.ndarray:
    if at is None or arena is None:
        return np.empty(shape, dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return arena.part(at, size).view(dtype).reshape(shape)
