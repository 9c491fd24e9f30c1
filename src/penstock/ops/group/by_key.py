"""The shared parts of nodes that gather elements by a key: full groups are yielded, others wait."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.blame import blames_of
from penstock.core.budget import Account, unlimited
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Items
from penstock.elements.size import bytes_of
from penstock.ops.elementwise.beside import Beside, asked
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.ops.group.grouping import BYTES_IN_ONE_GO, MOST_IN_ONE_GO
from penstock.ops.group.pending import Full, Pending
from penstock.plan.background import Holds
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Streamed
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN


@frozen()
class Gather(Holds, Streamed):
    """Gather elements by the numbers that `input` pairs with them.

    A subclass decides which elements belong together (`keys`), how many a group holds (`most`), and how a group becomes
    one element (`collect`). Groups left at the end of an epoch are yielded in key order if `keeps_left`.
    """

    traits = Traits(ids="counted")
    joins_left = False  # True if several incomplete groups may be merged into one

    input: Beside | EnforceErrorBudget[Beside]

    @property
    def asked(self) -> Beside:
        """The node that calls the function for the numbers."""
        return asked(self.input)

    @property
    def keeps_left(self) -> bool:
        """True if groups that never filled are yielded."""
        return True

    @cached_property
    def length(self) -> int:
        return INFINITE if self.input.length == INFINITE else UNKNOWN

    def keys(self, numbers: list[int]) -> list[int]:
        """Return the groups of elements with these numbers."""
        return numbers

    def most(self, key: int, largest: int) -> int:
        """Return the number of elements that a group has room for, given the largest number in it; at least 1."""
        raise NotImplementedError

    def collect(self, group: Full, allocate: Allocate) -> Any:
        """Return the element made of a group."""
        raise NotImplementedError

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        """Yield the groups; a mark holds their number, and the beginnings of waiting groups unless too many wait."""
        made, waits = resumed(mark, (0, None))
        again = made if waits is None else 0
        collected = _Collected(epoch, made)
        account = account or unlimited()
        with account, closing(Pending(self, inputs[0], epoch, waits, account)) as pending:
            left = pending.left(join=self.joins_left) if self.keeps_left else ()
            try:
                for group in chain(pending.steps(), left):
                    if group is None or collected.are_many:
                        yield from collected.handed_out()
                    if group is not None and again:
                        again -= 1
                    elif group is not None:
                        collected.add(self._collected(group, collected.made, allocate), group.after)
            except Exception:
                yield from collected.handed_out()
                raise
            yield from collected.handed_out()

    def _collected(self, group: Full, number: int, allocate: Allocate) -> Any:
        try:
            return self.collect(group, allocate)
        except Exception as error:
            if not blames_of(error):
                blame(error, self, number)
            raise

    def redone(self) -> str:
        return "reads again from the oldest element that was waiting in a group"


class _Collected:
    """Elements of groups that are yielded together because all were ready before more of the input is made."""

    def __init__(self, epoch: int, made: int) -> None:
        self.made = made  # elements yielded before, plus these
        self._epoch = epoch
        self._elements: list[Any] = []
        self._after: Mark = None
        self._most = 1

    def add(self, element: Any, after: Mark) -> None:
        """Add one element, with the mark after it."""
        self._most = max(1, min(MOST_IN_ONE_GO, BYTES_IN_ONE_GO // bytes_of(element)))
        self._elements.append(element)
        self._after = after
        self.made += 1

    @property
    def are_many(self) -> bool:
        """True if there are enough elements to yield together."""
        return len(self._elements) >= self._most

    def handed_out(self) -> Flow:
        """Yield the collected elements, if any."""
        count = len(self._elements)
        if count:
            elements, self._elements = self._elements, []
            yield Piece(Items(elements), ordinals(self._epoch, self.made - count, count), [self.made, self._after])
