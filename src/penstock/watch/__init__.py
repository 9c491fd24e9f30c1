"""Observation of a run: counters, the verdict, the report, the watchdog."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["export", "leaks", "notebook", "page", "report", "sheet", "stats", "stuck", "trace", "verdict", "viewers"]

if TYPE_CHECKING:
    from penstock.watch import export, leaks, notebook, page, report, sheet, stats, stuck, trace, verdict, viewers
else:
    __getattr__ = files_on_demand(__name__, __all__)
