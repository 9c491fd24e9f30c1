"""Merge chains of two-input concatenations into one node."""

from __future__ import annotations

from penstock.ops.combine.concatenate import Concatenate
from penstock.ops.combine.end_to_end import EndToEnd
from penstock.plan.graph import fold, with_inputs
from penstock.plan.node import Node
from penstock.plan.types import INFINITE


class Concatenation:
    """Inputs to put end to end, and, if there are only two, the node as written."""

    def __init__(self, written: Node, members: list[Node]) -> None:
        self._written = written
        self.members = members

    @property
    def node(self) -> Node:
        """The one node for the chain."""
        return self._written if len(self.members) < 3 else EndToEnd(tuple(self.members))

    def then(self, written: Node, more: Node) -> Concatenation:
        """Return the chain with one more input, for a chain that has no other reader."""
        self._written = written
        self.members.append(more)
        return self


def join_concatenations(plan: Node, applied: list[str]) -> Node:
    """`x.concatenate(y).concatenate(z) -> x, y and z end to end`, at once: single-node rules would copy chains."""

    def join(node: Node, inputs: tuple[Concatenation, ...]) -> Concatenation:
        if isinstance(node, Concatenate) and len(inputs[0].members) > 1 and node.first.length != INFINITE:
            chain = inputs[0].then(node, inputs[1].node)
            applied.append(join_concatenations.__name__)
            return chain
        own = with_inputs(node, tuple(chain.node for chain in inputs))
        if isinstance(own, Concatenate):
            return Concatenation(own, [own.first, own.second])
        return Concatenation(own, [own])

    return fold(plan, join).node
