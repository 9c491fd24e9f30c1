"""The control groups of this process, its own and every group around that one: their limits and what they have done."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

UNSET = 1 << 60  # bytes; version 1 writes a limit that is not set as a number close to 2**63


def memory_left(root: str = "/") -> int | None:
    """Return the bytes that the groups let this process take, the least of all; `None` if no group has a limit.

    Pages of files that nobody uses give way, so they do not count as taken. `root` is where the system's files are.
    """
    lefts: list[int] = []
    for folder, is_v2 in _folders("memory", root):
        names = ("memory.max", "memory.high") if is_v2 else ("memory.limit_in_bytes",)
        limits = [limit for name in names if (limit := _number(f"{folder}/{name}")) is not None and limit < UNSET]
        used = _number(f"{folder}/{'memory.current' if is_v2 else 'memory.usage_in_bytes'}")
        if limits and used is not None:
            lefts.append(min(limits) - max(used - _unused_pages(folder), 0))
    return max(min(lefts), 0) if lefts else None


def cores_allowed(root: str = "/") -> float | None:
    """Return the number of cores that the quotas of the groups allow, the least of all; `None` without a quota."""
    allowed: list[float] = []
    for folder, is_v2 in _folders("cpu", root):
        with suppress(OSError, ValueError):
            if is_v2:
                quota, period = _text(f"{folder}/cpu.max").split()
            else:
                quota, period = (_text(f"{folder}/cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
            if quota not in ("max", "-1"):
                allowed.append(int(quota) / int(period))
    return min(allowed) if allowed else None


def oom_kills(root: str = "/") -> int:
    """Return how many processes of the innermost group the system has ended for lack of memory."""
    for folder, is_v2 in _folders("memory", root):
        with suppress(OSError):
            told = _text(f"{folder}/{'memory.events' if is_v2 else 'memory.oom_control'}")
            if found := re.search(r"^oom_kill (\d+)", told, re.MULTILINE):
                return int(found[1])
    return 0


def _folders(controller: str, root: str) -> Iterator[tuple[str, bool]]:
    """Yield the folder of each group that this process is in, and whether it is of version 2: a machine may have both.

    A container may see its group as the root of the mounted tree, or only a part of the path to it.
    """
    groups: dict[str, str] = {}  # path by controller; "" is version 2
    with suppress(OSError, ValueError):
        for line in _text(f"{root}/proc/self/cgroup").splitlines():
            _, names, path = line.split(":", 2)
            groups |= dict.fromkeys(names.split(","), path)
    for point, top, is_v2 in _mounts(controller, root):
        path = groups.get("" if is_v2 else controller)
        if path is None:
            continue
        group, whole = _parts(path), _parts(top)
        below = group[len(whole) :] if group[: len(whole)] == whole else []
        for depth in range(len(below), -1, -1):
            folder = "/".join([root, point, *below[:depth]])
            if ".." not in below[:depth] and os.path.isdir(folder):
                yield folder, is_v2


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _mounts(controller: str, root: str) -> Iterator[tuple[str, str, bool]]:
    """Yield where a tree of groups is mounted, the group that is its root there, and whether it is of version 2."""
    with suppress(OSError, ValueError):
        for line in _text(f"{root}/proc/self/mountinfo").splitlines():
            before, after = line.split(" - ", 1)
            kind, _, options = after.split(" ", 2)
            if kind == "cgroup2" or (kind == "cgroup" and controller in options.split(",")):
                yield before.split()[4], before.split()[3], kind == "cgroup2"


def _unused_pages(folder: str) -> int:
    """Return the bytes of file pages in a group that have not been used of late."""
    with suppress(OSError, ValueError):
        told = dict(line.split() for line in _text(f"{folder}/memory.stat").splitlines())
        return int(told.get("total_inactive_file", told.get("inactive_file", 0)))
    return 0


def _number(path: str) -> int | None:
    try:
        return int(_text(path))
    except (OSError, ValueError):  # not there, or "max"
        return None


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
