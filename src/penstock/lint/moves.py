"""Changes that a fix makes: calls of a pipeline that move past their neighbors, and what stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.ops import buffer, combine, elementwise
from penstock.plan.graph import post_order, upstream
from penstock.plan.node import Node


class MoveCall(NamedTuple):
    """Move the call of an operation to right before that of `target`, or right after it.

    `effect` says what stays the same, and what changes. `times` multiplies the first argument of the moved call, if it
    and that of the target's call are written as numbers.
    """

    moved: Node
    target: Node
    before: bool
    effect: str
    times: bool = False


def unless_zipped(move: MoveCall | str, plan: Node) -> MoveCall | str:
    """Return a move, or a reason against it: a zip pairs by position, so all that it reads must change alike."""
    if isinstance(move, str):
        return move
    for zipped in post_order(plan):
        if isinstance(zipped, combine.zip.Zip) and any(
            node is move.moved or node is move.target for node in upstream(zipped, past=lambda node: True)
        ):
            return f"{zipped.label()} pairs what it reads by position, so change all of it alike, or zip first"
    return move


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


def what_stands_between(upper: Node, lower: Node, *, maps: bool = False, draws: bool = False) -> str:
    """Return what stands between two nodes and changes elements, in words; empty if nothing does.

    `maps`: functions may stand there, and with `draws` random ones too.
    """
    between = nodes_between(upper, lower)
    if between is None:
        return "the operations are not in one chain"
    found = [node for node in between if not _may_stand_between(node, maps, draws)]
    return f"{found[-1].label()} stands between, and would receive other elements" if found else ""


def _may_stand_between(node: Node, maps: bool, draws: bool) -> bool:
    if isinstance(node, buffer.prefetch.Prefetch | buffer.options.WithOptions):  # these change no element
        return True
    return maps and type(node) is elementwise.map.Map and not node.internal and (draws or not node.draws)
