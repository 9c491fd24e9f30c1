"""Memory and tuning that one run of a dataset passes on to the next."""

from __future__ import annotations

from penstock.engine.tasks.memory import Memory
from penstock.engine.tuning.tuner import Tuner


class CarryOver:
    """Memory and tuners that a dataset keeps for its iterators, so that later epochs begin well tuned."""

    def __init__(self) -> None:
        self.memory = Memory()
        self._tuners: dict[int, Tuner] = {}

    def tuner(self, workers: int | None, *, stage: int = 0) -> Tuner:
        """Return a tuner for the next run, or one of its stages, with the measurements of the last run."""
        last = self._tuners.get(stage)
        self._tuners[stage] = Tuner(workers) if last is None else last.heir()
        return self._tuners[stage]
