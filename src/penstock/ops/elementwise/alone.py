"""Apply a function that one thread at a time may call, and any other function as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.elements.chunk import Chunk
from penstock.ops.elementwise.apply import Apply
from penstock.plan.node import Rows
from penstock.plan.safety.calls import Calls


def in_turns(build: Callable[[Callable[..., Any]], Apply], function: Any, thread_safe: bool | None) -> Apply:
    """What `build` makes of the function; where one thread at a time may call it, that is so for a chunk at a time."""
    calls, free = Calls(function, thread_safe), build(function)
    if calls.settled and calls.turns is None:
        return free
    watched = build(calls)

    def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
        if calls.turns is not None:
            with calls.turns:
                return free(chunk, rows, out)
        return (free if calls.settled else watched)(chunk, rows, out)

    return apply


def one_by_one(function: Callable[..., Any], thread_safe: bool | None) -> Callable[..., Any]:
    """The function, called by one thread at a time where that is needed."""
    calls = Calls(function, thread_safe)
    return function if calls.settled and calls.turns is None else calls
