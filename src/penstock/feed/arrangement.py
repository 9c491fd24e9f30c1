"""The options of a feed: how many batches are placed ahead, and how they are cut, stacked and spread over devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.checks import check_count, check_flag
from penstock.core.errors import PlanError
from penstock.feed.protocol import Finish, Placement
from penstock.feed.towers import MicroBatches, RoundRobin, Split, Stacked


@dataclass(frozen=True)
class Arrangement:
    """The arguments of `to_torch` and `to_jax`, which `call` names in errors.

    `rows` are the sizes of batches that are sure to come, as far as known.
    """

    call: str
    depth: int | None = None
    split: bool = False
    round_robin: bool = False
    steps: int | None = None
    micro_batches: int | None = None
    finish: Finish | None = None
    rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("split", "round_robin"):
            object.__setattr__(self, name, check_flag(self.call, name, getattr(self, name)))
        for name in ("depth", "steps", "micro_batches"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_count(self.call, name, value, least=1))
        if self.split and self.round_robin:
            raise PlanError(
                f"{self.call}(): split= cuts a batch for several devices, round_robin= deals whole ones; choose one"
            )
        if self.steps is not None and (self.split or self.micro_batches is not None):
            raise PlanError(
                f"{self.call}(steps={self.steps}) stacks whole batches: it does not go with split= or micro_batches="
            )
        if self.finish is not None and not callable(self.finish):
            raise TypeError(f"{self.call}(finish=): expected a function, not {type(self.finish).__name__}")

    def placement(self, placements: Sequence[Placement], *, cut_first: bool = False) -> Placement:
        """Return the placement of whole steps, made of one for each device.

        Micro-batches are views on the device, or with `cut_first` transfers of their own.
        """
        if len(placements) > 1 and not (self.split or self.round_robin):
            raise PlanError(
                f"{self.call}() of {len(placements)} devices: pass split=True to cut each batch, or "
                "round_robin=True to deal whole batches"
            )
        if not placements:
            raise PlanError(f"{self.call}([]): expected at least one device")
        each: Sequence[Placement] = placements
        if self.steps is not None:
            each = [Stacked(placement, self.steps) for placement in each]
        if self.micro_batches is not None:
            count = self.micro_batches
            each = [Split([placement] * count) if cut_first else MicroBatches(placement, count) for placement in each]
        if self.split:
            return Split(each)
        return RoundRobin(each) if self.round_robin else each[0]

    def depth_for(self, *, is_here: bool) -> int:
        """Return how many steps to place at a time: by default two, so that one moves while another runs."""
        return self.depth or (1 if is_here else 2)
