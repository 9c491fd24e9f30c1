"""Feeds: the elements of a dataset as arrays of a training framework, one framework per file."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["jax", "keras", "keras_batches", "tensorflow", "torch"]

if TYPE_CHECKING:
    from penstock.feed import jax, keras, keras_batches, tensorflow, torch
else:
    __getattr__ = files_on_demand(__name__, __all__)
