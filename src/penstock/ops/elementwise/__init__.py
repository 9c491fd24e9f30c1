"""Nodes that change each element."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["beside", "enumerate", "filter", "map", "resample", "scan", "tally", "tolerant"]

if TYPE_CHECKING:
    from penstock.ops.elementwise import beside, enumerate, filter, map, resample, scan, tally, tolerant
else:
    __getattr__ = files_on_demand(__name__, __all__)
