"""Objects on their way to another process: a pickle, and the memory of its arrays beside it or already in the arena."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from penstock.core import pickling
from penstock.memory.pool import ALIGNMENT, SMALL

Dumps: TypeAlias = Callable[..., bytes]
IN_A_MESSAGE = 1 << 14  # bytes of elements that are sent directly, because it takes less time than to share them


class SharedPlaces(Protocol):
    """Memory that both processes see, such as a `Mapping`."""

    def place_of(self, array: np.ndarray, /) -> int | None:
        """Return the offset of an array; `None` if it is elsewhere."""
        ...


class Packet(NamedTuple):
    """The layout of a packed object: the bytes of its pickle, and where each of its buffers begins and how long it is.

    A buffer is `beside` the pickle, or at an offset in the arena.
    """

    pickled: int
    buffers: tuple[tuple[bool, int, int], ...]
    nbytes: int  # of the pickle and what is beside it


@dataclass
class Unsent:
    """A packed object that is not written anywhere yet."""

    packet: Packet
    parts: list[tuple[int, Any]]  # where in the block, and the bytes

    def write(self, block: np.ndarray) -> None:
        """Write everything into `uint8[nbytes]`."""
        for begin, data in self.parts:
            size = memoryview(data).nbytes
            block[begin : begin + size] = np.frombuffer(data, np.uint8)

    def pieces(self) -> Iterator[memoryview]:
        """Yield everything in order, without a copy."""
        end = 0
        for begin, data in self.parts:
            yield memoryview(bytes(begin - end))
            yield (piece := memoryview(data).cast("B"))
            end = begin + piece.nbytes

    def tobytes(self) -> bytearray:
        """Return everything as new bytes."""
        made = bytearray(self.packet.nbytes)
        self.write(np.frombuffer(made, np.uint8))
        return made


def packet_of(value: Any, arena: SharedPlaces | None = None, dumps: Dumps | None = None) -> Unsent:
    """Pack an object, by `dumps` if given, without the arrays that are in the arena already.

    Plain pickle is several times as fast as cloudpickle, which is used for what needs it, such as objects of classes
    that only the script defines.
    """
    if dumps is not None:
        return _packed(value, arena, dumps)
    try:
        return _packed(value, arena, pickle.dumps)
    except Exception:  # noqa: BLE001 - cloudpickle raises it again if it cannot do better
        return _packed(value, arena, pickling.dumps)


def _packed(value: Any, arena: SharedPlaces | None, dumps: Dumps) -> Unsent:
    buffers: list[tuple[bool, int, int]] = []
    beside: list[Any] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # with gaps
            return True
        if not raw.nbytes:
            return True
        at = None if arena is None else arena.place_of(np.frombuffer(raw, np.uint8))
        if at is not None:
            buffers.append((False, at, raw.nbytes))
            return False
        if raw.nbytes < SMALL:
            return True
        buffers.append((True, 0, raw.nbytes))
        beside.append(raw)
        return False

    data = dumps(value, protocol=5, buffer_callback=is_small)
    end, parts = len(data), [(0, data)]
    waiting = iter(beside)
    for at, (is_beside, _, nbytes) in enumerate(buffers):
        if is_beside:
            begin = -(-end // ALIGNMENT) * ALIGNMENT
            parts.append((begin, next(waiting)))
            buffers[at] = (True, begin, nbytes)
            end = begin + nbytes
    return Unsent(Packet(len(data), tuple(buffers), end), parts)


def opened_packet(packet: Packet, block: Any, in_place: Callable[[int, int], Any] | None = None) -> Any:
    """Return the object again, whose arrays are views of the `block`; those in the arena come from `in_place`."""
    whole = memoryview(block) if isinstance(block, bytes | bytearray) else block
    buffers: Iterable[Any] = (
        whole[begin : begin + nbytes] if is_beside or in_place is None else in_place(begin, nbytes)
        for is_beside, begin, nbytes in packet.buffers
    )
    return pickle.loads(whole[: packet.pickled], buffers=buffers)  # noqa: S301 - from our own process


def opened_loan(packet: Packet, at: int | None, tail: Any, lent: Callable[[list[tuple[int, int]]], list[Any]]) -> Any:
    """Return an object again of which parts are on loan: all of the packet if there is an `at`, and arrays in place.

    `lent` returns the parts at places of the arena, each an offset with a number of bytes; the rest is the `tail`.
    """
    places = [(begin, nbytes) for is_beside, begin, nbytes in packet.buffers if not is_beside]
    if at is not None:
        places.append((at, packet.nbytes))
    parts = lent(places) if places else []
    block = tail if at is None else parts.pop()
    in_place = iter(parts)
    return opened_packet(packet, block, lambda *_: next(in_place))


def held_part(arrays: Sequence[tuple[int, np.ndarray]], begin: int, nbytes: int) -> np.ndarray:
    """Return bytes of the arena as a view of the array that holds them: `arrays` are offsets with arrays."""
    for at, array in arrays:
        if at <= begin and begin + nbytes <= at + array.nbytes:
            return array.reshape(-1).view(np.uint8)[begin - at : begin - at + nbytes]
    raise ValueError(f"bytes {begin} to {begin + nbytes} belong to another task")
