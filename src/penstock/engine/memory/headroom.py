"""The memory and cores that the control groups and limits of this process leave, and not only the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

PROC = "/proc"
UNLIMITED = 1 << 62  # bytes; version 1 of control groups writes nearly 2**63 for "no limit"


def available_memory() -> int:
    """Return the bytes that this process can still take, by the machine and by every control group above it."""
    left = [_available_kib() << 10]
    for group, version in groups("memory"):
        limit, used = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))[
            version == 1
        ]
        most, taken = number(f"{group}/{limit}"), number(f"{group}/{used}")
        if most is not None and taken is not None and most < UNLIMITED:
            left.append(most - max(taken - _reclaimable(group), 0))
    return max(min(left), 0)


def cores_of_groups() -> Iterator[float]:
    """Yield the cores of each control group above this process that has a quota."""
    for group, version in groups("cpu"):
        with suppress(OSError, ValueError):
            if version == 2:
                quota, period = content(f"{group}/cpu.max").split()
            else:
                quota, period = content(f"{group}/cpu.cfs_quota_us"), content(f"{group}/cpu.cfs_period_us")
            if quota != "max" and int(quota) > 0:
                yield int(quota) / int(period)


def oom_kills() -> int:
    """Return how many processes of the innermost control group the system has ended for lack of memory."""
    for group, _ in groups("memory"):
        for file in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                if found := re.search(r"^oom_kill (\d+)", content(f"{group}/{file}"), re.MULTILINE):
                    return int(found[1])
    return 0


def most_mapped() -> int:
    """Return the largest size of a file that the limits of this process allow it to make and to map."""
    try:
        import resource
    except ImportError:  # not on this system
        return UNLIMITED
    address_space, file_size = (resource.getrlimit(each)[0] for each in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE))
    shares = [address_space // 4 if address_space != resource.RLIM_INFINITY else UNLIMITED, file_size]
    return min(share if share != resource.RLIM_INFINITY else UNLIMITED for share in shares)


def groups(controller: str) -> Iterator[tuple[str, int]]:
    """Yield the folder of each control group of this process for a controller, up to the root, with its version."""
    try:
        lines, mounts = content(f"{PROC}/self/cgroup").splitlines(), content(f"{PROC}/self/mountinfo").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        version = 2 if number == "0" and not controllers else 1
        if version == 1 and controller not in controllers.split(","):
            continue
        for mount in mounts:
            fields, _, tail = mount.partition(" - ")
            root, at = fields.split()[3:5]
            kind, _, options = tail.split(" ", 2)
            is_it = kind == "cgroup2" if version == 2 else kind == "cgroup" and controller in options.split(",")
            inside = os.path.relpath(path, root) if is_it else ".."
            if inside.startswith(".."):
                if not is_it:
                    continue
                inside = "."  # a namespace hides where the group is: its own root is what can be read
            folder = os.path.normpath(os.path.join(at, inside))
            while folder.startswith(at):
                yield folder, version
                if folder == at:
                    break
                folder = os.path.dirname(folder)
            break


def number(path: str) -> int | None:
    """Return the number in a file; `None` if there is no such file, or no number, as in "max"."""
    try:
        return int(content(path))
    except (OSError, ValueError):
        return None


def content(path: str) -> str:
    """Return the content of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def _reclaimable(group: str) -> int:
    """Return the bytes of cached files that the system takes back from a group that needs memory."""
    with suppress(OSError):
        found = re.search(r"^(?:total_)?inactive_file (\d+)", content(f"{group}/memory.stat"), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0


def _available_kib() -> int:
    """Return the available memory of the system in KiB; 4 GiB if the system does not say."""
    try:
        found = re.search(r"^MemAvailable: *(\d+)", content(f"{PROC}/meminfo"), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) if found else 4 << 20
