"""Memory and tuning that one run of a dataset passes on to the next."""

from __future__ import annotations

from copy import copy

from penstock.core.arrays import AllocateAll, Reserve
from penstock.engine.memory.pool import Memory, each_alone, in_one_block
from penstock.engine.tuning.tuner import Tuner


class CarryOver:
    """Memory and tuners that a dataset keeps for its iterators, so that later epochs begin well tuned."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.allocate_slot: AllocateAll = each_alone(self.memory.allocate)
        self.has_given_slots = False
        self._tuners: dict[int, Tuner] = {}

    def into(self, reserve: Reserve) -> CarryOver:
        """Return the same memory and tuning for runs whose batches are written into blocks from `reserve`."""
        made = copy(self)
        made.allocate_slot, made.has_given_slots = in_one_block(reserve), True
        return made

    def tuner(self, workers: int | None, *, stage: int = 0) -> Tuner:
        """Return a tuner for the next run, or one of its stages, with the measurements of the last run."""
        last = self._tuners.get(stage)
        self._tuners[stage] = Tuner(workers) if last is None else last.heir()
        return self._tuners[stage]
