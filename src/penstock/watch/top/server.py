"""The thread that tells of the passes of a process, by a socket that only its user can reach."""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from penstock.watch.top.folder import SOCKET_SUFFIX, folder_to_serve_in
from penstock.watch.top.message import as_data

if TYPE_CHECKING:
    from penstock.engine.runs.run import Run
    from penstock.watch.top.published import Publisher

LOOK_AROUND = 1.0  # seconds between two looks whether passes are under way
LINGERS = 3  # looks without any, after which the server ends
MOST_ASKED = 1 << 16  # of a request
PATIENCE_OF_SERVER = 1.0  # seconds for a request to come
LAST_JOIN = 1.0  # seconds


class TopServer:
    """A server of one process, which ends when no pass has been under way for some seconds.

    A request is a line of JSON, and so is the answer. A process that cannot have a socket, or a folder for it that is
    its user's alone, has no server: nobody sees it, and it goes on.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._closed = threading.Event()
        self._wakes, self._woken = socket.socketpair()
        self._path = ""
        self.ready = threading.Event()
        """Set once the socket is there, or it is clear that it will not be."""
        self.thread = threading.Thread(target=self._work, name="penstock-top", daemon=True)

    def begin(self) -> None:
        """Begin to answer."""
        try:
            self.thread.start()
        except RuntimeError:  # too many threads
            self._wakes.close()
            self._woken.close()
            raise
        atexit.register(self.close)

    def close(self) -> None:
        """End now; the socket is removed."""
        atexit.unregister(self.close)
        self._closed.set()
        with suppress(OSError):
            self._wakes.send(b"0")
        if self.thread is not threading.current_thread():
            with suppress(RuntimeError):  # not started yet, by a thread that begins it just now
                self.thread.join(LAST_JOIN)

    def _work(self) -> None:
        listener = None
        try:
            listener = self._opened()
            self.ready.set()
            if listener is not None:
                self._serve(listener)
        finally:
            atexit.unregister(self.close)
            if listener is not None:
                listener.close()
                with suppress(OSError):
                    os.unlink(self._path)
                if self._publisher.server is self and not self._closed.is_set():
                    self._publisher.server = None  # a later pass is served again
            self._wakes.close()
            self._woken.close()

    def _opened(self) -> socket.socket | None:
        folder = folder_to_serve_in()
        if folder is None:
            return None
        name = os.path.join(folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        listener = None
        try:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(name)
            listener.listen()
            os.rename(name, name + SOCKET_SUFFIX)  # a socket that is found there takes connections
        except OSError:  # a path that is too long, a full disk, too many open files, a file system without sockets
            if listener is not None:
                listener.close()
            with suppress(OSError):
                os.unlink(name)
            return None
        self._path = name + SOCKET_SUFFIX
        return listener

    def _serve(self, listener: socket.socket) -> None:
        idle, poll = 0, select.poll()  # `select` takes no descriptor above 1023
        for each in (listener, self._woken):
            poll.register(each, select.POLLIN)
        while idle < LINGERS and not self._closed.is_set():
            found = {descriptor for descriptor, _ in poll.poll(1000 * LOOK_AROUND)}
            idle = 0 if self._publisher.under_way() else idle + 1
            if listener.fileno() in found and not self._closed.is_set():
                with suppress(OSError):  # the other end is gone
                    connection, _ = listener.accept()
                    with connection:
                        self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        if _user_of(connection) not in (None, os.getuid()):
            return
        connection.settimeout(PATIENCE_OF_SERVER)
        line = b""
        while not line.endswith(b"\n"):
            more = connection.recv(MOST_ASKED)
            line += more
            if not more or len(line) > MOST_ASKED:
                return
        try:
            answer = self._answered(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever is asked, the run goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        connection.sendall(json.dumps(answer).encode() + b"\n")

    def _answered(self, request: Any) -> dict[str, Any]:
        asked = request.get("do") if isinstance(request, dict) else None
        do = ANSWERS.get(asked) if isinstance(asked, str) else None
        if do is None:
            return {"error": f"unknown request {asked!r}"}
        return do(self._publisher, request)


def _shown(publisher: Publisher, request: dict[str, Any]) -> dict[str, Any]:
    """Return what this process runs, and its passes."""
    version = vars(sys.modules["penstock"])["__version__"]  # of the floor above
    passes = [data for each in publisher.under_way() if (data := as_data(each)) is not None]
    command = [str(each) for each in getattr(sys, "orig_argv", sys.argv)]
    return {"penstock": version, "pid": os.getpid(), "command": command, "passes": passes}


def _changed(publisher: Publisher, request: dict[str, Any]) -> dict[str, Any]:
    """Change one pass, or all; return in words what each of them does from now on, or why it cannot."""
    number, asked = request.get("pass"), [(name, request[name]) for name in CHANGES_OF_RUNS if name in request]
    wrong = [name for name, value in asked if not isinstance(value, int) or value < 1]
    if wrong:
        return {"error": f"{wrong[0]}: expected a whole number of at least 1"}
    passes = [each for each in publisher.under_way() if number in (None, each.number)]
    if not passes:
        there = ", ".join(str(each.number) for each in publisher.under_way())
        which = "no pass" if number is None else f"no pass {number}"
        return {"error": f"{which} is under way" + (f"; there are passes {there}" if there else "")}
    done: list[str] = []
    refused: list[str] = []
    for each in passes:
        for name, value in asked:
            words, change = CHANGES_OF_RUNS[name]
            what = f"pass {each.number}, {each.run.plan.label()}: {words.format(value)}"
            reason = change(each.run, value)
            (done if reason is None else refused).append(what if reason is None else f"{what}: not possible, {reason}")
    return {"done": done, "refused": refused}


CHANGES_OF_RUNS: dict[str, tuple[str, Callable[[Run, int], str | None]]] = {
    "workers": ("{:,} workers from its next items on", lambda run, value: run.session.change_workers(value)),
    "memory_budget": ("{:,} bytes for work ahead", lambda run, value: run.session.change_budget(value)),
    "pause": ("paused", lambda run, _: run.session.pause()),
    "resume": ("goes on", lambda run, _: run.session.resume()),
}
"""The changes by name: in words, and the function that makes them and returns the reason if they are impossible."""
ANSWERS: dict[str, Callable[[Publisher, dict[str, Any]], dict[str, Any]]] = {"show": _shown, "change": _changed}
"""The answer to each request, by its name."""


def _user_of(connection: socket.socket) -> int | None:
    """Return the id of the user at the other end, where the system tells it."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1]
