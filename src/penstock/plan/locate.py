"""From a row of any node down to the records it is made of, and the notes that an error carries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.core.errors import ElementError
from penstock.plan.node import INFINITE, Node, Rows

MOST_RECORDS_NAMED = 3


@dataclass(frozen=True)
class Record:
    """One record of a source: which source, the position in it, and its name there (a file, an item)."""

    source: str
    position: int
    name: str

    def __str__(self) -> str:
        return self.name


def records(node: Node, rows: Rows) -> Iterator[Record]:
    """The records that `rows` of `node` are made of, in the order they are read."""
    if not node.inputs:
        yield from _own_records(node, rows)
        return
    for reached, its_rows in zip(node.inputs, node.route(rows), strict=True):
        yield from records(reached, its_rows)


def _own_records(node: Node, rows: Rows) -> Iterator[Record]:
    describe = getattr(getattr(node, "source", None), "describe", None)
    for row in (rows % node.stride).tolist():
        yield Record(node.name, row, describe(row) if describe else f"{node.name}: draw {row}")


def blame(error: BaseException, node: Node, row: int) -> None:
    """Say in the error's notes which operation failed, on which of its rows, and from which records.

    In a stream it is the operation alone: which elements were under way is the engine's to say.
    """
    if not node.indexed:
        error.add_note(f"in {node.blamed}")
        return
    named = bool(node.inputs) and blame_rows(error, node.inputs[0])
    error.add_note(f"in {node.blamed}, at {place(node, row)}")
    if not named:
        blame_records(error, node, row)


def blame_rows(error: BaseException, node: Node) -> bool:
    """Say in the notes of an error, which names rows of this node and has no notes, what they are made from."""
    if not isinstance(error, ElementError) or not node.indexed or getattr(error, "__notes__", None):
        return False
    for row in error.rows:
        blame_records(error, node, row, f"row {row} is made from")
    return bool(error.rows)


def blame_records(error: BaseException, node: Node, row: int, what: str = "made from") -> None:
    """Say in the error's notes which records a row of an indexed node is made from."""
    named = [str(record) for record in records(node, np.array([row], np.int64))]
    shown = ", ".join(named[:MOST_RECORDS_NAMED])
    more = f" and {len(named) - MOST_RECORDS_NAMED} more" if len(named) > MOST_RECORDS_NAMED else ""
    note = f"{what} {shown}{more}"
    if note not in getattr(error, "__notes__", ()):  # of a stream, what failed and who ran it may both say so
        error.add_note(note)


def place(node: Node, row: int) -> str:
    """A global row in words: its position, and its epoch if that is not the first."""
    epoch, position = divmod(row, node.stride)
    return f"row {position}" if epoch == 0 or node.length == INFINITE else f"row {position} of epoch {epoch}"
