"""The requirements on a placement, which puts batches where a training step wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from penstock.core.arrays import Reserve
from penstock.feed.clock import Clock

Finish: TypeAlias = Callable[[Any], Any]
"""A user's function of a batch on its device, such as a cast or a normalization."""


class Placement(Protocol):
    """Puts batches on a device, or several, in three steps, so that a transfer overlaps with the steps before it.

    - `place` begins to move the batches of one step, and returns at once.
    - `wait` returns the batch. Work that its consumer submits from then on comes after the transfer; the consumer's
      thread need not wait for either.
    - `release` says that the feed is done with a transfer, after `wait`, or instead of it if the batch is not wanted.
      Host memory is used again once the transfer is over, and never before.

    A step takes up to `gathers` batches of the dataset: several for a stack of batches, or for one batch to each of
    several devices. Batches are written into memory from `allocate`, if that is not `None`; `clock`, if there is one,
    measures how long the device waits.
    """

    @property
    def gathers(self) -> int:
        """Return how many batches of the dataset make a step."""
        ...

    @property
    def allocate(self) -> Reserve | None:
        """Return the function that reserves memory for batches, if they are to lie in any."""
        ...

    @property
    def clock(self) -> Clock | None:
        """Return what measures the device, if anything does."""
        ...

    def place(self, batches: list[Any]) -> Any:
        """Begin to move the batches of one step, and return the transfer."""
        ...

    def wait(self, placed: Any) -> Any:
        """Return the batch of a transfer, with a framework's arrays."""
        ...

    def release(self, placed: Any) -> None:
        """Let go of the host memory of a transfer."""
        ...
