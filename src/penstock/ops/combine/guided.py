"""Mixtures in which another stream chooses the member for each element."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TypeAlias

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.ops.combine.merger import LOOKED_AHEAD, Merger, check_ended
from penstock.ops.combine.mixture import Mixture
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN

Chooser: TypeAlias = Callable[[int, list[int]], Rows]
"""The member chosen by each guide from a position on, `int64[k]`, given the members that have ended; -1 chooses none.
"""


@frozen()
class Guided(Mixture):
    """Draw one element from `members` for each element of `guide`.

    A choice of a member that has ended ends the epoch if `first`; otherwise the choice is skipped.
    """

    guide: Node
    first: bool

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return INFINITE if all(node.length == INFINITE for node in self.inputs) else UNKNOWN

    def chooser(self, guides: Chunk, epoch: int, first: int) -> Chooser:
        """Return the chooser for these elements of the guide, of which `first` came before in the epoch."""
        raise NotImplementedError

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        asked, made, without, marks, at = resumed(mark, (0, 0, [], [None] * len(self.members), None))
        check_ended(without, len(self.members))
        with closing(Merger(inputs[:-1], epoch, marks)) as merger, Reader(inputs[-1], epoch, at) as guide:
            while True:
                before, at = guide.mark
                guides = guide.read(LOOKED_AHEAD)
                if guides is None:
                    return
                choose, used = self.chooser(guides.chunk, epoch, asked), 0
                while used < len(guides):
                    which = choose(used, without)
                    (chosen,) = np.nonzero(which >= 0)
                    begin, done = used, 0
                    for chunk in merger.drawn([which[chosen]]):
                        ids = ordinals(epoch, made, len(chunk))
                        made, done = made + len(chunk), done + len(chunk)
                        used = begin + int(chosen[done - 1]) + 1
                        yield Piece(chunk, ids, [asked + used, made, without, merger.marks, [before, at + used]])
                    if merger.ended is None:
                        break
                    without = [*without, merger.ended]
                    if self.first or len(without) == len(self.members):
                        return
                asked += len(guides)
