"""Checks of method arguments, and their conversion for plans."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["caches", "packing", "parts"]

if TYPE_CHECKING:
    from penstock.dataset.arguments import caches, packing, parts
else:
    __getattr__ = files_on_demand(__name__, __all__)
