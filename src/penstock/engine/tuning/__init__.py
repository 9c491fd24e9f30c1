"""Settings of the user, and arithmetic on measured tasks: threads, the size of tasks, and how far to run ahead."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["hill_climb", "look", "settings"]

if TYPE_CHECKING:
    from penstock.engine.tuning import hill_climb, look, settings
else:
    __getattr__ = files_on_demand(__name__, __all__)
