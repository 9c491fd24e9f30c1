"""Running a plan: programs, tasks, the window of futures, slots, cursors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["compile", "legacy", "observer", "opening", "regrouping", "streaming"]

if TYPE_CHECKING:
    from penstock.engine import compile, legacy, observer, opening, regrouping, streaming
else:
    __getattr__ = files_on_demand(__name__, __all__)
