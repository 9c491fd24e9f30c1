from __future__ import annotations

import gc

from penstock.memory import arena, shared_file
from penstock.memory.arena import arena_within, new_arena

BUDGET = 1 << 22


def test_an_arena_takes_half_of_the_budget_at_most():
    arena, notice = new_arena(BUDGET)
    assert arena.size == BUDGET // 2
    assert notice is None
    assert new_arena(1)[0].size > 0


def test_runs_with_the_same_budget_share_an_arena_as_long_as_one_has_it():
    arena, _ = arena_within(BUDGET, given=True)
    assert arena_within(BUDGET, given=True)[0] is arena
    assert arena_within(BUDGET + 1, given=True)[0] is not arena
    without, _ = arena_within(BUDGET, given=False)
    assert without is not arena
    assert arena_within(2 * BUDGET, given=False)[0] is without  # what is available changes with time
    key = arena.key
    del arena
    gc.collect()
    assert arena_within(BUDGET, given=True)[0].key != key


def test_every_run_is_told_of_a_temporary_file(monkeypatch):
    monkeypatch.setattr(shared_file, "available_memory", lambda: 0)
    told = "memory is short, so the memory shared with the workers is that of a temporary file"
    arena, notice = arena_within(BUDGET + 2, given=True)
    assert notice == told
    assert arena_within(BUDGET + 2, given=True) == (arena, told)


def test_without_room_anywhere_there_is_no_arena_and_a_reason(monkeypatch):
    def refuse(*_):
        raise OSError("nothing left")

    monkeypatch.setattr(arena, "SharedFile", refuse)
    told = "no memory is shared with the workers, so batches are copied: nothing left"
    assert new_arena(BUDGET) == arena_within(BUDGET + 3, given=True) == (None, told)
