"""Memory and tuning that one run of a dataset hands on to the next."""

from __future__ import annotations

from penstock.engine.tasks.memory import Memory
from penstock.engine.tuning.tuner import Tuner


class CarryOver:
    """Kept by a dataset for its iterators, so that an epoch after the first begins as the last one ended."""

    def __init__(self) -> None:
        self.memory = Memory()
        self._tuners: dict[int, Tuner] = {}

    def tuner(self, workers: int | None, *, stage: int = 0) -> Tuner:
        """A tuner for the next run, or one stage of it, which knows what the last one knew."""
        last = self._tuners.get(stage)
        self._tuners[stage] = Tuner(workers) if last is None else last.heir()
        return self._tuners[stage]
