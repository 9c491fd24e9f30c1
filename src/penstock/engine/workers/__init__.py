"""Workers: threads, a native thread, or any executor; and the window of jobs under way."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "departures",
    "executors",
    "initializers",
    "lifetime",
    "loaded",
    "native_thread",
    "pickled",
    "pool_ends",
    "producer",
    "remote",
    "replaceable",
    "threads",
    "window",
]

if TYPE_CHECKING:
    from penstock.engine.workers import (
        departures,
        executors,
        initializers,
        lifetime,
        loaded,
        native_thread,
        pickled,
        pool_ends,
        producer,
        remote,
        replaceable,
        threads,
        window,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
