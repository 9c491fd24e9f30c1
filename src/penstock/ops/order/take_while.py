"""Keep elements up to the first one that a predicate rejects."""

from __future__ import annotations

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.ops.elementwise.beside import Beside, asked, parted
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader
from penstock.plan.node import Streamed
from penstock.plan.traits import Traits
from penstock.plan.types import Spec


@frozen()
class TakeWhile(Streamed):
    """Keep the elements before the first one whose predicate, paired with it by `input`, is `False`."""

    traits = Traits(ids="kept")

    input: Beside | EnforceErrorBudget[Beside]

    @property
    def name(self) -> str:
        return "take_while"

    def spec(self) -> Spec | None:
        return asked(self.input).input.spec()

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        with Reader(inputs[0], epoch, mark) as reader:
            for piece, mark_after in reader.runs():
                wanted, chunk = parted(piece.chunk)
                count = wanted.index(False) if False in wanted else len(wanted)
                yield Piece(chunk.slice(0, count), piece.ids[:count], mark_after(count))
                if count < len(wanted):
                    return

    def arguments(self) -> str:
        return asked(self.input).arguments()
