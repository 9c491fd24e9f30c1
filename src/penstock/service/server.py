"""The program of a service: it prepares the elements of one plan until its last consumer has gone."""

from __future__ import annotations

import logging
import os
import pickle
import select
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from penstock.core.blame import add_note
from penstock.core.surroundings import serve_another_process, versions
from penstock.elements.chunks.chunk import Chunk
from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.lifetime import WORKER
from penstock.memory.arena import ARENA_SHARE
from penstock.memory.pool import SharedMemory
from penstock.plan.flow import Piece
from penstock.service.client import ServiceKey, as_served
from penstock.service.folder import ServiceDoor, is_of_this_user, service_door
from penstock.service.pieces import PreparedPieces
from penstock.service.rows import PreparedRows
from penstock.transport.channel import Channel
from penstock.transport.loans import Lending
from penstock.transport.program_state import ProgramState
from penstock.transport.raised import pickled_error
from penstock.transport.serving import settle_process
from penstock.transport.unsent import part_at_fault, why_unsent


class Answer(NamedTuple):
    """An answer to a request: a message of a channel."""

    head: tuple[Any, ...]
    tail: Sequence[memoryview] = ()
    descriptor: int = -1


class Connection:
    """A connection of a consumer, with a number of its own and the numbers of its answers."""

    def __init__(self, channel: Channel, number: int) -> None:
        self.channel = channel
        self.number = number
        self.answers = count()


def serve(told: dict[str, Any]) -> None:
    """Serve until no consumer is left; `told` is what the process that started this one says."""
    serve_another_process("runs")
    settle_process(told["argv"])
    with socket.socket(fileno=told["listening"]) as listening:
        Service(listening, told["folder"], told["name"]).run()


