"""Find the records that a row of any node is made from, and its place."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.arrays import Rows
from penstock.core.attributes import attribute_of
from penstock.core.blame import ElementPlace
from penstock.core.frozen import frozen
from penstock.plan.graph import post_order
from penstock.plan.ids import EPOCH_BITS
from penstock.plan.node import Node
from penstock.plan.types import INFINITE

MOST_NUMBERED = 1 << 32
"""The largest number of a counted element; larger numbers are hashed, as in very late epochs; see `flow.ordinals`."""


@frozen()
class Record:
    """One record of a source: the source, the position in it, and its name there (a file, an item).

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
    """Yield the records that `rows` of `node` are made from, in the order in which they are read."""
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


def place_of(node: Node, row: int, *, is_named: bool = True) -> ElementPlace | None:
    """Return the place of the element with an id of `node`; `None` if unknown.

    The place names what it is counted in, unless the message names the node (`is_named`) and that makes it clear.
    """
    origin = _origin(node)
    if origin is None:
        return None
    begin, first = origin
    if begin.indexed:
        is_clear = first is begin or (first is node and is_named)
        epoch, position = divmod(row, begin.stride)
        epoch = 0 if begin.length == INFINITE else epoch
        return ElementPlace("row", position, epoch, "" if is_clear else f"the input of {first.reported_as}")
    number = element_number(node, row)
    if number is None:
        return None
    is_clear = is_named and (begin is node or begin.internal)
    return ElementPlace("element", number, row >> EPOCH_BITS, "" if is_clear else begin.reported_as)


def base_of(node: Node) -> Node | None:
    """Return the indexed node whose rows are the ids of a stream's elements, if there is one."""
    origin = _origin(node)
    return origin[0] if origin is not None and origin[0].indexed else None


def ground_of(node: Node) -> Node:
    """Return the node below the elementwise nodes up to `node`: tasks receive its elements, or make its rows."""
    while node.elementwise and node.inputs and not node.indexed:
        (node,) = node.inputs
    return node


def element_number(node: Node, row: int) -> int | None:
    """Return the number, in its epoch, of the element that an id of a stream's elements comes from, if counted."""
    origin = _origin(node)
    if origin is None or origin[0].indexed:
        return None
    number = row & ((1 << EPOCH_BITS) - 1)
    is_known = number < MOST_NUMBERED and not any(below.cut for below in post_order(origin[0]))
    return number if is_known else None


def _origin(node: Node) -> tuple[Node, Node] | None:
    """Return the source of the elements' ids, an indexed node or one that numbers its own, and the node above it."""
    first = node
    while not node.indexed and node.traits.ids != "counted":
        if node.traits.ids != "kept":
            return None
        first = first if node.cut else node
        node = node.inputs[0]
    return node, first
