"""The places of the user's code that wrote the operations of a plan; they do not travel to other processes."""

from __future__ import annotations

from penstock.core.frames import Place
from penstock.plan.graph import post_order
from penstock.plan.node import Node

_PLACE = "_written_at"
"""The attribute of a node with its place; it is not a field, and not among the facts that a copy of the node keeps."""


def note_place(node: Node, place: Place) -> None:
    """Note the place that wrote an operation, unless it is known."""
    vars(node).setdefault(_PLACE, place)


def place_noted(plan: Node, node: Node) -> Place | None:
    """Return the place that wrote an operation of a plan, or the first one above it that has a place.

    Parts of an operation, and sources, have none of their own.
    """
    found: Place | None = None
    for each in post_order(plan):
        if each is node or any(below is node for below in each.inputs):
            node = each
            if (found := vars(node).get(_PLACE)) is not None:
                break
    return found
