"""Nodes that change each element."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["beside", "enumerate", "error_budget", "filter", "map", "resample", "scan", "tolerant"]

if TYPE_CHECKING:
    from penstock.ops.elementwise import beside, enumerate, error_budget, filter, map, resample, scan, tolerant
else:
    __getattr__ = files_on_demand(__name__, __all__)
