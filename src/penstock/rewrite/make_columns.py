"""Let a function whose results are only batched make columns."""

from __future__ import annotations

from dataclasses import replace

from penstock.ops.elementwise.map import Map
from penstock.ops.group.grouping import Grouping
from penstock.plan.node import Node
from penstock.plan.safety.writing import only_reads


def make_columns(node: Node) -> Node | None:
    """`x.map(f).batch(n) -> x.map(f, as_columns).batch(n)` if f only reads: the batch copies what f returns."""
    if not isinstance(node, Grouping) or not isinstance(below := node.input, Map) or below.as_columns:
        return None
    if below.vectorized or below.draws or below.on is not None or not only_reads(below.function):
        return None
    return replace(node, input=replace(below, as_columns=True))
