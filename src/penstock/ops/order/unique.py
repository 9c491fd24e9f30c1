"""Drop duplicates."""

from __future__ import annotations

import sys
from collections.abc import Hashable

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.budget import Account, Told, unlimited
from penstock.core.frozen import frozen
from penstock.elements.footprint import memory_of_value
from penstock.ops.elementwise.beside import Beside, asked, parted
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.plan.background import Holds
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.node import Streamed
from penstock.plan.outcomes import outcomes_here
from penstock.plan.traits import Traits
from penstock.plan.types import Spec


@frozen()
class Unique(Holds, Streamed):
    """Keep the first element of each key that `input` pairs with the elements."""

    traits = Traits(ids="kept", selects=True)

    input: Beside | EnforceErrorBudget[Beside]

    def spec(self) -> Spec | None:
        return asked(self.input).input.spec()

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        """Yield the first elements; the mark counts the elements examined, which are examined again after a restore."""
        (before,), looked_at = resumed(mark, (0,)), 0
        seen, of_keys, account = set[Hashable](), 0, account or unlimited()  # bytes of all keys, by samples

        def told() -> Told:
            return f"{self.label()} remembers {len(seen):,} keys ({account.nbytes:,} bytes)", "use shorter keys"

        with Reader(inputs[0], epoch) as reader, account:
            for piece, _ in reader.runs():
                keys, chunk = parted(piece.chunk)
                known = max(min(before - looked_at, len(keys)), 0)
                seen.update(keys[:known])
                first: list[int] = []
                for at in range(known, len(keys)):
                    if keys[at] not in seen:
                        seen.add(keys[at])
                        first.append(at)
                looked_at += len(keys)
                of_keys += (len(first) + known) * memory_of_value(keys[first[0] if first else 0])
                account.hold(sys.getsizeof(seen) + of_keys, told)
                outcomes_here.examined += len(keys) - known
                if first:
                    yield Piece(chunk.select(np.array(first)), piece.ids[first], [looked_at])

    def arguments(self) -> str:
        return asked(self.input).arguments()

    def redone(self) -> str:
        return "runs through the epoch again to collect the earlier elements"
