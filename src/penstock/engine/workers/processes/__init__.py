"""Worker processes: a pool of them, the memory that they share with their parent, and what travels between them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["plans", "pool", "starting", "workers"]

if TYPE_CHECKING:
    from penstock.engine.workers.processes import plans, pool, starting, workers
else:
    __getattr__ = files_on_demand(__name__, __all__)
