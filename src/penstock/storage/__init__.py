"""Files, their places and their indexes."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["paths"]

if TYPE_CHECKING:
    from penstock.storage import paths
else:
    __getattr__ = files_on_demand(__name__, __all__)
