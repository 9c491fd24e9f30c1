"""Runs with `executor="auto"` that move to worker processes at once, whatever the machine measures."""

from __future__ import annotations

import math

from penstock.engine.runs import moving
from penstock.engine.tuning import hill_climb, tuner
from penstock.engine.tuning.tuner import Tuner
from tests.workers import PATIENCE


def move_at_once(monkeypatch, *, waits=True, processes=2):
    """Let every stage begin in threads, find the GIL held, and move; if it `waits`, before its second item."""
    start, begun = Tuner.start_threads, moving.Mover._begun

    def start_threads(tuner, *, in_processes=False):
        is_new = tuner.climb is None
        chosen = start(tuner, in_processes=in_processes)
        if is_new:
            tuner.climb.holds_gil, tuner.climb.alone = True, 1e6
        return chosen

    def begin(mover, threads):
        moved = begun(mover, threads)
        if moved is not None and waits:
            assert moved._crew.begun.wait(PATIENCE)
        return moved

    monkeypatch.setattr(tuner, "LEAVES_PROCESSES", 0)  # in the next run too
    monkeypatch.setattr(tuner, "BESIDE_OTHERS", 0)
    monkeypatch.setattr(Tuner, "threads_pay", lambda tuner: True)
    monkeypatch.setattr(Tuner, "start_threads", start_threads)
    monkeypatch.setattr(moving.Mover, "pays", lambda mover, left: mover._climb.holds_gil)
    monkeypatch.setattr(moving.Mover, "_begun", begin)
    monkeypatch.setattr(moving, "worker_processes", lambda: processes)
    monkeypatch.setattr(moving, "against", lambda count, budget: None)  # warnings are errors in tests
    monkeypatch.setattr(hill_climb, "CHANCES", math.inf)
