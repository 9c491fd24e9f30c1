"""A trace of a run: spans of tasks, operations and the consumer, in a file for Perfetto and Chrome."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["file", "spans", "viewer"]

if TYPE_CHECKING:
    from penstock.watch.trace import file, spans, viewer
else:
    __getattr__ = files_on_demand(__name__, __all__)
