"""The changes of a run under way that others may ask for: a pause, the number of threads, the memory for work ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.core.budget import Budget
    from penstock.engine.runs.controls import Controls
    from penstock.engine.runs.elsewhere import Elsewhere
    from penstock.engine.runs.session import Session
    from penstock.engine.runs.settings import Settings

MOST_THREADS = 1024


class Changeable:
    """A run that can be changed while it is under way, without a change of its items or their order."""

    controls: Controls
    settings: Settings
    _session: Session
    _elsewhere: Elsewhere | None

    @property
    def budget(self) -> Budget:
        """The memory that the run may hold."""
        raise NotImplementedError

    @property
    def made_elsewhere(self) -> list[str]:
        """The operations that worker processes make."""
        raise NotImplementedError

    def pause(self) -> None:
        """Begin no task from now on, and let the consumer wait, until `resume`; any thread may call both."""
        self.controls.pause()
        self._session.look_again()

    def resume(self) -> None:
        """Go on after `pause`."""
        self.controls.resume()
        self._session.look_again()

    def change_workers(self, workers: int) -> str | None:
        """Ask for a number of threads, from the next items on; return why the run cannot have it, if it cannot."""
        executor = self.settings.executor
        if self._elsewhere is not None or self.made_elsewhere or executor == "processes":
            return "other processes make the elements"
        if not isinstance(executor, str):
            return "its executor was passed, and has workers of its own"
        if workers > MOST_THREADS:
            return f"{workers:,} threads are more than {MOST_THREADS:,}"
        if executor == "inline":
            return "it is inline, as its options or functions require"
        self.controls.change_workers(workers)
        return None

    def change_budget(self, nbytes: int) -> str | None:
        """Bound the memory of work ahead; return why that cannot be, if it cannot."""
        if self._elsewhere is not None:
            return "another process makes the elements"
        self.budget.change(nbytes)
        return None

    def heed(self) -> int:
        """Do in the consumer's thread what others asked for; return the ns for which the run was paused."""
        took = self.controls.waited()
        workers = self.controls.workers
        if workers is not None and self.settings.workers != workers:
            self.settings = replace(self.settings, workers=workers)
            self._session.settings = self.settings
            for tuner in self._session.tuners:
                tuner.fix(workers)
            self._session.resize()
        return took
