"""The program of a service: it prepares the elements of one plan until its last consumer has gone."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from penstock.core.surroundings import serve_another_process
from penstock.elements.chunks.chunk import Chunk
from penstock.engine.service.client import as_served, versions
from penstock.engine.service.folder import ServiceDoor, is_of_this_user, service_door
from penstock.engine.service.pieces import PreparedPieces
from penstock.engine.service.rows import PreparedRows
from penstock.engine.transport.channel import Channel
from penstock.engine.transport.packets import packet_of
from penstock.engine.transport.program_state import ProgramState
from penstock.engine.transport.raised import pickled_error
from penstock.engine.transport.unsent import part_at_fault, why_unsent
from penstock.engine.workers.lifetime import WORKER
from penstock.plan.flow import Piece

Tail: TypeAlias = Sequence[memoryview]


def serve(told: dict[str, Any]) -> None:
    """Serve until no consumer is left; `told` is what the process that started this one says."""
    serve_another_process("runs")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    faulthandler.enable()
    sys.argv[:] = told["argv"]
    for stream in (sys.stdout, sys.stderr):
        cast("Any", stream).reconfigure(line_buffering=True)
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
        self._channels: set[Channel] = set()
        self._has_gone = False  # from the folder
        self._key: tuple[str, ...] = ()
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
                channel = Channel(end, waits=True)
                with self._lock:
                    self._channels.add(channel)
                threading.Thread(target=self._serve, args=[channel], name=WORKER, daemon=True).start()

    def _has_left(self) -> bool:
        """Leave the folder if no consumer is left and none waits; nobody can connect meanwhile."""
        if self._channels:
            return False
        with service_door(self._name, self._folder) as door:
            self._accept()
            if self._channels:
                return False
            self._go(door)
            return True

    def _go(self, door: ServiceDoor) -> None:
        if not self._has_gone:
            self._has_gone = True
            door.remove()

    def _serve(self, channel: Channel) -> None:
        try:
            for message in channel.receive():
                channel.send(*self._answer(channel, *message.head))
        except (EOFError, OSError):  # the consumer has gone
            pass
        finally:
            channel.close()
            with self._lock:
                self._channels.discard(channel)
            with suppress(OSError):  # the end of the process
                os.eventfd_write(self._bell, 1)

    def _answer(self, channel: Channel, kind: str, *told: Any) -> tuple[tuple[str, Any], Tail]:
        """Return the head and the tail of the answer to a request."""
        try:
            if kind == "hello":
                return self._greeted(channel, *told), ()
            if kind == "load":
                return self._loaded(channel, *told), ()
            made = self._made(kind, *told)
            return (("made", None), ()) if made is None else self._packed(made)
        except BaseException as error:  # noqa: BLE001 - the consumer raises it
            return ("failed", pickled_error(error)), ()

    def _greeted(self, channel: Channel, theirs: str, *key: str) -> tuple[str, Any]:
        """Return whether a consumer is welcome, and whether it has to send the plan."""
        if theirs != versions():
            return "versions", versions()
        return ("wanted", None) if self._prepared is None else self._welcome(channel, key)

    def _welcome(self, channel: Channel, key: tuple[str, ...]) -> tuple[str, Any]:
        """Welcome a consumer of the plan; leave the name to one of another plan if no other consumer is left."""
        with self._lock:
            if self._key == key and not self._has_gone:
                if self._state is not None and self._state.settings is not None:
                    self._state.settings.apply_to_thread()  # and to those that it begins
                return "welcome", None
            if any(each is not channel and not each.has_ended for each in self._channels) and not self._has_gone:
                return "other", self._label
        with service_door(self._name, self._folder) as door:
            self._go(door)
        return "leaving", None

    def _loaded(
        self, channel: Channel, name: str, fingerprint: str, content: str, label: str, data: bytes
    ) -> tuple[str, Any]:
        """Load the plan, unless another consumer has sent one meanwhile."""
        with self._lock:
            if self._prepared is None:
                self._state, plan = pickle.loads(data)  # noqa: S301 - of a process of this user
                self._prepared = (PreparedRows if plan.indexed else PreparedPieces)(plan, as_served(plan))
                self._key, self._label = (name, fingerprint, content), label
        return self._welcome(channel, (name, fingerprint, content))

    def _made(self, kind: str, *told: Any) -> Any:
        prepared = self._prepared
        if kind == "rows" and isinstance(prepared, PreparedRows):
            return prepared.rows(*told)
        if kind == "after" and isinstance(prepared, PreparedPieces):
            return prepared.after(*told)
        raise ValueError(f"a consumer asked for {kind!r}")

    def _packed(self, made: Any) -> tuple[tuple[str, Any], Tail]:
        try:
            packed = packet_of(made)
        except Exception as error:
            self._blame(error, made)
            raise
        return ("made", packed.packet), list(packed.pieces())

    def _blame(self, error: Exception, made: Chunk | Piece) -> None:
        """Add to an error of elements that cannot be sent the operation, and the part of the first one at fault."""
        elements = (made.chunk if isinstance(made, Piece) else made).elements()
        found = next((each for each in elements if why_unsent(each) is not None), None)
        part = "" if found is None else f" ({part_at_fault(found, 'element')})"
        error.add_note(
            f"share({self._name!r}) sends elements between processes, and {self._label} makes some that cannot be "
            f"sent{part}: change them, or share before the operation that makes them"
        )
