"""Elements kept on disk: found by a key and a row, written and read by any number of processes at once."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["store", "upkeep"]

if TYPE_CHECKING:
    from penstock.cache import store, upkeep
else:
    __getattr__ = files_on_demand(__name__, __all__)
