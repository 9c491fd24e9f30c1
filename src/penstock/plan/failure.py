"""An element that failed and was dropped, as plain text that can be sent between processes."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

import numpy as np

from penstock.core.blame import blames_of, note_blames
from penstock.core.frames import is_ours
from penstock.core.shown import without_credentials
from penstock.plan.locate import base_of, element_number, ground_of, records
from penstock.plan.node import Node

MOST_RECORDS = 16
LONGEST_TEXT = 8192  # maximum characters of a message or of a traceback


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


def failure_of(
    error: Exception, at: int, row: int, node: Node, base: Node | None, part: tuple[int, ...] = ()
) -> Failure:
    """Return the description of an element that failed at `node`, made from row `row` of the indexed node `base`."""
    note_blames(error)  # for the text of the traceback
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message, told = (without_credentials(text) for text in (str(error)[:LONGEST_TEXT], _traceback(error)))
    failure = Failure(at, row, _operation(error, node), name, message, (), told, part)
    return failure if base is None else _made_from(failure, base)


def located(failure: Failure, node: Node) -> Failure:
    """Return the failure with its row and records, which a task does not know if `node` stands on a stream."""
    if failure.records:
        return failure
    node = node if node.guard is None else ground_of(node)  # guards report what tasks were given
    base, number = base_of(node), element_number(node, failure.row)
    if number is not None:
        return failure._replace(row=number)
    return failure if base is None else _made_from(failure, base)


def _made_from(failure: Failure, base: Node) -> Failure:
    found = records(base, np.array([failure.row], np.int64))
    names = [str(record) for _, record in zip(range(MOST_RECORDS), found, strict=False)]
    return failure._replace(row=failure.row % base.stride, records=tuple(names))


def _operation(error: Exception, node: Node) -> str:
    """Return the operation that failed, which may be far below `node`."""
    return next((blame.operation for blame in blames_of(error) if blame.operation), node.label())


def _traceback(error: Exception) -> str:
    """Return the traceback from the user's first frame on; the last part, if it is long."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None and is_ours(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame))[-LONGEST_TEXT:]
