"""Drop and merge transformations that only move rows."""

from __future__ import annotations

from penstock.ops import buffer, order
from penstock.plan.node import Node
from penstock.plan.types import INFINITE


def drop_run_settings(node: Node) -> Node | None:
    """`x.prefetch(n) -> x`, `x.with_options(o) -> x`: the engine has read the settings from the plan as written."""
    return node.input if isinstance(node, buffer.prefetch.Prefetch | buffer.options.WithOptions) else None


def drop_full_take(node: Node) -> Node | None:
    """`x.take(n) -> x` if x has at most n elements."""
    match node:
        case order.take.Take(input=source, count=count) if count == -1 or 0 <= source.length <= count:
            return source
        case _:
            return None


def drop_empty_skip(node: Node) -> Node | None:
    """`x.skip(0) -> x`."""
    match node:
        case order.skip.Skip(input=source, count=0):
            return source
        case _:
            return None


def drop_single_repeat(node: Node) -> Node | None:
    """`x.repeat(1) -> x`."""
    match node:
        case order.repeat.Repeat(input=source, count=1):
            return source
        case _:
            return None


def drop_single_shard(node: Node) -> Node | None:
    """`x.shard(1, 0) -> x`."""
    match node:
        case order.shard.Shard(input=source, num_shards=1):
            return source
        case _:
            return None


def merge_takes(node: Node) -> Node | None:
    """`x.take(a).take(b) -> x.take(min(a, b))` if x is finite: an endless input restarts at another row."""
    match node:
        case order.take.Take(input=order.take.Take(input=source, count=first), count=second) if (
            source.length != INFINITE
        ):
            return order.take.Take(source, min(first, second))
        case _:
            return None


def merge_skips(node: Node) -> Node | None:
    """`x.skip(a).skip(b) -> x.skip(a + b)`."""
    match node:
        case order.skip.Skip(input=order.skip.Skip(input=source, count=first), count=second) if min(first, second) >= 0:
            return order.skip.Skip(source, first + second)
        case _:
            return None
