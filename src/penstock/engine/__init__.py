"""Running a plan: tasks, the workers that run them, the stages that feed them, their tuning, and cursors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["cursors", "runs", "tasks", "workers"]

if TYPE_CHECKING:
    from penstock.engine import cursors, runs, tasks, workers
else:
    __getattr__ = files_on_demand(__name__, __all__)
