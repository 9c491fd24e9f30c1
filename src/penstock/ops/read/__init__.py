"""Nodes that read."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["generator", "random", "source", "stream"]

if TYPE_CHECKING:
    from penstock.ops.read import generator, random, source, stream
else:
    __getattr__ = files_on_demand(__name__, __all__)
