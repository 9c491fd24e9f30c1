"""Count and record the elements that failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Generic, TypeVar

from penstock.core.arrays import Allocate
from penstock.core.errors import FailuresError
from penstock.core.frozen import frozen
from penstock.core.on_error import ErrorBudget
from penstock.plan.failure import Failure, located
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, close, pulled, resumed
from penstock.plan.node import Node, RowMap
from penstock.plan.traits import Traits

LAST_SHOWN = 3  # failures shown in the error that ends an epoch

T_node = TypeVar("T_node", bound=Node)


@frozen()
class EnforceErrorBudget(RowMap, Generic[T_node]):
    """Count the failures below in order, stop when `budget` is exceeded, and record the failures in `quarantine`.

    Tables show it as `errors(of map(f), budget=5)`, after the operation that has the policy.

    A mark holds the elements seen, the number that failed, and the length of the current run of failures; then the mark
    of the piece below, and how many of its elements and failures are counted already.
    """

    kind = "Tally"
    traits = Traits(ids="kept")

    input: T_node
    budget: ErrorBudget | None = field(default=None, metadata={"runs": True})
    quarantine: str | None = field(default=None, metadata={"runs": True})
    warns: bool = field(default=False, metadata={"runs": True})
    kept: int = 0  # elements that replace one that failed
    counts: bool = True  # distinguishes marks with and without error counts, whatever the budget

    @property
    def name(self) -> str:
        return "errors"

    @property
    def internal(self) -> bool:
        return self.input.internal

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        (seen, failed, run), below, elements_before, failures_before = resumed(mark, ([0, 0, 0], None, 0, 0))
        counting = _Counting(self.budget, seen, failed, run)
        tell = self._told(epoch)
        pieces = inputs[0](epoch, below)
        wanted: int | None = None
        try:
            while (piece := pulled(pieces, wanted)) is not None:
                low, elements_before = _left_out(elements_before, len(piece))
                done, failures_before = _left_out(failures_before, len(piece.failed))
                at = low
                for number, told in enumerate(piece.failed[done:], start=done):
                    failure = located(told, self.input)
                    counting.passed(failure.at - at)
                    before = [counting.mark(), below, failure.at, number]
                    tell(failure)
                    too_many = counting.failed(failure)
                    if too_many is not None:
                        yield Piece(piece.chunk.slice(low, failure.at), piece.ids[low : failure.at], before)
                        raise self._error(too_many, counting)
                    at = failure.at + self.kept
                counting.passed(len(piece) - at)
                below = piece.after
                wanted = yield Piece(
                    piece.chunk.slice(low, len(piece)), piece.ids[low:], [counting.mark(), below, 0, 0]
                )
        finally:
            close(pieces)
        if self.budget is not None and (too_many := self.budget.exceeded(*counting.mark(), ended=True)) is not None:
            raise self._error(too_many, counting)

    def _told(self, epoch: int) -> Callable[[Failure], None]:
        from penstock.storage.quarantine import Quarantine  # few pipelines need it

        quarantine = None if self.quarantine is None else Quarantine(self.quarantine)

        def tell(failure: Failure) -> None:
            if quarantine is not None:
                quarantine.add(failure.line(epoch))
            if self.warns:
                import logging

                logging.getLogger("penstock").warning("%s left out %s", self.input.reported_as, failure)

        return tell

    def _error(self, too_many: str, counting: _Counting) -> FailuresError:
        last = "".join(f"\n  {failure}" for failure in counting.last)
        where = f"\nAll failures are in {self.quarantine}." if self.quarantine else ""
        error = FailuresError(f"{self.input.reported_as}: {too_many}. The last:{last}{where}")
        if counting.last:
            error.add_note(f"the last of them: {counting.last[-1].traceback}")
        return error

    def arguments(self) -> str:
        budget = [] if self.budget is None else [f"budget={self.budget.told()}"]
        quarantine = [] if self.quarantine is None else [f"quarantine={self.quarantine!r}"]
        counted = self.input.label().partition(", on_error=")[0].removesuffix(")")
        return ", ".join([f"of {counted})", *budget, *quarantine, *(["log_warning=True"] if self.warns else [])])


class _Counting:
    """The elements and failures of one epoch so far."""

    def __init__(self, budget: ErrorBudget | None, seen: int, failed: int, run: int) -> None:
        self._budget = budget
        self._seen = seen
        self._failed = failed
        self._run = run
        self.last: deque[Failure] = deque(maxlen=LAST_SHOWN)

    def passed(self, count: int) -> None:
        """Count successful elements."""
        self._seen += count
        if count:
            self._run = 0

    def failed(self, failure: Failure) -> str | None:
        """Count one failure; return a message if the budget is exceeded."""
        self._seen += 1
        self._failed += 1
        self._run += 1
        self.last.append(failure)
        return None if self._budget is None else self._budget.exceeded(self._seen, self._failed, self._run)

    def mark(self) -> list[int]:
        """Return the counts."""
        return [self._seen, self._failed, self._run]


def _left_out(wanted: int, there: int) -> tuple[int, int]:
    """Return how many elements to skip here, and how many still to skip later."""
    here = min(wanted, there)
    return here, wanted - here
