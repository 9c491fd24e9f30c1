"""The two moments at which runs must act without being asked: a fork, and the end of the interpreter."""

from __future__ import annotations

import atexit
import os
import weakref
from time import monotonic
from typing import Protocol

LAST_WAIT = 1.0  # seconds; native code ends a task within milliseconds, a user's function may sleep for ever


class Running(Protocol):
    """What lives between those moments."""

    def close(self) -> None: ...
    def join(self, timeout: float) -> None: ...
    def after_fork(self) -> None: ...


# Which runs are alive is a fact about the process, as the hooks are; nothing else is kept here.
_alive: weakref.WeakSet[Running] = weakref.WeakSet()


def watch_over(run: Running) -> None:
    """Close `run` when the interpreter ends, and begin it again in a forked child, for as long as it is alive."""
    _alive.add(run)


def _at_exit() -> None:
    """A thread that comes back from native code into an interpreter being torn down would be killed there."""
    running = list(_alive)
    for run in running:
        run.close()
    deadline = monotonic() + LAST_WAIT
    for run in running:
        run.join(max(deadline - monotonic(), 0))


def _after_fork() -> None:
    for run in list(_alive):
        run.after_fork()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
