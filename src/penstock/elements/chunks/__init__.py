"""Chunks: runs of elements moving together, stacked, taken apart, padded and shared."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["padding"]

if TYPE_CHECKING:
    from penstock.elements.chunks import padding
else:
    __getattr__ = files_on_demand(__name__, __all__)
