"""Permute the elements of a stream in a buffer of so many bytes."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.seeds import mix
from penstock.elements.size import sizes_of
from penstock.ops.order.shuffle import Shuffle, permuted_blocks
from penstock.plan.flow import Flow, Mark, Open
from penstock.plan.node import Allocate


@dataclass(frozen=True)
class ShuffleBytes(Shuffle):
    """Permute the elements of a stream, of which up to one and a half times `buffer` bytes are held."""

    buffer: int

    @property
    def name(self) -> str:
        return "shuffle"

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """The two passes of `Shuffle`, whose blocks end with the element that fills half of the buffer."""
        if self.seed is None:
            raise RuntimeError("a shuffle without a seed reached the compiler; bind_seeds comes first")
        (source,) = inputs
        key, half = mix(self.seed, epoch if self.reshuffle else 0), -(-self.buffer // 2)

        def once(epoch: int, mark: Mark = None) -> Flow:
            return permuted_blocks(source, epoch, mark, (half, half), mix(key, 1), sizes_of)

        return permuted_blocks(once, epoch, mark, (-(-half // 2), half), mix(key, 2), sizes_of)

    def redone(self) -> str:
        return f"makes up to {self.buffer:,} bytes of elements again; it holds up to {self.buffer + self.buffer // 2:,}"

    def arguments(self) -> str:
        others = super().arguments()
        return f"buffer_bytes={self.buffer}" + (f", {others}" if others else "")
