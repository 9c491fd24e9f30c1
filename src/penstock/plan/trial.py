"""Elements that end the process that makes them: a task on trial says which one it makes, and spares those known."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import time
from typing import NamedTuple

from penstock.plan.graph import post_order
from penstock.plan.node import Node

LONGEST = 64  # bytes of a place in the file


class Place(NamedTuple):
    """An element in an operation that handles errors: node `node` of the plan, and the element's `id` there.

    It is `guarded` if an `IgnoreErrors` above handles the error, rather than the operation itself.
    """

    node: int
    guarded: bool
    id: int


@dataclass(frozen=True)
class Trial:
    """What a task on trial must know: the file that is told the place in hand, and the places that end processes.

    `deadly` has the words that say how the processes ended.
    """

    path: str
    deadly: Mapping[Place, str]


class Tried:
    """The task on trial that this thread makes: its operations that handle errors make one element at a time."""

    def __init__(self, trial: Trial, plan: Node) -> None:
        self._deadly = trial.deadly
        self._numbers = {id(node): number for number, node in enumerate(post_order(plan))}
        self._file = -1
        with suppress(OSError):  # on another host, which cannot tell the place
            self._file = os.open(trial.path, os.O_WRONLY | os.O_CLOEXEC)
        self._told = b""

    def place(self, node: Node, identity: int, *, guarded: bool) -> Place | None:
        """Return the place of an element; `None` in the plan of a dataset that an element is."""
        number = self._numbers.get(id(node))
        return None if number is None else Place(number, guarded, identity)

    def verdict(self, place: Place | None) -> str | None:
        """Return how the element there ended processes, if it is known to."""
        return None if place is None else self._deadly.get(place)

    @contextmanager
    def at(self, place: Place | None) -> Iterator[None]:
        """Say that the element there is being made."""
        outer = self._told
        if place is not None:
            self._tell(f"{place.node} {place.guarded:d} {place.id}".encode())
        try:
            yield
        finally:
            self._tell(outer)

    def _tell(self, place: bytes) -> None:
        if place != self._told:
            self._told = place
            if self._file >= 0:
                os.pwrite(self._file, place.ljust(LONGEST), 0)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)


class PlaceFile:
    """The file without a name that a task on trial, in any process of this host, tells its place."""

    def __init__(self) -> None:
        self.path = ""
        self._file = -1
        with suppress(OSError, AttributeError):  # no descriptor is left, or the system has no such files
            self._file = os.memfd_create("penstock-place")
            self.path = f"/proc/{os.getpid()}/fd/{self._file}"
            weakref.finalize(self, os.close, self._file).atexit = False

    def clear(self) -> None:
        """Forget the place, before a task that nobody makes yet."""
        if self._file >= 0:
            os.pwrite(self._file, b" " * LONGEST, 0)

    def read(self) -> Place | None:
        """Return the place where the task stood when its process ended; `None` if no operation there handles errors."""
        told = [] if self._file < 0 else os.pread(self._file, LONGEST, 0).split()
        return Place(int(told[0]), told[1] == b"1", int(told[2])) if len(told) == len(Place._fields) else None

    def seconds(self) -> float | None:
        """Return how long the task has been at its place; `None` if it has told none."""
        return None if self.read() is None else time() - os.fstat(self._file).st_mtime


class _Here(threading.local):
    tried: Tried | None = None


here = _Here()
"""The task on trial of the calling thread."""


@contextmanager
def on_trial(trial: Trial | None, plan: Node) -> Iterator[None]:
    """Let the calling thread make a task, on trial if `trial` is given."""
    if trial is None:
        yield
        return
    here.tried = tried = Tried(trial, plan)
    try:
        yield
    finally:
        here.tried = None
        tried.close()
