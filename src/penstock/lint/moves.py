"""Changes that a fix makes: calls of a pipeline that move past their neighbors, and what stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.elementwise.map import Map
from penstock.plan.node import Node

_PLAIN = (Prefetch, WithOptions)  # operations that change no element


class MoveCall(NamedTuple):
    """Move the call of an operation to right before that of `target`, or right after it.

    `effect` says what stays the same, and what changes.
    """

    moved: Node
    target: Node
    before: bool
    effect: str


def nodes_between(upper: Node, lower: Node) -> Iterator[Node] | None:
    """Return the nodes between two nodes, if each of them has a single input; else `None`."""
    found: list[Node] = []
    node = upper
    while len(node.inputs) == 1:
        (node,) = node.inputs
        if node is lower:
            return iter(found)
        found.append(node)
    return None


def are_next(upper: Node, lower: Node, *, maps: bool = False, draws: bool = False) -> bool:
    """Return True if nothing between two nodes changes elements; or only functions do, which may draw."""
    between = nodes_between(upper, lower)
    return between is not None and all(
        isinstance(node, _PLAIN) or (maps and type(node) is Map and not node.internal and (draws or not node.draws))
        for node in between
    )
