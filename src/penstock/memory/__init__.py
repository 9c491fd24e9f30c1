"""The memory of batches, from a pool or a shared arena, and the memory and cores that this process may use."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["arena", "freed"]

if TYPE_CHECKING:
    from penstock.memory import arena, freed
else:
    __getattr__ = files_on_demand(__name__, __all__)
