"""The messages to worker processes: plans, sent once, with arrays in memory that all workers map; and tasks."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.pickling import by_value
from penstock.engine.memory.arena import Arena, Mapping
from penstock.engine.memory.shared_file import SharedFile
from penstock.engine.processes.result_sizes import IN_A_MESSAGE, ResultSizes
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import Rebuildable
from penstock.engine.transport.channel import Channel
from penstock.engine.transport.packets import Packet, held_part, opened_packet, packet_of
from penstock.engine.transport.process_settings import ProcessSettings
from penstock.engine.transport.program_state import ProgramState, program_state
from penstock.engine.workers.pickled import dumped_plan
from penstock.plan.graph import same_plan
from penstock.plan.node import Node
from penstock.plan.safety.code import FixedError
from penstock.plan.trial import Terms

if TYPE_CHECKING:
    from penstock.plan.safety.reads import Reads

SMALL_PART = 2  # a result of less than 1 / 2 of its room is copied
LARGE_ROOM = 2 << 20  # bytes; a smaller room may be held by a smaller result
LARGEST_SENT = 1 << 16  # bytes of a plan that are sent to each worker; a larger one is written into a file once
LARGEST_MOVED = 1 << 26  # bytes of a plan that is sent without the user's asking for it
_numbers = count()


class SharedPlan:
    """A pickled work that every worker loads: its arrays, such as a source in memory, are in memory only once.

    Workers map that memory privately: a function that writes into one of the arrays changes its own copy, as it would
    change the copy that pickle makes.
    """

    def __init__(
        self, work: Rebuildable, observer: Observer, reads: Reads | None = None, state: ProgramState | None = None
    ) -> None:
        """Pickle the work, with functions by value; the error for a function that cannot be pickled names it.

        Given what its functions read, no worker imports the modules that they are from. Otherwise the modules get the
        `state` that they have in this process.
        """
        self.number = next(_numbers)
        self.work = work
        self.observer = observer
        self.reads = reads
        self.state = state or state_for_workers(work.plan, reads)
        self.result_sizes = ResultSizes()
        with nullcontext() if reads is None else by_value(reads.modules):
            made = dumped_plan(work, observer, self.state, lambda value, dumps: packet_of(value, None, dumps))
        if reads is not None and made.packet.nbytes > LARGEST_MOVED:
            raise FixedError(f"its plan and data take {made.packet.nbytes:,} bytes, which would be held twice")
        self.packet: Packet = made.packet
        self._file: SharedFile | None = None
        self._data = b""
        if made.packet.nbytes <= LARGEST_SENT:
            self._data = bytes(made.tobytes())
        else:
            self._file = SharedFile(made.packet.nbytes, made.packet.nbytes)
            made.write(Mapping(self._file.fd, self._file.size).part(0, made.packet.nbytes))

    def is_of(self, work: Rebuildable, observer: Observer) -> bool:
        """Return whether the plan is that of this work, so that workers need not load it again."""
        mine = self.work
        return mine is work or (
            type(mine) is type(work)
            and type(self.observer) is type(observer)
            and mine.numbered_from == work.numbered_from
            and same_plan(mine.plan, work.plan)
        )

    @property
    def is_moved(self) -> bool:
        """True if the functions travelled by value, so that no worker imports their modules."""
        return self.reads is not None

    def is_current(self, state: ProgramState, *, moved: bool) -> bool:
        """Return whether the plan may be used again: in this state, and a `moved` one with the values that it read."""
        reads_the_same = (self.reads is not None and not self.reads.changed) if moved else self.reads is None
        return reads_the_same and self.state.is_like(state)

    def send(self, channel: Channel) -> bool:
        """Send the plan to a worker; return whether all of it has gone out."""
        head = ("plan", self.number, self.packet, self._file is not None)
        return channel.send(head, self._data, -1 if self._file is None else self._file.fd)


def state_for_workers(plan: Node, reads: Reads | None) -> ProgramState:
    """Return the state for processes of ours; functions that travel by value read no modules there."""
    settings = ProcessSettings.here()
    return program_state(plan, settings) if reads is None else ProgramState({}, settings)


class Travelling(NamedTuple):
    """A task on its way: offsets in the arena instead of arrays.

    `given` is ids and, for a piece of elements, the packet of the piece and its offset (`None` if it is in the tail of
    the message). A leaf of the slot is a shape, a dtype and an offset, `None` for memory that the worker allocates.
    `room` is the offset and size of memory for results that are not in the slot.
    """

    plan: int
    low: int
    high: int
    given: tuple[Rows, Packet | None, int | None]
    slot: list[tuple[tuple[int, ...], np.dtype[Any], int | None]] | None
    upcoming: Rows | None
    part: tuple[int, int] | None
    room: tuple[int, int]
    trial: Terms | None
    quota: int | None


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
    made = Travelling(plan, task.low, task.high, given, slot, task.upcoming, task.part, place, task.trial, task.quota)
    return Sending(made, tail, held, room)


def _leaf(
    array: np.ndarray, arena: Arena | None, held: list[tuple[int, np.ndarray]]
) -> tuple[tuple[int, ...], np.dtype[Any], int | None]:
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
) -> tuple[tuple[Rows, Packet | None, int | None], bytearray, np.ndarray | None]:
    """Return the input of a task, the bytes of it that travel in the message, and its memory in the arena.

    That memory has room for the result too, which is written after the worker has taken a copy of the input.
    """
    piece = task.given
    if not len(piece.chunk):
        return (piece.ids, None, None), bytearray(), None
    made = packet_of(piece)
    nbytes, block = made.packet.nbytes, None
    if arena is not None and nbytes > IN_A_MESSAGE:
        block = arena.block(max(nbytes, room_bytes))
        if block is None and nbytes < room_bytes:
            block = arena.block(nbytes)
    if block is None or arena is None:
        return (piece.ids, made.packet, None), made.tobytes(), None
    made.write(block)
    return (piece.ids, made.packet, arena.place_of(block)), bytearray(), block
