"""Observation of a run: counters, the verdict, the report, the watchdog."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["report", "stats", "stuck", "verdict"]

if TYPE_CHECKING:
    from penstock.watch import report, stats, stuck, verdict
else:
    __getattr__ = files_on_demand(__name__, __all__)
