"""The cores that the threads and processes of a run may use, if there is a limit: the system keeps them there."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import suppress

from penstock.core.contexts import contextmanager
from penstock.kernels import SideThread


def cores_for(count: int | None) -> frozenset[int] | None:
    """Return `count` of the cores of this process; `None` if it has no more, or if the system cannot bind threads.

    All runs of a process that ask for as many share the same ones; other processes of this machine likely have others.
    """
    if count is None or not hasattr(os, "sched_setaffinity"):
        return None
    mine = sorted(os.sched_getaffinity(0))
    if count >= len(mine) or not _can_bind(mine):
        return None
    first = os.getpid() * count
    return frozenset(mine[(first + number) % len(mine)] for number in range(count))


def _can_bind(mine: list[int]) -> bool:
    """Return whether the system lets this thread choose its cores, which some sandboxes refuse."""
    try:
        os.sched_setaffinity(0, mine)
    except OSError:
        return False
    return True


def side_thread(cores: frozenset[int] | None) -> SideThread:
    """Return a native thread that runs on these cores only, if they are given."""
    return SideThread(sorted(cores or ()))


@contextmanager
def only_on(cores: frozenset[int] | None) -> Generator[None]:
    """Bind the threads and processes that this thread starts within to some cores, with all that those start later.

    >>> cores = cores_for(1)
    >>> with only_on(cores):
    ...     cores is None or os.sched_getaffinity(0) == cores
    True
    """
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        with suppress(OSError):  # some of them were taken from this process meanwhile
            os.sched_setaffinity(0, before)
