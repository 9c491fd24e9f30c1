"""Nested elements, their specs, and chunks of elements."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["distinct", "steady"]

if TYPE_CHECKING:
    from penstock.elements import distinct, steady
else:
    __getattr__ = files_on_demand(__name__, __all__)
