"""Tasks: the units of work for one worker, the two works that make them, and the memory for their results."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "call_stack",
    "compile",
    "cost",
    "gathering",
    "memory",
    "observer",
    "parts",
    "read_ahead",
    "slots",
    "stream_slots",
    "task",
    "works",
]

if TYPE_CHECKING:
    from penstock.engine.tasks import (
        call_stack,
        compile,
        cost,
        gathering,
        memory,
        observer,
        parts,
        read_ahead,
        slots,
        stream_slots,
        task,
        works,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
