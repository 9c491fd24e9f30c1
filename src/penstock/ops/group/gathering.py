"""What nodes that gather elements by a key have in common: groups leave when they are full, others wait."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from penstock.elements.chunk import Items
from penstock.ops.elementwise.beside import Beside
from penstock.ops.group.pending import Pending
from penstock.plan.flow import Flow, Mark, Open, Piece, ordinals, resumed
from penstock.plan.locate import blame
from penstock.plan.node import INFINITE, UNKNOWN, Allocate, Streamed


@dataclass(frozen=True)
class Gathering(Streamed):
    """Gather elements by the numbers that `input` says of them.

    A subclass says which belong together (`keys`), how many (`most`), and how a group becomes one element (`collect`).
    What is left at the end of an epoch comes in the order of the keys, unless `drop_remainder`.
    """

    joins_left = False  # whether groups that are left may become one

    input: Beside
    drop_remainder: bool

    @cached_property
    def length(self) -> int:
        return INFINITE if self.input.length == INFINITE else UNKNOWN

    def keys(self, numbers: list[int]) -> list[int]:
        """The groups of elements of which these numbers were said."""
        return numbers

    def most(self, key: int, largest: int) -> int:
        """How many elements a group has room for, where this is the largest number said of one; at least 1."""
        raise NotImplementedError

    def collect(self, key: int, run: Piece, allocate: Allocate) -> Any:
        """One element of a group."""
        raise NotImplementedError

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """A mark has the groups that left, and what waits; for many keys nothing of that, for it is made again."""
        made, waits = resumed(mark, (0, None))
        waits = None if waits is None else resumed(waits, (None, 0, None))
        again = made if waits is None else 0
        with closing(Pending(self, inputs[0], epoch, waits)) as pending:
            left = () if self.drop_remainder else pending.left(join=self.joins_left)
            for group in chain(pending.full(), left):
                if again:
                    again -= 1
                    continue
                try:
                    element = self.collect(group.key, group.elements, allocate)
                except Exception as error:
                    if not getattr(error, "__notes__", None):
                        blame(error, self, made)
                    raise
                made += 1
                yield Piece(Items([element]), ordinals(epoch, made - 1, 1), [made, group.after])

    def redone(self) -> str:
        return "reads again from the oldest element that waited in a group on"
