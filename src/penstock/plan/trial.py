"""Elements that end the process that makes them: a task on trial says which one it makes, and spares those known."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Generator, Mapping
from contextlib import suppress
from time import time
from typing import NamedTuple

from penstock.core.contexts import contextmanager
from penstock.core.frozen import frozen
from penstock.plan.graph import post_order
from penstock.plan.node import Node

LONGEST_SPOT = 64  # bytes of a process and a spot in the file


class Spot(NamedTuple):
    """An element in an operation that handles errors: node `node` of the plan, and the element's `id` there.

    It is `guarded` if an `IgnoreErrors` above handles the error, rather than the operation itself.
    """

    node: int
    guarded: bool
    id: int


@frozen()
class Terms:
    """The file in which a task on trial writes its process and spot, and the spots at which processes have ended.

    The file at `path` is written to only if it has the name `name`, since another host may have another file there.
    `deadly` describes, for each spot, how the processes ended.
    """

    path: str
    name: str
    deadly: Mapping[Spot, str]


class Tried:
    """The task on trial that this thread makes: its operations that handle errors make one element at a time."""

    def __init__(self, terms: Terms, plan: Node) -> None:
        self._deadly = terms.deadly
        self._numbers = {id(node): number for number, node in enumerate(post_order(plan))}
        self._file = -1
        with suppress(OSError):  # on another host, which cannot tell the spot, or has another file there
            if terms.name in os.readlink(terms.path):
                self._file = os.open(terms.path, os.O_WRONLY | os.O_CLOEXEC)
        self._told = b"-"
        self._tell(b"")

    def spot(self, node: Node, identity: int, *, guarded: bool) -> Spot | None:
        """Return the spot of an element; `None` in the plan of a dataset that an element is."""
        number = self._numbers.get(id(node))
        return None if number is None else Spot(number, guarded, identity)

    def verdict(self, spot: Spot | None) -> str | None:
        """Return how the element there ended processes, if it is known to."""
        return None if spot is None else self._deadly.get(spot)

    @contextmanager
    def at(self, spot: Spot | None) -> Generator[None]:
        """Say that the element there is being made."""
        outer = self._told
        if spot is not None:
            self._tell(f"{spot.node} {spot.guarded:d} {spot.id}".encode())
        try:
            yield
        finally:
            self._tell(outer)

    def _tell(self, spot: bytes) -> None:
        if spot != self._told:
            self._told = spot
            if self._file >= 0:
                os.pwrite(self._file, b"%d %s" % (os.getpid(), spot) + b" " * LONGEST_SPOT, 0)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)


class SpotFile:
    """The file without a name that a task on trial, in any process of this host, tells its process and its spot."""

    def __init__(self) -> None:
        self.path = ""
        self.name = f"penstock-spot-{os.urandom(8).hex()}"
        self._file = -1
        with suppress(OSError, AttributeError):  # no descriptor is left, or the system has no such files
            self._file = os.memfd_create(self.name)
            self.path = f"/proc/{os.getpid()}/fd/{self._file}"
            weakref.finalize(self, os.close, self._file).atexit = False

    def clear(self) -> None:
        """Forget what was told, before a task that nobody makes yet."""
        if self._file >= 0:
            os.pwrite(self._file, b" " * LONGEST_SPOT, 0)

    def _read(self) -> list[int]:
        return [] if self._file < 0 else [int(each) for each in os.pread(self._file, LONGEST_SPOT, 0).split()]

    @property
    def pid(self) -> int | None:
        """The process that began the task; `None` if none has told."""
        return next(iter(self._read()), None)

    @property
    def spot(self) -> Spot | None:
        """The spot where the task stood when its process ended; `None` if no operation there handles errors."""
        match self._read():
            case [_, node, guarded, identity]:
                return Spot(node, guarded == 1, identity)
            case _:
                return None

    def seconds(self) -> float | None:
        """Return how long the task has been at its spot; `None` if it has told none."""
        return None if self.spot is None else time() - os.fstat(self._file).st_mtime


class _Here(threading.local):
    tried: Tried | None = None


here = _Here()
"""The task on trial of the calling thread."""


@contextmanager
def on_trial(terms: Terms | None, plan: Node) -> Generator[None]:
    """Let the calling thread make a task, on trial if `terms` are given."""
    if terms is None:
        yield
        return
    here.tried = tried = Tried(terms, plan)
    try:
        yield
    finally:
        here.tried = None
        tried.close()
