"""The last metre to the framework that trains, one a file."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["jax", "torch"]

if TYPE_CHECKING:
    from penstock.feed import jax, torch
else:
    __getattr__ = files_on_demand(__name__, __all__)
