"""The shared parts of nodes that draw each element from one of several inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import reduce

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, concat
from penstock.elements.spec import relax
from penstock.index.epochs import check_last
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import ENDLESS_EPOCHS, INFINITE, Program, Spec


@frozen()
class Mixture(Node):
    """Draw each element from one of `members`, each of which is read in its own order.

    A subclass chooses the member and counts its earlier elements (`drawn_from`).
    """

    traits = Traits(ids="counted")

    members: tuple[Node, ...] = field(metadata={"nodes": True})

    def spec(self) -> Spec | None:
        specs = [node.spec() for node in self.members]
        return None if any(spec is None for spec in specs) else reduce(relax, specs)

    @property
    def lengths(self) -> list[int | None]:
        """The lengths of the members, if all are known; `None` is endless."""
        return [None if node.length == INFINITE else node.length for node in self.members]

    def drawn_from(self, epochs: Rows, positions: Rows) -> tuple[Rows, Rows]:
        """Return the member of each row, and how many of its elements precede it in the epoch: both `int64[k]`."""
        raise NotImplementedError

    @property
    def countable(self) -> bool:
        """True if arithmetic gives the number of elements of each member before any position (`draw_counts`)."""
        return False

    def draw_counts(self, count: int, epoch: int) -> list[int]:
        """Return how many elements of each member are among the first `count` of an epoch."""
        raise NotImplementedError

    def split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the member that makes each row and the row in that member: both `int64[k]`."""
        if not len(rows):
            return rows, rows
        epochs, positions = np.divmod(rows, self.stride)
        which, ranks = self.drawn_from(epochs, positions)
        again, strides = self._epochs
        epochs = epochs if self.length == INFINITE else epochs % again[which]
        strides = strides[which]
        last = int(np.argmax(epochs * strides.astype(np.float64)))
        check_last(epochs[last], int(strides[last]))
        return which, epochs * strides + ranks

    @cached_property
    def _epochs(self) -> tuple[Rows, Rows]:
        """For each member, the number of mixture epochs before it restarts, and the rows of one epoch of the member."""
        again = [min(ENDLESS_EPOCHS, node.epochs) if node.length == INFINITE else 1 << 62 for node in self.members]
        return np.array(again), np.array([node.stride for node in self.members])

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        which, its_rows = self.split(rows)
        return tuple(its_rows[which == member] for member in range(len(self.members)))

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            which, its_rows = self.split(rows)
            if len(which) and (which == which[0]).all():
                return inputs[which[0]](its_rows, out)
            return merged(which, lambda member, places: inputs[member](its_rows[places]))

        return run


def merged(which: Rows, make: Callable[[int, Rows], Chunk]) -> Chunk:
    """Return one element of input `which[i]` for each i; `make(input, places)` makes the elements of one input."""
    order = np.argsort(which, kind="stable")  # positions grouped by input
    present, begins = np.unique(which[order], return_index=True)
    ends = [*begins[1:].tolist(), len(which)]
    chunks = [
        make(member, order[low:high]) for member, low, high in zip(present.tolist(), begins.tolist(), ends, strict=True)
    ]
    place = np.empty(len(which), np.int64)  # position of element i among the chunks
    place[order] = np.arange(len(which))
    return chunks[0] if len(chunks) == 1 else concat(chunks).select(place)
