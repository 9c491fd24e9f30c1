"""Workers as a stage sees them, whoever they are."""

from __future__ import annotations

from typing import Protocol

from penstock.engine.tasks.task import Job
from penstock.engine.workers.window import Window


class Workers(Protocol):
    """Begin the tasks of jobs, and store in the window how each ended."""

    @property
    def name(self) -> str: ...

    shares_gil: bool

    def submit(self, job: Job, number: int, window: Window) -> None: ...
    def close(self) -> None: ...
