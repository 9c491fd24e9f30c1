"""Reads the memory of this process, and of the processes it started, from /proc."""

from __future__ import annotations

import os
from pathlib import Path


def resident_bytes() -> int:
    """Return the resident memory of this process and all its descendants."""
    return sum(status_bytes(process, "VmRSS") for process in [os.getpid(), *descendants(os.getpid())])


def reset_peak() -> int:
    """Reset the peak of this process's resident memory; return its present size."""
    Path("/proc/self/clear_refs").write_text("5")
    return status_bytes(os.getpid(), "VmRSS")


def peak_bytes() -> int:
    """Return the peak since `reset_peak`."""
    return status_bytes(os.getpid(), "VmHWM")


def status_bytes(process: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0  # the process has ended
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)


def descendants(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found
