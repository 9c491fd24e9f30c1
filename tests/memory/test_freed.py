"""Freed memory goes back to the system once there is too much of it."""

from __future__ import annotations

import numpy as np

from penstock.memory.freed import FreedMemory, Holding, private_bytes

MB = 1 << 20
LARGE = 64 * MB  # the C library has no freed memory for an array of more than 32 MB


def test_a_process_knows_what_it_has():
    before = private_bytes()
    kept = np.ones(LARGE, np.uint8)
    assert private_bytes() - before > LARGE // 2
    del kept


def test_freed_memory_goes_back():
    freed = FreedMemory(4 * MB)
    kept = [bytes([1]) * 60_000 for _ in range(1000)]
    last = kept[-1]  # keeps the end of the heap
    before = private_bytes()
    del kept
    assert before - freed.look() > 40 * MB
    assert len(last) == 60_000


def test_what_is_held_does_not_count_what_a_plan_took():
    holding = Holding(2 * LARGE)
    plan = np.ones(LARGE, np.uint8)
    holding.look(plans=1)
    assert holding.nbytes < LARGE // 2
    kept = np.ones(LARGE, np.uint8)
    holding.look(plans=1)
    assert holding.nbytes > LARGE // 2
    del plan, kept
