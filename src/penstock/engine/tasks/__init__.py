"""Tasks: what one worker is given, the two works that make it, and the memory it is written to."""

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
        task,
        works,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
