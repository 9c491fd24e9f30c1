"""Move operations that do not look into elements from one node to another."""

from __future__ import annotations

from penstock.ops.order.every import Every
from penstock.ops.order.exclude import Exclude
from penstock.ops.order.ranks import RankRows, WholeBatches
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shard import Shard
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.plan.graph import with_inputs
from penstock.plan.node import Node

MOVES = Every | Exclude | RankRows | Repeat | Shard | Shuffle | Skip | Take | WholeBatches


def taken_off(node: Node) -> tuple[list[Node], Node]:
    """Return the operations at the end of the plan that only move elements, last first, and the node below them."""
    moves: list[Node] = []
    while isinstance(node, MOVES):
        moves.append(node)
        node = node.input
    return moves, node


def put_on(node: Node, moves: list[Node]) -> Node:
    """Return the same operations over another node."""
    for move in reversed(moves):
        node = with_inputs(move, (node,))
    return node
