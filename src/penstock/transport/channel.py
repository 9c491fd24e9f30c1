"""Messages over a pair of sockets: a small pickled head, and bytes behind it that found no place in the arena.

The parent never waits for a socket: a message goes out as far as there is room, and the rest follows when the socket
has room again. A worker has nothing else to do, and waits.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

LENGTHS = struct.Struct("<IQ")  # of head and tail
RECEIVED_AT_ONCE = 1 << 14  # bytes; memory for more is new at each call, which takes longer than the message
MOST_DESCRIPTORS = 8
WITH_DESCRIPTOR = ("plan", "run", "begun", "welcome")  # messages with a descriptor, if their last field is true


class Message(NamedTuple):
    """A message: the object in its head, its tail, and a file descriptor that came with it, or -1."""

    head: Any
    tail: bytearray
    descriptor: int


class Channel:
    """One end of a pair of sockets; `receive` belongs to one thread, `send` to any."""

    def __init__(self, end: socket.socket, *, waits: bool) -> None:
        end.setblocking(waits)
        self._socket = end
        self._waits = waits
        self._lock = threading.Lock()
        self._unsent: deque[tuple[memoryview, int]] = deque()
        self._received = _Assembly()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(
        self, head: Any, tail: bytes | bytearray | memoryview | Sequence[memoryview] = b"", descriptor: int = -1
    ) -> bool:
        """Send a message, perhaps with a tail in pieces or a file descriptor; return whether all of it has gone out.

        Raise an `OSError` if the other side is gone.
        """
        data = head if isinstance(head, bytes) else pickle.dumps(head, protocol=5)
        pieces = [memoryview(tail)] if isinstance(tail, bytes | bytearray | memoryview) else tail
        first = memoryview(LENGTHS.pack(len(data), sum(each.nbytes for each in pieces)) + data)
        with self._lock:
            self._unsent.append((first, descriptor))
            self._unsent.extend((each, -1) for each in pieces if each.nbytes)
            return self._flush()

    def flush(self) -> bool:
        """Send what is waiting; return whether nothing is left."""
        with self._lock:
            return self._flush()

    def _flush(self) -> bool:
        while self._unsent:
            data, descriptor = self._unsent[0]
            try:
                if descriptor >= 0:
                    sent = socket.send_fds(self._socket, [data], [descriptor])
                else:
                    sent = self._socket.send(data)
            except BlockingIOError:
                return False
            self._unsent.popleft()
            if sent < len(data):
                self._unsent.appendleft((data[sent:], -1))
        return True

    def receive(self) -> Iterator[Message]:
        """Yield whole messages: those that are there, or for a worker all of them; raise `EOFError` at the end."""
        while True:
            yield from self._received.whole()
            try:
                if (into := self._received.tail_missing) is not None:
                    count = self._socket.recv_into(into)
                    self._received.fill_tail(count)
                else:
                    data, descriptors, _, _ = socket.recv_fds(self._socket, RECEIVED_AT_ONCE, MOST_DESCRIPTORS)
                    for each in descriptors:
                        os.set_inheritable(each, False)
                    count = len(data)
                    self._received.add(data, descriptors)
            except BlockingIOError:
                return
            if not count:
                raise EOFError("the other side has closed")

    @property
    def has_ended(self) -> bool:
        """True if the other side has closed, whether or not all that it sent was received."""
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)
        return bool(poll.poll(0))

    def end(self) -> None:
        """Let the other side see the end of the channel."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def end_requests(self) -> None:
        """Send no more; the other side sees that as an end, although this end stays open."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def wait_for_close(self) -> None:
        """Wait until the other end is closed in every process that had it, also one that has sent its last message."""
        poll = select.poll()
        poll.register(self._socket, 0)  # which leaves the end of the connection
        poll.poll()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class _Assembly:
    """Assembler of received bytes into messages; a long tail is received directly into its final memory."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._descriptors: deque[int] = deque()
        self._head: Any = None
        self._tail: bytearray | None = None
        self._filled = 0

    @property
    def tail_missing(self) -> memoryview | None:
        """The memory for the rest of a tail, if one is being received."""
        return None if self._tail is None else memoryview(self._tail)[self._filled :]

    def fill_tail(self, count: int) -> None:
        self._filled += count

    def add(self, data: bytes, descriptors: list[int]) -> None:
        self._data += data
        self._descriptors += descriptors

    def whole(self) -> Iterator[Message]:
        while True:
            if self._tail is None and not self._begin():
                return
            tail = self._tail
            if tail is None or self._filled < len(tail):
                return
            self._tail = None
            head = self._head
            has_descriptor = isinstance(head, tuple) and head[0] in WITH_DESCRIPTOR and head[-1]
            yield Message(head, tail, self._descriptors.popleft() if has_descriptor else -1)

    def _begin(self) -> bool:
        """Take a head off the data, and as much of its tail as is there; return whether a head was there."""
        data = self._data
        if len(data) < LENGTHS.size:
            return False
        of_head, of_tail = LENGTHS.unpack_from(data)
        end = LENGTHS.size + of_head
        if len(data) < end:
            return False
        self._head = pickle.loads(data[LENGTHS.size : end])  # noqa: S301 - from our own process
        self._tail = tail = bytearray(of_tail)
        self._filled = min(of_tail, len(data) - end)
        tail[: self._filled] = data[end : end + self._filled]
        self._data = data[end + self._filled :]
        return True
