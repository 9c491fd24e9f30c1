"""Statistics of the leaves of all elements: tallies that merge exactly, and their result."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "checkpoint",
    "classes",
    "describe",
    "description",
    "forms",
    "moments",
    "outline",
    "progress",
    "tables",
    "tally",
]

if TYPE_CHECKING:
    from penstock.dataset.describing import (
        checkpoint,
        classes,
        describe,
        description,
        forms,
        moments,
        outline,
        progress,
        tables,
        tally,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
