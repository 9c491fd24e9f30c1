"""Start a worker process: a new interpreter that imports this package and nothing of the user's script."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from penstock.core.budget import CACHE_SHARE
from penstock.core.frozen import frozen
from penstock.memory.arena import Arena
from penstock.memory.cores import only_on
from penstock.memory.freed import KEPT_SHARE
from penstock.memory.limits import default_cache_limit, default_memory_budget
from penstock.transport.process_settings import THREAD_VARIABLES

ENTRY = (
    "import json, sys; told = json.loads(sys.argv[1]); sys.path[:] = told['path']; "
    "from importlib import import_module; import_module(told['program']).serve(told)"
)
MAKES_TASKS = "penstock.engine.workers.processes.worker"
"""The program of a process that makes tasks."""
MAKES_RUNS = "penstock.isolation.host"
"""The program of a process that makes whole runs."""
MOST_KEPT = 128 << 20  # bytes of freed memory that a worker keeps
LARGEST_KEPT = 32 << 20  # bytes of a block; the C library takes no higher value


@frozen()
class PoolSetup:
    """The settings of a pool of worker processes; runs with equal settings share one pool.

    `native_threads` is the number of threads that native libraries may have in each worker, and `budget` the most bytes
    of batches, or `None` for the default. `program` is the module that the workers run. They use only these `cores`,
    unless they are `None`.
    """

    workers: int
    native_threads: int = 1
    budget: int | None = None
    program: str = MAKES_TASKS
    cores: frozenset[int] | None = None


@dataclass
class Started:
    """A process that was started, with our end of its channel and the pipes of its output."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    pidfd: int


def obstacle() -> str | None:
    """Return the reason why no worker process can be started here, if there is one."""
    if not sys.executable or not os.access(sys.executable, os.X_OK):
        return "sys.executable does not name an interpreter"
    if getattr(sys, "frozen", False):
        return "sys.executable is a frozen application"
    if not hasattr(os, "pidfd_open"):
        return "this system does not tell when a process ends (pidfd_open)"
    return None


def started(setup: PoolSetup, arena: Arena | None) -> Started:
    """Start a process in the calling thread, with whose end the system ends the process."""
    ours, theirs = socket.socketpair()
    descriptors: list[int] = []
    try:
        descriptors.extend(map(_passed, [theirs.fileno(), *([] if arena is None else [arena.file.fd])]))
        told = {
            "parent": os.getpid(),
            "channel": descriptors[0],
            "arena": None if arena is None else [descriptors[1], arena.size],
            "caches": cache_bytes(setup),
            "kept": kept_bytes(setup),
            "level": logging.getLogger().getEffectiveLevel(),
        }
        process = interpreter(setup, told, descriptors, output=subprocess.PIPE)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        for each in descriptors:
            os.close(each)
    return Started(process, ours, os.pidfd_open(process.pid))


def interpreter(
    setup: PoolSetup, told: dict[str, Any], passed: list[int], *, output: int, is_detached: bool = False
) -> subprocess.Popen[bytes]:
    """Start the program of a setup in a new interpreter with the `passed` descriptors, which writes to `output`.

    The program is `told` this, and where this one finds its modules and the arguments that it was started with. If it
    `is_detached`, no terminal interrupts it.
    """
    told = {"program": setup.program, "path": sys.path, "argv": sys.argv, **told}
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined] # noqa: SLF001 - as multiprocessing does
    with only_on(setup.cores):
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, *flags, "-c", ENTRY, json.dumps(told)],
            stdin=subprocess.DEVNULL,
            env=environment(setup, os.environ),
            stdout=output,
            stderr=output,
            pass_fds=passed,
            start_new_session=is_detached,
        )


def _passed(descriptor: int) -> int:
    """Return a copy that is none of the standard three, which a process of a daemon may have and workers get anew."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def cache_bytes(setup: PoolSetup) -> int:
    """Return the bytes that the caches of one worker may keep: those of all workers as many as those of one run.

    >>> cache_bytes(PoolSetup(4, budget=1 << 30)) >> 20
    128
    """
    most = default_cache_limit() if setup.budget is None else setup.budget // CACHE_SHARE
    return most // setup.workers


def kept_bytes(setup: PoolSetup) -> int:
    """Return the bytes of freed memory that the C library of one worker may keep: a small part of the budget.

    >>> kept_bytes(PoolSetup(4, budget=1 << 30)) >> 20, kept_bytes(PoolSetup(2, budget=1 << 40)) >> 20
    (32, 128)
    """
    budget = default_memory_budget() if setup.budget is None else setup.budget
    return min(budget // (KEPT_SHARE * setup.workers), MOST_KEPT)


def environment(setup: PoolSetup, ours: Any) -> dict[str, str]:
    """Return the environment of a worker: ours, and values for what the user has not set.

    The C library keeps the memory of elements for the next ones, because new memory costs a page fault every 4 KB.
    Strings have the same hash in all workers, so that the order of a set does not depend on the worker.

    >>> environment(PoolSetup(2), {"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"]
    '4'
    """
    limited = dict.fromkeys(THREAD_VARIABLES, str(setup.native_threads))
    kept = kept_bytes(setup)
    keeping = {"MALLOC_MMAP_THRESHOLD_": str(min(kept, LARGEST_KEPT)), "MALLOC_TRIM_THRESHOLD_": str(kept)}
    made = {**limited, **keeping, "PYTHONHASHSEED": "0", **ours}
    if made["PYTHONHASHSEED"] == "random":
        made["PYTHONHASHSEED"] = "0"
    return made
