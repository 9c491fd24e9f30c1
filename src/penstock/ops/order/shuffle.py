"""Permute the elements."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from penstock.core.arrays import Allocate, Rows
from penstock.core.budget import Account
from penstock.core.frozen import frozen
from penstock.core.seeds import mix, written_seed
from penstock.index.permuted import permuted
from penstock.ops import order
from penstock.plan.background import Holds
from penstock.plan.flow import Flow, Mark, Open
from penstock.plan.node import RowMap
from penstock.plan.traits import Traits

if TYPE_CHECKING:
    from penstock.index.blocked import Blocks


@frozen()
class Shuffle(Holds, RowMap):
    """Permute each epoch by a bijection keyed by `seed` and, if `reshuffle`, by the epoch.

    With `window`, the order is that of a buffer of that many elements; without, elements move anywhere in the epoch.
    `asked` is the buffer that was asked for, in elements or in bytes: its order is that of an input that is a stream.
    """

    traits = Traits(ids="kept")
    has_a_limit = True

    window: int | None
    seed: int | None
    reshuffle: bool
    asked: tuple[Literal["elements", "bytes"], int] | None = field(default=None, kw_only=True, metadata={"runs": True})

    @property
    def as_asked(self) -> Shuffle:
        """The shuffle in the buffer that was asked for, if one was, of an input that is a stream."""
        if self.asked is None:
            return self
        unit, size = self.asked
        if unit == "bytes":
            return order.shuffle_bytes.ShuffleBytes(self.input, None, self.seed, self.reshuffle, size)
        return Shuffle(self.input, size, self.seed, self.reshuffle)

    def rows_of(self, rows: Rows) -> Rows:
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; run bind_seeds first")
        return permuted(rows, length=self.stride, key=self.seed, window=self.window, reshuffle=self.reshuffle)

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        """Yield the order of a buffer; the order of an indexed input differs because its key contains the length."""
        if self.seed is None or self.window is None:
            raise RuntimeError("a stream's shuffle without seed or window reached the compiler")
        (source,) = inputs
        if self.window == 1:
            return source(epoch, mark)
        key = mix(self.seed, epoch if self.reshuffle else 0)
        return order.lanes.shuffle_buffered(source, epoch, mark, self.window, key, account)

    def redone(self) -> str:
        if self.window in (None, 1):
            return ""
        held = self.window + self.window // 2
        return f"makes up to {order.lanes.Delays(self.window).replayed:,} elements again; it holds up to {held:,}"

    def mixing(self) -> str:
        if self.window in (None, 1):
            return ""
        return (
            f"as a buffer of {self.window:,} does: an element comes up to {self.window + self.window // 2:,} places "
            f"earlier or up to {6 * self.window:,} later; elements that are further apart stay apart"
        )

    def arguments(self) -> str:
        window = [] if self.window is None else [str(self.window)]
        reshuffle = [] if self.reshuffle else ["reshuffle_each_iteration=False"]
        return ", ".join(window + written_seed(self.seed) + reshuffle)


@frozen()
class ShuffleBlocks(Shuffle):
    """Permute the blocks of the data, and the rows within a window of blocks: for data that is expensive to read."""

    known: Blocks

    @property
    def name(self) -> str:
        return "shuffle"

    def rows_of(self, rows: Rows) -> Rows:
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; run bind_seeds first")
        return self.known.permuted(rows, key=self.seed, reshuffle=self.reshuffle)

    def mixing(self) -> str:
        known = self.known
        share = known.widest / max(known.length, 1)
        return (
            f"{known.count:,} blocks of about {known.length // known.count:,} rows in random order, and the rows of "
            f"{known.window:,} at a time; so rows of one block come within {known.widest:,} of each other ({share:.0%} "
            "of an epoch). uniform=True mixes all rows, and reads many times as much"
        )
