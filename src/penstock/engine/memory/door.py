"""The way into an arena for processes that have not inherited its file, such as the workers of a user's pool."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import NamedTuple

from penstock.engine.memory.arena import KEY_BYTES, Arena, Mapping

MOST_MAPPED = 4  # arenas in one process; more are mapped anew when they are needed


class Door(NamedTuple):
    """The path by which the file of an arena can be opened, its size, and its first bytes.

    The path leads through the process that made the arena: the file needs no name in any folder, and vanishes with that
    process, however it ends.
    """

    path: str
    size: int
    key: bytes


def door_of(arena: Arena) -> Door:
    """Return the way into an arena of this process."""
    return Door(f"/proc/{os.getpid()}/fd/{arena.file.fd}", arena.size, arena.key)


@lru_cache(maxsize=MOST_MAPPED)
def mapped_by(door: Door) -> Mapping:
    """Return the arena behind a door, mapped into this process; raise an `OSError` if it cannot be opened."""
    fd = os.open(door.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if os.fstat(fd).st_size == door.size:
            mapping = Mapping(fd, door.size)
            if mapping.part(0, KEY_BYTES).tobytes() == door.key:
                return mapping
    finally:
        os.close(fd)  # the mapping stays
    raise FileNotFoundError(f"{door.path} is another file here")  # of a process with the same number
