"""From a row of any node down to the records it is made of, and the notes that an error carries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.attributes import attribute_of
from penstock.core.errors import ElementError
from penstock.core.frames import is_ours
from penstock.plan.graph import post_order
from penstock.plan.ids import EPOCH_BITS
from penstock.plan.node import Node
from penstock.plan.types import INFINITE

MOST_RECORDS_NAMED = 3
BLAMED = (Exception, SystemExit)
"""What a function may raise that is blamed on it: its errors and `sys.exit()`, but not Ctrl-C."""
AS_ARGUMENTS = (
    "a tuple comes as arguments, a dict as one: lambda a, b: ... for a tuple of two, lambda d: d['a'] for a dict"
)
_SAYS_ARGUMENTS = re.compile("takes .*positional argument|missing .*required positional argument")
COPY_FIRST = "arrays of sources and caches are read-only, for others see them too: copy first, as in x = x.copy()"
_OF_READ_ONLY = (ValueError, TypeError, BufferError)
_SAYS_READ_ONLY = re.compile("read-?only")
MOST_NUMBERED = 1 << 32
"""An element whose number is larger has one drawn by hash, as those of very late epochs do; see `flow.ordinals`."""


@dataclass(frozen=True)
class Record:
    """One record of a source: which source, the position in it, and its name there (a file, an item).

    >>> (record,) = Dataset.from_source(["a", "b"]).locate(1)
    >>> record.source, record.position, record.name
    ('from_source(list)', 1, 'item 1 of list')
    """

    source: str
    position: int
    name: str

    def __str__(self) -> str:
        return self.name


def records(node: Node, rows: Rows) -> Iterator[Record]:
    """The records that `rows` of `node` are made of, in the order they are read."""
    coming = [(node, rows)]
    while coming:
        reached, its_rows = coming.pop()
        if reached.inputs:
            coming += reversed(list(zip(reached.inputs, reached.route(its_rows), strict=True)))
        else:
            yield from _own_records(reached, its_rows)


def _own_records(node: Node, rows: Rows) -> Iterator[Record]:
    describe = attribute_of(getattr(node, "source", None), "describe")
    for row in (rows % node.stride).tolist():
        yield Record(node.name, row, describe(row) if describe else f"{node.name}: draw {row}")


def blame(error: BaseException, node: Node, row: int | None, of: Node | None = None) -> None:
    """Say in the error's notes which operation failed, at which row of it, or of `of`, and from which records.

    In a stream `row` is the id of an element, and what is told is what is known by it: the row that it comes from, or
    its number in what counts elements; nothing where it is `None`.
    """
    made = of or node
    named = made.indexed and bool(node.inputs) and blame_rows(error, node.inputs[0])
    where = "" if row is None else _where(made, row, is_named=True)
    error.add_note(f"in {node.blamed}, at {where}" if where else f"in {node.blamed}")
    tell_to_copy(error)
    _tell_how_elements_come(error)
    if row is not None and not named:
        _blame_base(error, made, row)


def tell_to_copy(error: BaseException) -> None:
    """Say in the notes of an error about a read-only array what to do: the user's function has written into its input.

    >>> error = ValueError("assignment destination is read-only")
    >>> tell_to_copy(error)
    >>> error.__notes__
    ['arrays of sources and caches are read-only, for others see them too: copy first, as in x = x.copy()']
    """
    is_told = COPY_FIRST in getattr(error, "__notes__", ())
    if not is_told and isinstance(error, _OF_READ_ONLY) and _SAYS_READ_ONLY.search(str(error)):
        error.add_note(COPY_FIRST)


def _tell_how_elements_come(error: BaseException) -> None:
    """Say in the notes of an error about the number of arguments of a call of ours how elements are passed."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    ours = trace is None or is_ours(trace.tb_frame.f_code.co_filename)
    notes: list[str] = getattr(error, "__notes__", [])
    if ours and isinstance(error, TypeError) and _SAYS_ARGUMENTS.search(str(error)) and AS_ARGUMENTS not in notes:
        error.add_note(AS_ARGUMENTS)


def blame_given(error: BaseException, node: Node, row: int) -> None:
    """Say in the notes of an error that name no place which element of a stream was under way: `row` is its id."""
    if any(note.startswith("made from ") or ", at " in note for note in getattr(error, "__notes__", ())):
        return
    where = "" if node.indexed else _where(node, row, is_named=False)
    if where:
        _complete(error, where)
    _blame_base(error, node, row)


def _complete(error: BaseException, where: str) -> None:
    """Say the place in the note of the operation, where there is one, and else alone."""
    notes: list[str] = getattr(error, "__notes__", [])
    for at in reversed(range(len(notes))):
        if notes[at].startswith("in "):
            notes[at] += f", at {where}"
            return
    error.add_note(f"at {where}")


def blame_rows(error: BaseException, node: Node, ids: dict[int, int] | None = None) -> bool:
    """Say in the notes of an error, which names rows of this node and has no notes, what they are made from.

    Of a stream they are numbers of elements, whose `ids` are these.
    """
    if not isinstance(error, ElementError) or getattr(error, "__notes__", None):
        return False
    base = base_of(node)
    if base is None or (ids is None and base is not node):
        return False
    for row in error.rows:
        blame_records(error, base, row if ids is None else ids[row], f"row {row} is made from")
    return bool(error.rows)


def _blame_base(error: BaseException, node: Node, row: int) -> None:
    base = base_of(node)
    if base is not None:
        blame_records(error, base, row)


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


def base_of(node: Node) -> Node | None:
    """The indexed node whose rows the ids of a stream's elements are, if there is one."""
    origin = _origin(node)
    return origin[0] if origin is not None and origin[0].indexed else None


def ground_of(node: Node) -> Node:
    """The node that the elementwise nodes up to `node` stand on: tasks are given its elements, or make its rows."""
    while node.elementwise and node.inputs and not node.indexed:
        (node,) = node.inputs
    return node


def number_of(node: Node, row: int) -> int | None:
    """The number, in its epoch, of the element that an id of a stream's elements comes from, where they are counted."""
    origin = _origin(node)
    if origin is None or origin[0].indexed:
        return None
    number = row & ((1 << EPOCH_BITS) - 1)
    is_known = number < MOST_NUMBERED and not any(below.cut for below in post_order(origin[0]))
    return number if is_known else None


def _where(node: Node, row: int, *, is_named: bool) -> str:
    """In words, which element an id of `node` stands for; of what, unless that is its input and the node was named."""
    origin = _origin(node)
    if origin is None:
        return ""
    begin, first = origin
    if begin.indexed:
        is_told = first is begin or (first is node and is_named)
        return place(begin, row) + ("" if is_told else f" of the input of {first.blamed}")
    number = number_of(node, row)
    if number is None:
        return ""
    epoch = row >> EPOCH_BITS
    is_told = is_named and (begin is node or begin.helps)
    return f"element {number}{f' of epoch {epoch}' if epoch else ''}" + ("" if is_told else f" of {begin.blamed}")


def _origin(node: Node) -> tuple[Node, Node] | None:
    """What the ids of elements come from, an indexed node or one that numbers its own, and what stands on that."""
    first = node
    while not node.indexed and not node.has_own_ids:
        if not node.keeps_ids:
            return None
        first = first if node.cut else node
        node = node.inputs[0]
    return node, first
