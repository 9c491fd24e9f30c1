"""Tasks: the units of work for one worker, and the two works that make them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "call_stack",
    "compile",
    "cost",
    "fetch_room",
    "gathering",
    "next_uses",
    "observer",
    "parts",
    "places",
    "read_ahead",
    "task",
    "works",
]

if TYPE_CHECKING:
    from penstock.engine.tasks import (
        call_stack,
        compile,
        cost,
        fetch_room,
        gathering,
        next_uses,
        observer,
        parts,
        places,
        read_ahead,
        task,
        works,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
