"""Running a plan: tasks, the workers that run them, the stages that feed them, tuning, and cursors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["cursors", "runs", "tasks", "tuning", "workers"]

if TYPE_CHECKING:
    from penstock.engine import cursors, runs, tasks, tuning, workers
else:
    __getattr__ = files_on_demand(__name__, __all__)
