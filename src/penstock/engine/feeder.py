"""Begins the tasks of a stage as their elements come, where those may let one wait: in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Generic, TypeVar

from penstock.core.errors import ClosedError
from penstock.engine.lifetime import WORKER
from penstock.engine.window import WHILE_WAITING

W = TypeVar("W")


class Feeder(Generic[W]):
    """Takes units as there is room for them, and begins each, until they end or it is stopped.

    So who takes what the tasks have made waits for the oldest task, and never for an element that is still to come.
    """

    def __init__(
        self, units: Generator[W, int | None], begin: Callable[[W], None], has_room: Callable[[], bool]
    ) -> None:
        self._units = units
        self._begin = begin
        self._has_room = has_room
        self._begun: deque[W] = deque()
        self._changed = threading.Condition()
        self._ended = self._stopped = False
        self._failure: BaseException | None = None
        self._process = os.getpid()
        threading.Thread(target=self._work, name=WORKER, daemon=True).start()

    def oldest(self) -> W | None:
        """Wait for a unit that has begun, and return the oldest; `None` at the end, after which a failure is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._begun or self._ended or self._stopped)
            if self._stopped:
                raise ClosedError(WHILE_WAITING)
            if self._begun:
                return self._begun[0]
        if self._failure is not None:
            raise self._failure
        return None

    def done(self) -> None:
        """Forget the oldest: what it made is taken."""
        with self._changed:
            self._begun.popleft()
            self._changed.notify_all()

    def stop(self) -> None:
        """Begin nothing more; the thread ends with the unit that it waits for, if it waits for one."""
        if self._process != os.getpid():  # the thread stayed in the parent, perhaps with the lock
            return
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            while self._waited_for_room() and (unit := next(self._units, None)) is not None:
                self._begin(unit)
                with self._changed:
                    self._begun.append(unit)
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised after what came before it
            failure = error
        with suppress(ValueError):  # whoever stopped it is closing them
            self._units.close()
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _waited_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._has_room())
            return not self._stopped
