"""Observation of a run: counters, the verdict, the report, the watchdog."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["explained", "export", "leaks", "page", "report", "stats", "stuck", "trace", "verdict", "viewers"]

if TYPE_CHECKING:
    from penstock.watch import explained, export, leaks, page, report, stats, stuck, trace, verdict, viewers
else:
    __getattr__ = files_on_demand(__name__, __all__)
