"""Nodes that read."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["generator", "random", "source"]

if TYPE_CHECKING:
    from penstock.ops.read import generator, random, source
else:
    __getattr__ = files_on_demand(__name__, __all__)
