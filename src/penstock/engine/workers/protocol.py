"""The protocol of all workers, and what they see of the window of a loop."""

from __future__ import annotations

from typing import Protocol

from penstock.engine.tasks.task import Job, Result


class TaskResults(Protocol):
    """The window of a loop as workers see it, from any thread."""

    @property
    def is_bounded(self) -> bool:
        """True if a task is to begin only once the window `admits` its job."""
        ...

    def admits(self, job: Job) -> bool:
        """Return whether the tasks of a job may begin."""
        ...

    def finish(self, job: Job, number: int, result: Result) -> None:
        """Store the result of a task."""
        ...


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

    def submit(self, job: Job, number: int, window: TaskResults) -> None: ...

    def admit(self) -> None:
        """Look again at the tasks that their windows did not admit, now that there is more room."""
        ...
