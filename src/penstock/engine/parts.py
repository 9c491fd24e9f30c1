"""The operations of a streamed plan in the order in which an observer is told of them, each with what it helps."""

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
class Part:
    """A node, and the place of what it is a part of among all that are written, from the sources up."""

    node: Node
    place: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is what the user writes, and not what helps that."""
        return not (self.node.internal or isinstance(self.node, Unpack))


def parts_of(plan: Node) -> list[Part]:
    """The operations as `opened` tells of them.

    Those of stages come first, one stage after another as they are opened, and then those that go one by one.
    """
    seen = _Seen()
    seen.add(plan)
    return seen.stages + seen.flows


class _Seen:
    """What is known of a plan, as its nodes are gone through."""

    def __init__(self) -> None:
        self.stages: list[Part] = []
        self.flows: list[Part] = []
        self._place = 0
        self._helping: list[Part] = []  # those just below that are still without one that they help

    def add(self, plan: Node) -> None:
        """Go through a plan, which ends in a stage where it does not end in a flow."""
        self.stages += fold(rebuild(plan, in_turns), self._stretch)

    def _stretch(self, node: Node, inputs: tuple[list[Part], ...]) -> list[Part]:
        """The nodes from `node` down that one stage runs."""
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

    def _part(self, node: Node) -> Part:
        part = Part(node)
        self._helping.append(part)
        if part.is_whole:
            for each in self._helping:
                each.place = self._place
            self._place, self._helping = self._place + 1, []
        return part
