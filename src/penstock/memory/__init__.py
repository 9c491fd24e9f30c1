"""The memory of batches: pool and arena that it comes from, and the slots that tasks and streams write into."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["arena", "freed"]

if TYPE_CHECKING:
    from penstock.memory import arena, freed
else:
    __getattr__ = files_on_demand(__name__, __all__)
