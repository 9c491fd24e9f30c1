"""The protocol of all workers."""

from __future__ import annotations

from typing import Protocol

from penstock.engine.tasks.task import Job
from penstock.engine.workers.window import Window


class Workers(Protocol):
    """Workers that begin the tasks of jobs, and store the result of each in the window."""

    @property
    def name(self) -> str: ...

    shares_gil: bool
    is_tuned: bool
    """True if the tuner chooses how many there are, or measures what they make."""

    @property
    def ready(self) -> bool:
        """True once tasks may be submitted; until then, the loop makes them itself."""
        ...

    def submit(self, job: Job, number: int, window: Window) -> None: ...

    def admit(self) -> None:
        """Look again at the tasks that their windows did not admit, now that there is more room."""
        ...
