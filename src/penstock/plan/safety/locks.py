"""Locks for objects that only one thread at a time may use, shared by all functions that use the same object."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from time import perf_counter_ns
from typing import Any, NamedTuple
from weakref import WeakValueDictionary


class ObjectLock:
    """The lock of one object, for as long as some function that uses the object may run.

    `what` holds observations of the object that its functions' code does not show.
    """

    __slots__ = ("__weakref__", "lock", "number", "owner", "what")

    def __init__(self, owner: Any, number: int) -> None:
        self.owner = owner  # kept, so that no other object gets its id
        self.number = number  # locks are taken in one order, so that no two threads wait for each other
        self.lock = threading.RLock()
        self.what = ""


class LockTimes(NamedTuple):
    """The time that this thread spent in calls that take locks, and waiting for its turn, in ns."""

    alone: int
    queued: int


class _Here(threading.local):
    """The locks that this thread holds now, and its times."""

    def __init__(self) -> None:
        self.locks: list[list[Any]] = []
        self.began = 0
        self.alone = 0
        self.queued = 0


# The objects in use, and the threads that use them, belong to the process.
_in_use: WeakValueDictionary[int, ObjectLock] = WeakValueDictionary()
_told: WeakValueDictionary[int, Any] = WeakValueDictionary()
_numbers = count()
_lock = threading.Lock()
_here = _Here()


class LockSet:
    """A context for one thread at a time among all users of one of the objects; reentrant."""

    def __init__(self, owners: Iterable[Any], *, counts: bool = True) -> None:
        """Lock these objects; the time in it `counts` as time in functions that one thread at a time may call."""
        self._locks = sorted({lock_of(owner) for owner in owners}, key=lambda lock: lock.number)
        self.counts = counts

    def __enter__(self) -> None:
        here, asked, taken = _here, perf_counter_ns(), []
        try:
            for one in self._locks:
                one.lock.acquire()
                taken.append(one.lock)
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
        for lock in here.locks.pop():  # those that were taken: after a fork the objects have others
            lock.release()
        if not here.locks and self.counts:
            here.alone += perf_counter_ns() - here.began

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ([lock.owner for lock in self._locks],)  # another process has other threads

    def note(self, what: str) -> None:
        """Record an observation of the objects."""
        for lock in self._locks:
            lock.what = lock.what or what


def lock_of(owner: Any) -> ObjectLock:
    """Return the lock of an object: the same one for as long as it is referenced."""
    with _lock:
        found = _in_use.get(id(owner))
        if found is None:
            found = _in_use[id(owner)] = ObjectLock(owner, next(_numbers))
        return found


def seen_of(owner: Any) -> str:
    """Return the change that was seen of an object in use; an empty text if there was none."""
    with _lock:
        found = _in_use.get(id(owner))
    return "" if found is None else found.what


def tell(thing: Any) -> bool:
    """Record that the user is warned of a function or object; return True the first time in this process."""
    with _lock:
        if _told.get(id(thing)) is thing:
            return False
        with suppress(TypeError):  # no weak reference possible: a later object with its id would look the same
            _told[id(thing)] = thing
        return True


def held_here() -> LockTimes:
    """Return the times of this thread so far."""
    return LockTimes(_here.alone, _here.queued)


def is_in_turn() -> bool:
    """Return True if this thread holds such a lock now."""
    return bool(_here.locks)


def _after_fork() -> None:
    """Reset the state in a forked child, where the threads that held the locks do not exist."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for lock in list(_in_use.values()):
        lock.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
