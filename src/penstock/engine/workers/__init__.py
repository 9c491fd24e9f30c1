"""Workers: threads, a native thread, processes of ours or any executor; and the window of jobs under way."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["executors", "following", "handed_in", "processes", "producer"]

if TYPE_CHECKING:
    from penstock.engine.workers import executors, following, handed_in, processes, producer
else:
    __getattr__ = files_on_demand(__name__, __all__)
