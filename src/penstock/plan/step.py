"""The work of one node on rows on their way down to the source, and on elements on their way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.plan.types import Program

Out: TypeAlias = list[np.ndarray] | None


StepChange: TypeAlias = "Callable[[Chunk, Rows, Rows, Out], Chunk]"
"""Makes elements from those of the input, given their rows, the rows of the input, and the memory to write to."""


class Step(NamedTuple):
    """The program of a node with one input, without the input's program.

    `rows_of` returns the rows of the input that are needed; `None` means the same rows. `change` makes the elements
    from the input's; `None` returns the input's elements. `memory` returns the memory that the input is to write to,
    given that of the result, if there is some, the rows, and the rows of the input; `change` then receives that memory
    too. Without `memory` the input allocates its own. A step that `regroups` needs other numbers of rows than it makes.
    """

    rows_of: Callable[[Rows], Rows] | None = None
    change: StepChange | None = None
    memory: Callable[[Out, Rows, Rows], Out] | None = None
    regroups: bool = False


def same_memory(out: Out, rows: Rows, below: Rows) -> Out:
    """Return the memory of the result itself: the input's elements are returned unchanged."""
    return out


class TallyingProgram(Protocol):
    """A program that adds its number of rows, and that below each step that regroups, to a list if one is given."""

    def __call__(self, rows: Rows, out: Out = None, counts: list[int] | None = None, /) -> Chunk: ...


def program_of_steps(source: Program, steps: Iterable[Step]) -> TallyingProgram:
    """Return the program of consecutive steps, the topmost first, over that of `source`."""
    down = tuple(steps)

    def run(rows: Rows, out: Out = None, counts: list[int] | None = None) -> Chunk:
        waiting: list[tuple[StepChange, Rows, Rows, Out]] = []
        if counts is not None:
            counts.append(len(rows))
        for rows_of, change, memory, regroups in down:
            above = rows
            if rows_of is not None:
                rows = rows_of(rows)
                if regroups and counts is not None:
                    counts.append(len(rows))
            below = None if memory is None else memory(out, above, rows)
            if change is not None:
                waiting.append((change, above, rows, out if memory is None else below))
            out = below
        chunk = source(rows, out)
        while waiting:
            change, above, rows, out = waiting.pop()
            chunk = change(chunk, above, rows, out)
        return chunk

    return run
