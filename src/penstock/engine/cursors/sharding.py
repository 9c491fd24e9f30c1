"""The shard near the end of a plan: its part of a state, and the plan and marks without the operations after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any, cast

from penstock.core.cached import cached_property
from penstock.engine.cursors.cursor import Cursor
from penstock.ops.buffer.options import WithOptions, options_of
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.elementwise.enumerate import Enumerate
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.tolerant import TolerantMap
from penstock.ops.group.grouping import Grouping
from penstock.ops.order.ranks import PadToMultiple, RankRows, WholeBatches
from penstock.ops.order.shard import Shard
from penstock.ops.order.streams import VirtualStreams
from penstock.plan.fingerprint import fingerprint_of, form, plan_lines
from penstock.plan.flow import Mark, resumed
from penstock.plan.graph import fold, with_inputs
from penstock.plan.node import Node

_BELOW_BATCH = WholeBatches | PadToMultiple | RankRows
"""Nodes between the turns of streams and the batch of a rank."""
AFTER_SHARD = "map(), enumerate(), batches of a fixed size and prefetch()"
"""The operations allowed after a shard whose states can be resharded: each keeps all elements and their order."""
PLAN_DIGITS = 16


class Sharding:
    """The shard of a plan, and the operations after it that change single elements and batch them.

    `plan` is the plan as written. `as_run` returns the plan to run for that plan or a similar one.
    """

    def __init__(self, plan: Node, as_run: Callable[[Node], Node]) -> None:
        self.plan = plan
        self.shard = cast("Shard | VirtualStreams", _above_and_shard(plan)[1])
        self._as_run = as_run
        self._above = _above_turns(as_run(plan))

    @cached_property
    def elements_per_item(self) -> int:
        """The number of the shard's elements in one item of the plan."""
        count = 1
        for node in _above_and_shard(self.plan)[0]:
            count *= _size(node)
        return count

    @cached_property
    def plan_digest(self) -> str:
        """A digest of the plan that is the same for any number of shards and any batch size."""
        return fingerprint_of(plan_lines(_normalized(self.plan)))[:PLAN_DIGITS]

    @cached_property
    def mark_form(self) -> str:
        """A digest of the form of the shard's marks that is the same for any number of shards."""
        if isinstance(self.shard, Shard):
            return ""
        first_stream = self._as_run(_normalized(self.plan, self.shard.streams))
        return f"{form(first_stream)}{options_of(self.plan).rewrite is False:d}"

    def state_of(self, cursor: Cursor, *, ended: bool) -> list[Any]:
        """Return the shard's part of a saved state, with the fields of `reshard.ShardState` after its cursor."""
        _, offset = self._lowered(cursor.mark, cursor.offset)
        elements = cursor.row * self.elements_per_item
        shard = self.shard
        return [shard.num_shards, shard.index, elements, offset, int(ended), self.plan_digest, self.mark_form]

    def shard_mark(self, mark: Mark) -> Mark:
        """Return the mark of the shard within a mark of the plan."""
        return self._lowered(mark, 0)[0]

    def _lowered(self, mark: Mark, offset: int) -> tuple[Mark, int]:
        """Return the shard's mark within a mark of the plan, and the number of elements in `offset` items after it."""
        per_item = self.elements_per_item
        elements = offset * per_item
        for elementwise, nodes in groupby(self._above, _is_elementwise):
            for node in (None,) if elementwise else nodes:  # a stretch of elementwise nodes has one mark
                if node is not None:
                    _, mark = resumed(mark, (0, None))
                    per_item //= _size(node)
                mark, at = resumed(mark, (None, 0))
                elements += at * per_item
        return mark, elements

    def plan_mark(self, mark: Mark, items: int) -> Mark:
        """Return the mark of the plan after `items` items, given the mark of the shard."""
        counts: list[int | None] = []  # for each mark from the end of the plan: elements made, if the mark counts them
        for elementwise, nodes in groupby(self._above, _is_elementwise):
            if elementwise:
                counts.append(None)
                continue
            for node in nodes:
                counts.append(items // _run(node))
                items *= _size(node)
        for count in reversed(counts):
            mark = [mark, 0] if count is None else [count, [mark, 0]]
        return mark


def is_sharded(plan: Node) -> bool:
    """Return whether the plan as written has a shard near its end whose states can be resharded."""
    shard = _above_and_shard(plan)[1]
    return isinstance(shard, VirtualStreams) or (isinstance(shard, Shard) and shard.indexed)


def keeps_turns(node: Node) -> bool:
    """Return whether a node keeps all elements and their order, so that it may follow a shard."""
    if isinstance(node, TolerantMap):
        return node.keeps
    return isinstance(node, Prefetch | WithOptions | Grouping | Enumerate | Map | _BELOW_BATCH)


def _above_and_shard(plan: Node) -> tuple[list[Node], Node]:
    """Return the last nodes of a plan, which keep elements and their order, and the first node that does not."""
    above: list[Node] = []
    while keeps_turns(plan):
        above.append(plan)
        (plan,) = plan.inputs
    return above, plan


def _above_turns(run: Node) -> list[Node]:
    """Return the nodes after the one that alternates between streams, last first; none if there is no such node."""
    above: list[Node] = []
    while not run.subplans:
        if not run.inputs:
            return []
        above.append(run)
        run = run.inputs[0]
    return above


def _size(node: Node) -> int:
    """Return how many elements below the node one element stands for, of all ranks."""
    match node:
        case Grouping(size=size) | RankRows(world=size):
            return size
        case _:
            return 1


def _run(node: Node) -> int:
    """Return how many of its elements the node counts as one in its mark."""
    match node:
        case RankRows(size=size) | WholeBatches(size=size) | PadToMultiple(count=size):
            return size
        case _:
            return 1


def _is_elementwise(node: Node) -> bool:
    return node.elementwise


def _normalized(plan: Node, shards: int = 1) -> Node:
    """Return the plan for the first of `shards` shards, with batches of one element after the shard."""
    above, shard = _above_and_shard(plan)
    changed = {id(node) for node in (*above, shard)}

    def change(node: Node, inputs: tuple[Node, ...]) -> Node:
        if id(node) not in changed:
            return node
        match with_inputs(node, inputs):
            case Shard() | VirtualStreams() as shard:
                return replace(shard, num_shards=shards, index=0)
            case Grouping() as grouping:
                return replace(grouping, size=1)
            case WholeBatches() | PadToMultiple() | RankRows() as node:
                return node.input
            case other:
                return other

    return fold(plan, change)
