"""Running a plan: programs, tasks, the window of futures, slots, cursors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["compile", "crew", "draws", "legacy", "marks", "observer", "opening", "parts", "regrouping"]
__all__ += ["settings", "streaming"]

if TYPE_CHECKING:
    from penstock.engine import (
        compile,
        crew,
        draws,
        legacy,
        marks,
        observer,
        opening,
        parts,
        regrouping,
        settings,
        streaming,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
