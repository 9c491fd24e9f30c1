"""What the tasks of a run made and took, told to those who choose how to go on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.elements.sparse import Sparse
from penstock.engine.advice import Advisor
from penstock.engine.parcel import Parcel
from penstock.engine.task import Cost, Stacked
from penstock.engine.tuning.tuner import Tuner


@dataclass(slots=True)
class Made:
    """How much a run has made so far: items, the rows that they are of, and the bytes of batches."""

    items: int = 0
    rows: int = 0
    nbytes: int = 0


class Ledger:
    """Counts finished parcels, and keeps what their tasks took until `settle`, for the tuner and the advisor.

    Nothing is chosen between two settlements, so after a long step, when all caches are cold, a parcel costs little.
    """

    def __init__(self, tuner: Tuner, advisor: Advisor) -> None:
        self.made = Made()
        self._tuner = tuner
        self._advisor = advisor
        self._spent = Cost(0, 0)
        self._pending: list[tuple[Cost, float]] = []  # and how many items, a fraction where tasks share one

    @property
    def spent(self) -> Cost:
        """What all tasks took."""
        spent = replace(self._spent)
        for cost, _ in list(self._pending):
            spent += cost
        return spent

    def note(self, parcel: Parcel) -> None:
        """Count a parcel that is made."""
        results: list[Any] = parcel.results
        made = self.made
        made.items += parcel.items
        made.rows += sum(map(len, parcel.rows))
        for piece, result in enumerate(results):
            if type(result) is Stacked:
                made.nbytes += sum(array.nbytes for array in result.arrays)
                if any(type(array) is Sparse for array in result.arrays):
                    self._tuner.most_grouped = 1  # each batch is stacked by itself: it is as large as its largest
            if piece >= parcel.told:
                self._pending.append((result.cost, parcel.share(piece)))

    def note_piece(self, parcel: Parcel, piece: int) -> Cost:
        """Take in what the next piece took, of a parcel that is not made as a whole yet."""
        result: Any = parcel.results[piece]
        cost = result.cost
        self._pending.append((cost, parcel.share(piece)))
        parcel.told = piece + 1
        return cost

    def note_beside(self, items: int, rows: int, nbytes: int, cost: Cost) -> None:
        """Count what was made beside the consumer."""
        self.made.items += items
        self.made.rows += rows
        self.made.nbytes += nbytes
        if items and cost.wall:
            self._pending.append((cost, items))

    def settle(self, item_bytes: int) -> None:
        """Tell what the tasks since the last time took, and how many bytes an item is."""
        self._tuner.item_bytes = item_bytes
        pending, self._pending = self._pending, []
        for cost, items in pending:
            self._spent += cost
            self._tuner.observe(cost, items)
            self._advisor.observe(cost, items)
