"""Move operations that do not look into elements from one node to another."""

from __future__ import annotations

from types import UnionType

from penstock.ops.order.every import Every
from penstock.ops.order.exclude import Exclude
from penstock.ops.order.ranks import RankRows, WholeBatches
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shard import Shard
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.plan.graph import with_inputs
from penstock.plan.node import Node, RowMap

MOVES: UnionType = Every | Exclude | RankRows | Repeat | Shard | Shuffle | Skip | Take | WholeBatches
"""The operations that the rules of this package move."""


def put_on(node: Node, moves: list[RowMap]) -> Node:
    """Return the operations that `graph.end_of` found, over another node."""
    for move in reversed(moves):
        node = with_inputs(move, (node,))
    return node
