"""Locks for the objects that one thread at a time may use, shared by all functions that use the same one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import WeakValueDictionary


class Guard:
    """The lock of one object, for as long as some function that uses the object may run.

    `what` says what was seen of the object that its functions' code does not tell.
    """

    __slots__ = ("__weakref__", "lock", "number", "owner", "what")

    def __init__(self, owner: Any, number: int) -> None:
        self.owner = owner  # kept, so that nothing else gets its identity
        self.number = number  # locks are taken in one order, so that no two threads wait for each other
        self.lock = threading.RLock()
        self.what = ""


class Held(NamedTuple):
    """How long this thread was in guarded calls, and how long it waited for its turn, in ns."""

    alone: int
    queued: int


class _Here(threading.local):
    """The locks that this thread holds now, and the times that it has counted."""

    def __init__(self) -> None:
        self.locks: list[list[Any]] = []
        self.began = 0
        self.alone = 0
        self.queued = 0


# Which objects are in use, and by whom, is a fact about the process.
_guards: WeakValueDictionary[int, Guard] = WeakValueDictionary()
_told: WeakValueDictionary[int, Any] = WeakValueDictionary()
_numbers = count()
_lock = threading.Lock()
_here = _Here()


class Turns:
    """A context that one thread at a time may be in, of all that use one of the objects; it may be entered again."""

    def __init__(self, owners: Iterable[Any]) -> None:
        self._guards = sorted({guard_of(owner) for owner in owners}, key=lambda guard: guard.number)

    def __enter__(self) -> None:
        here, asked, taken = _here, perf_counter_ns(), []
        try:
            for guard in self._guards:
                guard.lock.acquire()
                taken.append(guard.lock)
        except BaseException:  # an interrupt
            for lock in taken:
                lock.release()
            raise
        here.locks.append(taken)
        if len(here.locks) == 1:
            here.began = perf_counter_ns()
            here.queued += here.began - asked

    def __exit__(self, *error: object) -> None:
        here = _here
        for lock in here.locks.pop():  # those that were taken: after a fork the guards have others
            lock.release()
        if not here.locks:
            here.alone += perf_counter_ns() - here.began

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ([guard.owner for guard in self._guards],)  # in another process there are other threads

    def note(self, what: str) -> None:
        """Say what was seen of the objects."""
        for guard in self._guards:
            guard.what = guard.what or what


def guard_of(owner: Any) -> Guard:
    """The guard of an object: the same one for as long as anybody has it."""
    with _lock:
        guard = _guards.get(id(owner))
        if guard is None:
            guard = _guards[id(owner)] = Guard(owner, next(_numbers))
        return guard


def seen_of(owner: Any) -> str:
    """Return the change that was seen of an object in use; an empty text where there was none."""
    with _lock:
        guard = _guards.get(id(owner))
    return "" if guard is None else guard.what


def tell(thing: Any) -> bool:
    """Note that the user is told of a function or object; whether this is the first time in this process."""
    with _lock:
        if _told.get(id(thing)) is thing:
            return False
        with suppress(TypeError):  # no weak reference to it: nothing would say when another has its identity
            _told[id(thing)] = thing
        return True


def held_here() -> Held:
    """Return the times that this thread has counted so far."""
    return Held(_here.alone, _here.queued)


def is_in_turn() -> bool:
    """Return whether this thread is in a guarded call now."""
    return bool(_here.locks)


def _after_fork() -> None:
    """In a forked child: the threads that held the locks are not there."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for guard in list(_guards.values()):
        guard.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
