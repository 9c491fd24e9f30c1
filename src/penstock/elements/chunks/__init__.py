"""Chunks: runs of elements that move together, and ways to stack, split, pad and share them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["padding", "variants"]

if TYPE_CHECKING:
    from penstock.elements.chunks import padding, variants
else:
    __getattr__ = files_on_demand(__name__, __all__)
