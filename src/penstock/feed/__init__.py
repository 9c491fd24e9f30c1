"""Feeds: the elements of a dataset as arrays of a training framework, one framework per file."""

from typing import TYPE_CHECKING

from penstock.core.lazy import names_on_demand

__all__ = ["arrangement", "feed", "jax", "keras", "keras_batches", "resident", "tensorflow", "torch"]

if TYPE_CHECKING:
    from penstock.feed import arrangement, feed, jax, keras, keras_batches, tensorflow, torch
    from penstock.feed.residence import resident
else:
    _PLACES = {name: f"penstock.feed.{name}" for name in __all__} | {"resident": "penstock.feed.residence"}
    __getattr__ = names_on_demand(__name__, _PLACES)
