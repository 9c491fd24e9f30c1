"""An element that failed and was left out, as plain text, which travels between processes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Failure(NamedTuple):
    """An element that failed, and stood before element `at` of those of its piece that did not.

    `row` is its row in the epoch where `records` are known, or its number where a generator or the like counts its
    elements, and else the number that its randomness is keyed by. Where it was taken out of that row, as out of a
    batch, `part` is its place there.
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
        """It as JSON data, of one epoch."""
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
"""Stands for an element that failed of which nobody asks more than that."""
