"""Sources of elements by position: one file or folder for each kind of data."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["arrays", "constant", "files", "indexable", "integers", "protocol", "saved"]

if TYPE_CHECKING:
    from penstock.sources import arrays, constant, files, indexable, integers, protocol, saved
else:
    __getattr__ = files_on_demand(__name__, __all__)
