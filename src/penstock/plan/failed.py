"""An element that failed and was dropped, as plain text that can be sent between processes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Failure(NamedTuple):
    """An element that failed, located before element `at` of the elements of its piece that did not.

    `row` is its row in the epoch if `records` are known, or its number if a generator or the like counts its elements,
    and otherwise the number that keys its randomness. If the element was taken out of that row, as from a batch, `part`
    is its position there.
    """

    at: int
    row: int
    operation: str
    error: str
    message: str
    records: tuple[str, ...]
    traceback: str
    part: tuple[int, ...] = ()

    def line(self, epoch: int) -> dict[str, Any]:
        """Return the failure as JSON data, in one epoch."""
        told = self._asdict()
        del told["at"]
        if not told.pop("part"):
            return {"epoch": epoch, **told, "records": list(self.records)}
        return {"epoch": epoch, **told, "records": list(self.records), "part": list(self.part)}

    def __str__(self) -> str:
        made_from = f" ({', '.join(self.records[:3])})" if self.records else ""
        place = "".join(f"element {place} of " for place in reversed(self.part))
        return f"{place}row {self.row}{made_from}: {self.error}: {self.message:.200}"


UNTOLD = Failure(0, 0, "", "", "", (), "")
"""A placeholder for a failed element without recorded details."""
