"""The options of a feed: how many batches are placed ahead, and how they are cut, stacked and spread over devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any, NamedTuple

from penstock.core.blame import Blame, add_blame, note_blames
from penstock.core.checks import check_count, check_flag
from penstock.core.errors import ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.feed.protocol import Finish, Placement
from penstock.feed.towers import MicroBatches, RoundRobin, Split, Stacked, too_few_rows
from penstock.plan.functions import name_of


class BatchRows(NamedTuple):
    """The rows of batches that are sure to come: `last` in the last of each `batches`, `size` in the others.

    `repeats`: an epoch has several times that many.
    """

    size: int
    last: int
    batches: int
    repeats: bool = False

    def told(self) -> Iterator[tuple[str, int]]:
        """Yield the numbers of rows, each with the beginning of a sentence about it."""
        yield "batches have", self.size
        if self.last != self.size:
            yield "the last batch of an epoch has", self.last


@frozen()
class Arrangement:
    """The arguments of `to_torch` and `to_jax`, which `call` names in errors.

    `rows` are those of the batches that are sure to come, if known.
    """

    call: str
    depth: int | None = None
    split: bool = False
    round_robin: bool = False
    steps: int | None = None
    micro_batches: int | None = None
    finish: Finish | None = None
    rows: BatchRows | None = None

    def __post_init__(self) -> None:
        for name in ("split", "round_robin"):
            object.__setattr__(self, name, check_flag(self.call, name, getattr(self, name)))
        for name in ("depth", "steps", "micro_batches"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_count(self.call, name, value, least=1))
        if self.split and self.round_robin:
            raise PlanError(
                f"{self.call}(): split= divides each batch among the devices, and round_robin= sends whole batches to "
                "them in turn; choose one"
            )
        if self.steps is not None and (self.split or self.micro_batches is not None):
            raise PlanError(
                f"{self.call}(steps={self.steps}) stacks whole batches: it does not go with split= or micro_batches="
            )
        if self.finish is not None and not callable(self.finish):
            raise TypeError(f"{self.call}(finish=): expected a function, not {type(self.finish).__name__}")

    def placement(self, placements: Sequence[Placement]) -> Placement:
        """Return the placement of whole steps, made of one for each device."""
        if len(placements) > 1 and not (self.split or self.round_robin):
            raise PlanError(
                f"{self.call}() of {len(placements)} devices: pass split=True to divide each batch, or "
                "round_robin=True to send whole batches in turn"
            )
        if not placements:
            raise PlanError(f"{self.call}([]): expected at least one device")
        self._check_rows(len(placements))
        each: Sequence[Placement] = placements
        if self.steps is not None:
            each = [Stacked(placement, self.steps) for placement in each]
        if self.micro_batches is not None:
            each = [MicroBatches(placement, self.micro_batches) for placement in each]
        if self.split:
            return Split(each)
        return RoundRobin(each) if self.round_robin else each[0]

    @property
    def finishing(self) -> Finish | None:
        """Return the function that a placement calls on what it places: a batch, a stack or a list of micro-batches."""
        if self.finish is None:
            return None
        finish = noting(self.call, self.finish)
        return finish if self.micro_batches is None else lambda parts: [finish(part) for part in parts]

    def parts_of(self, rows: int, devices: int) -> set[int]:
        """Return the numbers of rows that each placement gets at a time of a batch with this many rows."""
        found = {rows}
        for parts in (devices if self.split else 1, self.micro_batches or 1):
            found = {part for each in found for part in (each // parts, -(-each // parts))}
        return found

    def _check_rows(self, devices: int) -> None:
        """Raise a `PlanError` now if batches, which come later, cannot be cut or stacked."""
        rows = self.rows
        if rows is None:
            return
        parts = (devices if self.split else 1) * (self.micro_batches or 1)
        asked = "split=True" if self.split else f"micro_batches={self.micro_batches}"
        if self.split and self.micro_batches is not None:
            asked += f", micro_batches={self.micro_batches}"
        for whose, count in rows.told():
            if count < parts:
                raise PlanError(f"{self.call}(): {too_few_rows(asked, whose, count, parts)}")
        steps = self.steps or 1
        is_alone = not rows.repeats and rows.batches % steps == 1
        if steps > 1 and rows.last != rows.size and not is_alone:
            raise PlanError(
                f"{self.call}(): steps={steps} stacks batches of one shape, but the last batch of an epoch has "
                f"{rows.last:,} row{'s' * (rows.last != 1)}, and the others have {rows.size:,}: leave it out with "
                "batch(..., drop_remainder=True), or pad it"
            )

    def depth_for(self, *, is_here: bool) -> int:
        """Return how many steps to place at a time: by default two, so that one moves while another runs."""
        return self.depth or (1 if is_here else 2)


def noting(call: str, finish: Finish) -> Finish:
    """Return the user's function, whose errors have a note that names the argument."""

    @wraps(finish)
    def finished(batch: Any) -> Any:
        try:
            made = finish(batch)
            if made is None:
                raise ElementError("the function returned None for a batch; return the batch (a forgotten `return`?)")
            return made
        except Exception as error:
            add_blame(error, Blame(f"{call}(finish={name_of(finish)})"))
            note_blames(error)
            raise

    return finished
