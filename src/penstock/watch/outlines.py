"""Operations in outline, as another process tells of those that it measures."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from penstock.plan.node import Node
from penstock.plan.traits import Traits


class NodeOutline(NamedTuple):
    """The name of an operation that another process measures, and what `report` has to know of it."""

    text: str
    traits: Traits
    internal: bool
    reads: bool

    @classmethod
    def of(cls, node: Node | NodeOutline) -> NodeOutline:
        """Return the outline of a node."""
        if isinstance(node, NodeOutline):
            return node
        return cls(node.label(), node.traits, node.internal, not node.inputs)

    def label(self) -> str:
        """Return the operation as `explain()` names it."""
        return self.text


Outline: TypeAlias = dict[int, tuple[NodeOutline, list[int], bool, bool]]
"""Operations by number: each node in outline, the numbers of its inputs, whether its time contains theirs, and whether
it is sequential."""
