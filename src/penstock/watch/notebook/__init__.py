"""Datasets, passes and counts as a notebook shows them: small pieces of HTML for light and dark themes."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["counts", "first", "frame", "plans"]

if TYPE_CHECKING:
    from penstock.watch.notebook import counts, first, frame, plans
else:
    __getattr__ = files_on_demand(__name__, __all__)
