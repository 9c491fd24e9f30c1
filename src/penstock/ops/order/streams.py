"""Virtual streams as nodes: the rows of one stream, and the shard that alternates between several."""

from __future__ import annotations

from dataclasses import field

from penstock.core.arrays import Allocate
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.ops import combine, order
from penstock.plan.flow import Spread
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits


@frozen()
class StreamRows(RowMap):
    """Yield the rows of an indexed input that form a virtual stream: every `streams`-th from the `number`-th on.

    The ids of its elements are therefore rows of the input.
    """

    elementwise = True
    traits = Traits(ids="kept")

    number: int
    streams: int

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return share(self.input.length, self.number, self.streams)

    @property
    def name(self) -> str:
        return "rows"

    @property
    def cut(self) -> bool:
        return True

    def spread(self, allocate: Allocate) -> Spread:
        return lambda piece: piece

    def arguments(self) -> str:
        return f"{self.number} of {self.streams}"


@frozen()
class VirtualStreams(RowMap):
    """Cut the input into `streams`, and alternate between the `index`-th, the one `num_shards` after it, and so on.

    Each stream is the input's plan over a part of the rows that the plan reads (`virtual_stream`). The engine runs the
    `turns`. If it `stops`, the shard ends in front of the first turn of a stream that has ended.
    """

    num_shards: int
    index: int
    streams: int
    stops: bool = field(default=False, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "shard"

    @cached_property
    def length(self) -> int:
        return self.turns.length if self.input.length >= 0 else self.input.length

    @cached_property
    def turns(self) -> combine.turns.Turns:
        """The node that makes the elements."""
        virtual_stream = order.virtual.virtual_stream
        first = virtual_stream(self.input, 0, self.streams)  # its position determines the positions of the others
        owned = tuple(
            (place - first.place) % self.streams for place in range(self.index, self.streams, self.num_shards)
        )
        plans = tuple(virtual_stream(self.input, number, self.streams).plan for number in owned)
        return combine.turns.Turns(plans, owned, self.streams, first.keyed, self.stops)

    def arguments(self) -> str:
        return f"{self.num_shards}, {self.index}, streams={self.streams}"


def share(count: int, place: int, streams: int) -> int:
    """Return the number of the first `count` elements at `place`, `place + streams`, ..., which are in one stream."""
    return count if count < 0 else max(0, -(-(count - place) // streams))
