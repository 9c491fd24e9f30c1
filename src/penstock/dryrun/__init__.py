"""Runs of parts of a plan in advance: dry runs, and the counts that a mixture draws."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["draw_counts", "dry_run", "row_trace"]

if TYPE_CHECKING:
    from penstock.dryrun import draw_counts, dry_run, row_trace
else:
    __getattr__ = files_on_demand(__name__, __all__)
