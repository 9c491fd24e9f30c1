"""The ends of workers whose executor broke, and the memory that nobody may use before."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import connection
from time import monotonic
from typing import Any

from penstock.engine.workers.handed_in.call import Sent

TIME_TO_LEAVE = 5.0  # seconds that the workers of a broken pool, which the pool ends, have before they are killed


class Departures:
    """Holder of what was sent to executors that broke, until no worker of theirs is alive.

    A pool fails its calls before it ends its workers: one may still be writing into the memory of such a call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, list[Sent]] = {}  # by the identity of the workers of an executor

    @property
    def under_way(self) -> bool:
        """True while some worker of a broken executor may be alive."""
        return bool(self._held)

    def hold(self, sent: Sent, then: Callable[[], None]) -> None:
        """Hold what was sent until the workers that have it are gone, then call `then` in another thread."""
        key = id(sent.processes)
        with self._lock:
            if key in self._held:
                self._held[key].append(sent)
                return
            if not (processes := _alive(sent.processes)):
                return
            self._held[key] = [sent]
        thread = threading.Thread(
            target=self._wait, args=[key, processes, then], name="penstock-departures", daemon=True
        )
        with suppress(RuntimeError):  # at the end of the interpreter, which needs no memory any more
            thread.start()

    def _wait(self, key: int, processes: list[Any], then: Callable[[], None]) -> None:
        deadline = monotonic() + TIME_TO_LEAVE
        try:
            for each in processes:
                with suppress(ProcessLookupError, ValueError):  # has ended, and may be closed
                    _await_end(each, max(deadline - monotonic(), 0))
        finally:
            with self._lock:
                del self._held[key]
            then()


def _await_end(process: Any, patience: float) -> None:
    """Wait for the end of a process, and kill it if that takes longer; its exit code is left to those who want it."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:  # no descriptor is left
        process.join()
        return
    try:
        if not connection.wait([descriptor], patience):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            connection.wait([descriptor])
    finally:
        os.close(descriptor)


def _alive(processes: Mapping[int, Any]) -> list[Any]:
    """Return the processes that have not ended."""
    alive: list[Any] = []
    for each in list(processes.values()):
        with suppress(ValueError):  # closed, since it has ended
            if each.exitcode is None:
                alive.append(each)
    return alive
