"""The work of one node on rows on their way down to the source, and on elements on their way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.plan.types import Program

Out: TypeAlias = list[np.ndarray] | None


class Step(NamedTuple):
    """The program of a node of one input, without that of its input.

    `rows_of` tells which rows of the input are needed; where it is `None`, those with the same numbers. `change` makes
    the elements of the input's, given the rows and where to write; where it is `None`, they are the input's. Where it
    `passes`, the input writes to the memory that is given.
    """

    rows_of: Callable[[Rows], Rows] | None = None
    change: Callable[[Chunk, Rows, Out], Chunk] | None = None
    passes: bool = False


def stepped(source: Program, steps: Iterable[Step]) -> Program:
    """The program of steps one above another, the topmost first, over that of `source`."""
    down = tuple(steps)

    def run(rows: Rows, out: Out = None) -> Chunk:
        waiting: list[tuple[Callable[[Chunk, Rows, Out], Chunk], Rows, Out]] = []
        for rows_of, change, passes in down:
            if change is not None:
                waiting.append((change, rows, out))
            if rows_of is not None:
                rows = rows_of(rows)
            if not passes:
                out = None
        chunk = source(rows, out)
        while waiting:
            change, rows, out = waiting.pop()
            chunk = change(chunk, rows, out)
        return chunk

    return run
