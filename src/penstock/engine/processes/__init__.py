"""Worker processes: a pool of them, the memory that they share with their parent, and what travels between them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "arrival",
    "crew",
    "inbox",
    "line",
    "member",
    "moved",
    "output",
    "plans",
    "pool",
    "result_sizes",
    "serving",
    "sharing",
    "starting",
    "ticket",
    "worker",
    "workers",
]

if TYPE_CHECKING:
    from penstock.engine.processes import (
        arrival,
        crew,
        inbox,
        line,
        member,
        moved,
        output,
        plans,
        pool,
        result_sizes,
        serving,
        sharing,
        starting,
        ticket,
        worker,
        workers,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