class Service:
    """Consumers of one name, each connection with a thread of its own, and the elements that they share."""

    def __init__(self, listening: socket.socket, folder: str, name: str) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._folder = folder
        self._name = name
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Lock()
        self._numbers = count()
        self._connections: set[Connection] = set()
        self._welcomed: set[Connection] = set()  # those of the plan
        self._is_leaving = False  # and welcomes nobody
        self._has_left_folder = False
        self._lending = Lending()
        self._key: ServiceKey | None = None
        self._label = ""
        self._state: ProgramState | None = None
        self._prepared: PreparedRows | PreparedPieces | None = None

    def run(self) -> None:
        """Accept connections until all have ended."""
        while not self._has_left():
            ready, _, _ = select.select([self._listening, self._bell], [], [])
            if self._bell in ready:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._bell)
            self._accept()
        if self._prepared is not None:
            self._prepared.close()
        os.close(self._bell)

    def _accept(self) -> None:
        """Begin to serve all who wait for a connection."""
        with suppress(BlockingIOError):
            while True:
                end, _ = self._listening.accept()
                if not is_of_this_user(end):
                    end.close()
                    continue
                with self._lock:
                    connection = Connection(Channel(end, waits=True), next(self._numbers))
                    self._connections.add(connection)
                threading.Thread(target=self._serve, args=[connection], name=WORKER, daemon=True).start()

    def _has_left(self) -> bool:
        """Leave the folder if no consumer is left and none waits; nobody can connect meanwhile."""
        if self._has_connections():
            return False
        with service_door(self._name, self._folder) as door:
            self._accept()
            if self._has_connections():
                return False
            self._leave(door)
            return True

    def _has_connections(self) -> bool:
        with self._lock:
            return bool(self._connections)

    def _leave(self, door: ServiceDoor) -> None:
        """Remove the files of the name, unless that was done: then they belong to the next service."""
        if not self._has_left_folder:
            self._has_left_folder = True
            door.remove()

    def _serve(self, connection: Connection) -> None:
        channel = connection.channel
        try:
            for message in channel.receive():
                loans, *request = message.head
                self._lending.take_back(loans)
                channel.send(*self._answer(connection, *request))
        except (EOFError, OSError):  # the consumer has no more requests, or has gone
            self._forget(connection)
            channel.wait_for_close()  # with the last view of what was lent
            self._lending.take_back_all(connection.number)
        finally:
            self._forget(connection)
            channel.close()

    def _forget(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._welcomed.discard(connection)
            with suppress(OSError):  # the end of the process
                os.eventfd_write(self._bell, 1)

    def _answer(self, connection: Connection, kind: str, *told: Any) -> Answer:
        """Return the answer to a request."""
        try:
            if kind == "hello":
                return self._greeted(connection, *told)
            if kind == "load":
                key, label, data, spares_process = told
                return self._loaded(connection, key, label, data, spares_process=spares_process)
            made, again = self._made(kind, *told)
            return Answer(("end",)) if made is None else self._lent(connection, made, again)
        except BaseException as error:  # noqa: BLE001 - the consumer raises it
            return Answer(("failed", pickled_error(error)))

    def _greeted(self, connection: Connection, theirs: str, *key: Any) -> Answer:
        """Return whether a consumer is welcome, and whether it has to send the plan."""
        if theirs != versions():
            return Answer(("versions", versions()))
        return Answer(("wanted",)) if self._prepared is None else self._welcome(connection, ServiceKey(*key))

    def _welcome(self, connection: Connection, key: ServiceKey) -> Answer:
        """Welcome a consumer of the plan; leave the name to one of another plan if nobody else is welcome here."""
        with self._lock:
            if not self._is_leaving:
                if self._key is not None and self._key.is_like(key):
                    self._welcomed.add(connection)
                    if self._state is not None and self._state.settings is not None:
                        self._state.settings.apply_to_thread()  # and to those that it begins
                    arena = self._lending.arena
                    again = 0 if self._prepared is None else self._prepared.again
                    descriptor = -1 if arena is None else arena.file.fd
                    return Answer(("welcome", again, arena is not None), descriptor=descriptor)
                if any(not each.channel.has_ended for each in self._welcomed):
                    return Answer(("other", (self._label, self._key)))
                self._is_leaving = True
        with service_door(self._name, self._folder) as door:
            self._leave(door)
        return Answer(("leaving",))

    def _loaded(
        self, connection: Connection, key: ServiceKey, label: str, data: bytes, *, spares_process: bool
    ) -> Answer:
        """Load the plan, unless another consumer has sent one meanwhile.

        If it `spares_process`, no function of a task is called in this process.
        """
        with self._lock:
            if self._prepared is None:
                self._state, plan = pickle.loads(data)  # noqa: S301 - of a process of this user
                self._lending.make_arena(ARENA_SHARE * settings_of(plan).memory_budget)  # for all that it makes
                if self._lending.notice is not None:
                    logging.getLogger("penstock").warning("%s", self._lending.notice)
                memory = SharedMemory(self._lending.arena)
                kind = PreparedRows if plan.indexed else PreparedPieces
                self._prepared = kind(plan, as_served(plan), memory, spares_process=spares_process)
                self._key, self._label = key, label
        return self._welcome(connection, key)

    def _made(self, kind: str, *told: Any) -> tuple[Any, int]:
        """Return what was asked for, and the number of elements made again so far."""
        prepared = self._prepared
        if kind == "rows" and isinstance(prepared, PreparedRows):
            return prepared.rows(*told), prepared.again
        if kind == "after" and isinstance(prepared, PreparedPieces):
            return prepared.after(*told), prepared.again
        raise ValueError(f"a consumer asked for {kind!r}")

    def _lent(self, connection: Connection, made: Chunk | Piece, again: int) -> Answer:
        """Return the answer with elements, in memory that the consumer sees as far as there is some."""
        loan = connection.number, next(connection.answers)
        try:
            unsent, at, tail = self._lending.lend(*loan, made)
        except Exception as error:
            self._blame(error, made)
            raise
        return Answer(("made", unsent.packet, at, loan, again), tail)

    def _blame(self, error: Exception, made: Chunk | Piece) -> None:
        """Add to an error of elements that cannot be sent the operation, and the part of the first one at fault."""
        elements = (made.chunk if isinstance(made, Piece) else made).elements()
        found = next((each for each in elements if why_unsent(each) is not None), None)
        part = "" if found is None else f" ({part_at_fault(found, 'element')})"
        add_note(
            error,
            f"share({self._name!r}) sends elements between processes, and {self._label} makes some that cannot be "
            f"sent{part}: change them, or share before the operation that makes them",
        )
