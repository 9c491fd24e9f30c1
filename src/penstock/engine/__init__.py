"""Running a plan: programs, tasks, the window of futures, slots, cursors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["compile", "crew", "cursors", "legacy", "observer", "opening", "settings", "streaming"]

if TYPE_CHECKING:
    from penstock.engine import (
        compile,
        crew,
        cursors,
        legacy,
        observer,
        opening,
        settings,
        streaming,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
