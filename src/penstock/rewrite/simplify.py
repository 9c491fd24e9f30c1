"""Drop and merge transformations that only move rows."""

from __future__ import annotations

from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shard import Shard
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.plan.node import INFINITE, Node


def drop_run_settings(node: Node) -> Node | None:
    """`x.prefetch(n) -> x`, `x.with_options(o) -> x`: the engine has read them from the plan as written."""
    return node.input if isinstance(node, Prefetch | WithOptions) else None


def drop_full_take(node: Node) -> Node | None:
    """`x.take(n) -> x` where x has no more than n elements."""
    match node:
        case Take(input=source, count=count) if count == -1 or 0 <= source.length <= count:
            return source
        case _:
            return None


def drop_empty_skip(node: Node) -> Node | None:
    """`x.skip(0) -> x`."""
    match node:
        case Skip(input=source, count=0):
            return source
        case _:
            return None


def drop_single_repeat(node: Node) -> Node | None:
    """`x.repeat(1) -> x`."""
    match node:
        case Repeat(input=source, count=1):
            return source
        case _:
            return None


def drop_single_shard(node: Node) -> Node | None:
    """`x.shard(1, 0) -> x`."""
    match node:
        case Shard(input=source, num_shards=1):
            return source
        case _:
            return None


def merge_takes(node: Node) -> Node | None:
    """`x.take(a).take(b) -> x.take(min(a, b))`, where x is finite: an endless input restarts at another row."""
    match node:
        case Take(input=Take(input=source, count=first), count=second) if source.length != INFINITE:
            return Take(source, min(first, second))
        case _:
            return None


def merge_skips(node: Node) -> Node | None:
    """`x.skip(a).skip(b) -> x.skip(a + b)`."""
    match node:
        case Skip(input=Skip(input=source, count=first), count=second) if min(first, second) >= 0:
            return Skip(source, first + second)
        case _:
            return None
