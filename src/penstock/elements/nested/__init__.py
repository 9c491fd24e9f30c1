"""The nesting of elements: flatten, rebuild, and replace parts."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["trees"]

if TYPE_CHECKING:
    from penstock.elements.nested import trees
else:
    __getattr__ = files_on_demand(__name__, __all__)
