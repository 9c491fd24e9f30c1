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


RowCounts: TypeAlias = tuple[int, ...]
"""The numbers of rows of one call."""
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


Links: TypeAlias = "tuple[Program, tuple[Step, ...], list[RowCounts] | None]"


class StepChain:
    """The program of consecutive steps, the topmost first, over that of a source.

    What it links may be exchanged between calls. Each call adds its numbers of rows to `noted`, if there is such a
    list: that at the top, and those below the steps that regroup. Once there are `most` of them, `take_stock` makes the
    next call, and takes them out.
    """

    __slots__ = ("linked",)
    most = 0

    def __init__(self, source: Program, steps: Iterable[Step], noted: list[RowCounts] | None = None) -> None:
        self.linked: Links = source, tuple(steps), noted

    def run(self, rows: Rows, out: Out = None) -> Chunk:
        """Return the elements of rows, perhaps written to the given memory."""
        source, down, noted = self.linked
        if noted is not None and len(noted) >= self.most:
            return self.take_stock(rows, out)
        counts: RowCounts = (len(rows),)
        waiting: list[tuple[StepChange, Rows, Rows, Out]] = []
        for rows_of, change, memory, regroups in down:
            above = rows
            if rows_of is not None:
                rows = rows_of(rows)
                if regroups:
                    counts += (len(rows),)
            below = None if memory is None else memory(out, above, rows)
            if change is not None:
                waiting.append((change, above, rows, out if memory is None else below))
            out = below
        chunk = source(rows, out)
        while waiting:
            change, above, rows, out = waiting.pop()
            chunk = change(chunk, above, rows, out)
        if noted is not None:
            noted.append(counts)
        return chunk

    def take_stock(self, rows: Rows, out: Out) -> Chunk:
        """Make a call once enough is noted."""
        raise NotImplementedError


def program_of_steps(source: Program, steps: Iterable[Step]) -> Program:
    """Return the program of consecutive steps, the topmost first, over that of `source`."""
    return StepChain(source, steps).run
