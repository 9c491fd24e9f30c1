"""What one run of a dataset leaves to the next: memory that is there already, and what the tuner has learnt."""

from __future__ import annotations

from penstock.engine.memory import Memory
from penstock.engine.tuning import Tuner


class Legacy:
    """Kept by a dataset for its iterators, so that an epoch after the first begins as the last one ended."""

    def __init__(self) -> None:
        self.memory = Memory()
        self._tuner: Tuner | None = None

    def tuner(self, workers: int | None) -> Tuner:
        """A tuner for the next run, which knows what the last one knew."""
        self._tuner = Tuner(workers) if self._tuner is None else self._tuner.heir()
        return self._tuner
