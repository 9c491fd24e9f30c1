"""The initializers of pools of processes: one that fails ends its worker, and the pool does not say why."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from penstock.plan.functions import name_of

MOST_SAID = 1000  # characters of an exception, which a pipe takes at once


class Telling:
    """An initializer that tells the process of the pool the exception with which it fails."""

    def __init__(self, func: Callable[..., Any], to: Connection) -> None:
        self.func = func
        self._to = to

    def __call__(self, *args: Any) -> None:
        try:
            self.func(*args)
        except BaseException as error:
            with suppress(OSError):  # nobody listens any longer
                self._to.send(f"{type(error).__name__}: {error}"[:MOST_SAID])
            raise


def listening(pool: object) -> Connection | None:
    """Let the initializer of a new pool tell with which exception it fails; return where, `None` without one."""
    given = vars(pool)["_initializer"] if isinstance(pool, ProcessPoolExecutor) else None
    if given is None or vars(pool)["_processes"]:
        return None
    ours, theirs = Pipe(duplex=False)
    vars(pool)["_initializer"] = Telling(_own(given), theirs)
    return ours


def failed_initializer(pool: object, dead: list[Any], told: Connection | None) -> str | None:
    """Return how the initializer of a broken pool failed, given its dead processes; `None` if it did not.

    A worker ends by itself, with exit code 0, if its initializer fails, after its last task, and with its pool.
    """
    if not isinstance(pool, ProcessPoolExecutor) or vars(pool)["_initializer"] is None:
        return None
    name = name_of(_own(vars(pool)["_initializer"]))
    if told is not None and told.poll():
        return f"its initializer {name} raised {told.recv()}"
    limited = vars(pool)["_max_tasks_per_child"] is not None
    if limited or not any(each.exitcode == 0 for each in dead):
        return None
    return f"its initializer {name} failed in a worker, which wrote why to standard error"


def _own(initializer: Callable[..., Any]) -> Callable[..., Any]:
    return initializer.func if isinstance(initializer, Telling) else initializer
