"""The foundation of all packages: errors, options, optional imports, row-keyed seeds."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["live", "on_error"]

if TYPE_CHECKING:
    from penstock.core import live, on_error
else:
    __getattr__ = files_on_demand(__name__, __all__)
