"""The two moments at which runs must act without a request: a fork, and the end of the interpreter."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextvars import copy_context
from time import monotonic
from typing import Any, Protocol

WORKER = "penstock-worker"  # the name of every worker thread
CREW = "penstock-crew"  # the name of every thread that waits for worker processes
LAST_WAIT = 1.0  # seconds; native code ends a task within milliseconds, a user's function may sleep forever


class Running(Protocol):
    """The methods of a run that these moments call."""

    def close(self) -> None: ...
    def after_fork(self) -> None: ...


# The set of live runs belongs to the process, as the hooks do; nothing else is kept here.
_alive: weakref.WeakSet[Running] = weakref.WeakSet()


def watch_over(run: Running) -> None:
    """Close `run` when the interpreter ends, and begin it again in a forked child, as long as the run is alive."""
    _alive.add(run)


def worker_thread(work: Callable[..., None], *args: Any) -> threading.Thread:
    """Return a thread, not started yet, in the context of the caller: that has `numpy.seterr`, among others."""
    context = copy_context()
    context.run(_use_own_decimal_context)
    return threading.Thread(target=context.run, args=(work, *args), name=WORKER, daemon=True)


def _use_own_decimal_context() -> None:
    """Copy the settings of `decimal`: a copied context refers to the object that has them, which functions change."""
    if (decimal := sys.modules.get("decimal")) is not None:
        decimal.setcontext(decimal.getcontext().copy())


def _at_exit() -> None:
    """Close every run and wait for all threads of ours, including those of runs closed before.

    A thread that returns from native code into an interpreter in shutdown would be killed, and would take the process
    with it.
    """
    for run in list(_alive):
        run.close()
    deadline = monotonic() + LAST_WAIT
    for thread in threading.enumerate():
        if thread.name in (WORKER, CREW):
            thread.join(max(deadline - monotonic(), 0))


def _after_fork() -> None:
    failure: Exception | None = None
    for run in list(_alive):
        try:
            run.after_fork()
        except Exception as error:  # noqa: BLE001 - the other runs would wait for threads of the parent forever
            failure = error
    if failure is not None:
        raise failure  # which Python reports, and ignores


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
