"""Saved positions of iterators: cursors, the items received, and their encoding as JSON data."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["codec", "reshard", "sharding", "summary"]

if TYPE_CHECKING:
    from penstock.engine.cursors import codec, reshard, sharding, summary
else:
    __getattr__ = files_on_demand(__name__, __all__)
