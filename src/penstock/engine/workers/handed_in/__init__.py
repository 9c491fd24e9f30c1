"""Executors that are handed in: what they are sent, what comes back, and others in their place once they break."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["pickled", "replaceable", "sharing", "workers"]

if TYPE_CHECKING:
    from penstock.engine.workers.handed_in import pickled, replaceable, sharing, workers
else:
    __getattr__ = files_on_demand(__name__, __all__)
