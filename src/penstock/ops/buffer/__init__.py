"""Nodes that set how a plan runs and leave its elements unchanged."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["cache", "cached_stream", "on_disk", "options", "prefetch", "share", "spill"]

if TYPE_CHECKING:
    from penstock.ops.buffer import cache, cached_stream, on_disk, options, prefetch, share, spill
else:
    __getattr__ = files_on_demand(__name__, __all__)
