"""The operations of a streamed plan for reports, in the order in which an observer counts them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine.runs.lowering import in_turns
from penstock.ops.combine.inner import Unfolding
from penstock.ops.combine.turns import Turns
from penstock.ops.combine.unpack import Unpack
from penstock.ops.order.streams import StreamRows
from penstock.plan.graph import fold, rebuild
from penstock.plan.node import Node


@dataclass(eq=False)
class OperationPart:
    """A node that is part of a written operation, with the place of that operation in the plan, from the sources."""

    node: Node
    place: int = 0

    @property
    def is_whole(self) -> bool:
        """Return whether the user wrote this node; false if it is an internal part of what the user wrote."""
        return not (self.node.internal or isinstance(self.node, Unpack))


def operation_parts(plan: Node) -> list[OperationPart]:
    """Return the operations in the order in which opening the plan reports them to an observer.

    The operations of stages come first, stage by stage as they are opened, and then those that have a flow.
    """
    collected = _Collected()
    collected.add(plan)
    return collected.stages + collected.flows


class _Collected:
    """The parts found so far while walking a plan."""

    def __init__(self) -> None:
        self.stages: list[OperationPart] = []
        self.flows: list[OperationPart] = []
        self._place = 0
        self._internal: list[OperationPart] = []  # parts just below, whose written operation is still to come

    def add(self, plan: Node) -> None:
        """Walk a plan, which ends in a stage or a flow."""
        self.stages += fold(rebuild(plan, in_turns), self._stretch)

    def _stretch(self, node: Node, inputs: tuple[list[OperationPart], ...]) -> list[OperationPart]:
        """Return the nodes from `node` down that one stage runs."""
        if isinstance(node, StreamRows):
            return inputs[0]
        below = [part for stretch in inputs for part in stretch]
        if isinstance(node, Unfolding) and (tasks := node.in_tasks(node.input)) is not node.input:
            below.append(self._part(tasks))
        if node.indexed or (node.elementwise and inputs):
            return [*below, self._part(node)]
        self.stages += below
        if isinstance(node, Turns):
            self.add(node.plans[0])
        self.flows.append(self._part(node))
        return []

    def _part(self, node: Node) -> OperationPart:
        part = OperationPart(node)
        self._internal.append(part)
        if part.is_whole:
            for each in self._internal:
                each.place = self._place
            self._place, self._internal = self._place + 1, []
        return part
