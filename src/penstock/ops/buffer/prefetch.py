"""Request elements ahead of the consumer."""

from __future__ import annotations

from dataclasses import field

from penstock.core.frozen import frozen
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits


@frozen()
class Prefetch(RowMap):
    """Keep up to `buffer_size` elements ready ahead of the consumer; -1 lets the engine choose.

    The window of tasks is the prefetch buffer; this node only sets its depth.
    """

    keeps_order = True
    traits = Traits(ids="kept", one_to_one=True)

    buffer_size: int = field(metadata={"runs": True})

    def arguments(self) -> str:
        return "" if self.buffer_size == -1 else str(self.buffer_size)
