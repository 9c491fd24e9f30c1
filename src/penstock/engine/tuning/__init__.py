"""What the user asked for, and arithmetic on measured tasks: how many threads, how large tasks, how far ahead."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["hill_climb", "look", "settings"]

if TYPE_CHECKING:
    from penstock.engine.tuning import hill_climb, look, settings
else:
    __getattr__ = files_on_demand(__name__, __all__)
