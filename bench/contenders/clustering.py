"""Runs of `cluster`: the first batch, the CPU time of all processes, and the death of a worker in mid-run."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.tally import Tally, record_ids

KILLED_AT = 4  # batches before a worker is killed
TICKS = os.sysconf("SC_CLK_TCK")


def runs_of(
    batches: Callable[[int], Iterable[np.ndarray]], options: dict[str, Any], victim: str
) -> Callable[[Tally, int], None]:
    """Return the function that makes run n of `batches(n)`, and reports medians of what it measured besides.

    With the option `kill`, it ends a process of the cluster in which a task runs whose name contains `victim`.
    """
    kept: dict[str, list[float]] = {}

    def run(tally: Tally, number: int) -> None:
        found = measured(batches(number), tally, victim if options["kill"] else None)
        if number:  # run 0 warms up
            for name, value in found.items():
                kept.setdefault(name, []).append(value)
            tally.extra = {name: statistics.median(values) for name, values in kept.items()}

    return run


def measured(batches: Iterable[np.ndarray], tally: Tally, victim: str | None) -> dict[str, float]:
    cpu = cpu_seconds()
    arrived = [time.perf_counter()]
    for batch in batches:
        tally.add(batch, record_ids(batch) if tally.thorough else batch)
        arrived.append(time.perf_counter())
        if victim is not None and len(arrived) == KILLED_AT + 1:
            kill(victim)
    waits = np.diff(arrived)
    if victim is not None:  # the CPU time of a killed process may be lost
        return {"gap_s": float(waits[KILLED_AT:].max())}
    return {"first_s": float(waits[0]), "cpu_ms": 1000 * (cpu_seconds() - cpu) / max(tally.rows, 1)}


def kill(victim: str) -> None:
    """End a process below this one whose title says that it runs `victim`, as soon as there is one."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        for process in tree():
            try:
                title = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if title.startswith("ray::") and victim in title:
                os.kill(process, signal.SIGKILL)
                return
    raise RuntimeError(f"no process runs {victim}")


def cpu_seconds() -> float:
    """Return the CPU time of this process and all below it, and of those of them that have ended."""
    total = 0
    for process in tree():
        try:
            total += sum(map(int, fields(process)[11:15]))  # utime, stime, and those of children waited for
        except OSError:
            continue
    return total / TICKS


def tree() -> Iterator[int]:
    """Yield this process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                children.setdefault(int(fields(int(folder.name))[1]), []).append(int(folder.name))
            except OSError:
                continue
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        yield process


def fields(process: int) -> list[str]:
    """Return the fields of /proc/<process>/stat after the name: state, parent, ..."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
