"""Observation of a run: counters, the verdict, the report, the watchdog."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "explained",
    "export",
    "leaks",
    "live",
    "notebook",
    "page",
    "report",
    "sheet",
    "stats",
    "stuck",
    "top",
    "trace",
    "verdict",
    "viewers",
]

if TYPE_CHECKING:
    from penstock.watch import (
        explained,
        export,
        leaks,
        live,
        notebook,
        page,
        report,
        sheet,
        stats,
        stuck,
        top,
        trace,
        verdict,
        viewers,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
