"""Feeds: the elements of a dataset as arrays of a training framework, one framework per file."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["arrangement", "jax", "torch"]

if TYPE_CHECKING:
    from penstock.feed import arrangement, jax, torch
else:
    __getattr__ = files_on_demand(__name__, __all__)
