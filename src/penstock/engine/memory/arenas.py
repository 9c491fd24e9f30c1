"""The arenas of this process: made for pools of workers, and shared by all runs with the same memory budget."""

from __future__ import annotations

import os
import weakref

from penstock.engine.memory.arena import Arena, step_of
from penstock.engine.memory.headroom import most_mapped
from penstock.engine.memory.shared_file import SharedFile

ARENA_SHARE = 2  # an arena takes at most this part of a budget: what is free in it is left to nobody else

# Arenas belong to the process that made them. Each lives as long as a dataset that refers to it, or a view of a block.
_arenas: weakref.WeakValueDictionary[tuple[int, int | None], Arena] = weakref.WeakValueDictionary()


def new_arena(budget: int) -> tuple[Arena | None, str | None]:
    """Return an arena of half of a budget in bytes at most, and what the user should know about it."""
    size = min(max(budget // ARENA_SHARE, 1), most_mapped())
    try:
        arena = Arena(SharedFile(size, step_of(size)))
    except (OSError, ValueError) as error:
        return None, f"no memory is shared with the workers, so batches are copied: {error}"
    return arena, _notice(arena)


def arena_within(budget: int, *, given: bool) -> tuple[Arena | None, str | None]:
    """Return the arena for pools that the user hands in, and what the user should know about it.

    Runs with the same `given` budget share one, and so do all runs without.
    """
    key = os.getpid(), budget if given else None
    found = _arenas.get(key)
    if found is not None:
        return found, _notice(found)
    made, notice = new_arena(budget)
    if made is not None:
        _arenas[key] = made
    return made, notice


def _notice(arena: Arena) -> str | None:
    on_disk = "memory is short, so the memory shared with the workers is that of a temporary file"
    return None if arena.file.in_memory else on_disk
