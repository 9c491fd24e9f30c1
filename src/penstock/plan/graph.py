"""The only traversals of a plan; no other module recurses over inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, fields, replace
from itertools import zip_longest
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.plan.functions import UNDECLARED, has_traced_form, is_declared
from penstock.plan.node import Node, RowMap

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.index.blocked import Blocks

T = TypeVar("T")


def post_order(plan: Node) -> Iterator[Node]:
    """Yield every node, inputs before their readers; a node read twice comes twice."""
    if not plan.inputs:  # datasets that are elements are often one node
        return iter((plan,))
    readers_first: list[Node] = []
    coming = [plan]
    while coming:
        readers_first.append(node := coming.pop())
        coming += node.inputs
    return reversed(readers_first)


def all_nodes(plan: Node) -> Iterator[Node]:
    """Yield every node, those of plans that nodes run themselves included: of plans that are alike, of the first."""
    for node in post_order(plan):
        yield node
        for within in node.subplans[:1]:
            yield from all_nodes(within)


def rank_rows(plan: Node) -> Any:
    """Return the node in a plan that keeps the rows of a rank (`ops.order.ranks.RankRows`), if there is one."""
    return next((node for node in post_order(plan) if node.traits.of_rank), None)


def with_depth(plan: Node) -> Iterator[tuple[Node, int]]:
    """Yield the same, each with the number of nodes with several inputs above it."""
    readers_first: list[tuple[Node, int]] = []
    coming = [(plan, 0)]
    while coming:
        node, depth = coming.pop()
        readers_first.append((node, depth))
        coming += [(below, depth + (len(node.inputs) > 1)) for below in node.inputs]
    return reversed(readers_first)


def upstream(node: Node, *, past: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield every node that `node` reads, the nearest first, and none past a node for which `past` is false."""
    coming = [*reversed(node.inputs)]
    while coming:
        read = coming.pop()
        yield read
        if past(read):
            coming += reversed(read.inputs)


def end_of(plan: Node, kinds: type[RowMap] | UnionType = RowMap) -> tuple[list[RowMap], Node]:
    """Return the nodes at the end of a plan that only move rows, the last one first, and the node below them.

    `kinds` are the classes of nodes that count; all are subclasses of `RowMap`.
    """
    moves: list[RowMap] = []
    while isinstance(plan, RowMap) and isinstance(plan, kinds):
        moves.append(plan)
        plan = plan.input
    return moves, plan


def rows_through(rows: Rows, moves: list[RowMap]) -> Rows:
    """Return the rows below such nodes that `rows` are."""
    for node in moves:
        rows = node.rows_of(rows)
    return rows


def fold(plan: Node, combine: Callable[[Node, tuple[T, ...]], T]) -> T:
    """Return the value of the plan; `combine` computes a node's value from those of its inputs."""
    values: list[T] = []  # of nodes whose reader is still to come
    for node in post_order(plan):
        first = len(values) - len(node.inputs)
        values[first:] = [combine(node, tuple(values[first:]))]
    return values[0]


def fold_once(plan: Node, combine: Callable[[Node, tuple[T, ...]], T]) -> T:
    """Return the same for a pure `combine`, a module-level function, whose values are cached on the nodes.

    Called on one node after another, from the sources up, this takes one step per node.
    """
    path = [plan]
    while path:
        node = path[-1]
        missing = [] if combine in node.found else [each for each in node.inputs if combine not in each.found]
        if missing:
            path += missing
            continue
        path.pop()
        if combine not in node.found:
            node.found[combine] = combine(node, tuple(each.found[combine] for each in node.inputs))
    return plan.found[combine]


def blocks_of(plan: Node) -> Blocks | None:
    """Return the blocks in which an epoch of the plan is read, if reading row by row is expensive."""
    return fold_once(plan, _blocks)


def _blocks(node: Node, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
    return node.blocks(inputs)


COMPARED_BY_VALUE = (int, float, str, bytes)


def same_plan(one: Node, other: Node) -> bool:
    """Return True if two plans have the same operations, with identical sources and values, and the same functions."""

    def told(node: Node | None) -> list[object]:
        return [getattr(node, field.name) for field in fields(node) if not _holds_nodes(node, field)] if node else []

    pairs = zip_longest(post_order(one), post_order(other))
    return all(type(a) is type(b) and all(map(_is_same, told(a), told(b))) for a, b in pairs)


def _is_same(one: object, other: object) -> bool:
    if one is other or isinstance(one, UNDECLARED):
        return one is other
    if isinstance(one, tuple) and isinstance(other, tuple):
        pair = cast("tuple[tuple[object, ...], tuple[object, ...]]", (one, other))
        return type(one) is type(other) and len(one) == len(other) and all(map(_is_same, *pair))
    if isinstance(one, COMPARED_BY_VALUE):  # seeds, for example, which each iterator computes anew
        return type(one) is type(other) and one == other
    made_anew = is_declared(one) or has_traced_form(one)  # by rewrites
    return made_anew and type(one) is type(other) and one == other


def _holds_nodes(node: Node, field: Field[Any]) -> bool:
    return bool(field.metadata.get("nodes")) or isinstance(getattr(node, field.name), Node)


def rebuild(plan: Node, change: Callable[[Node], Node]) -> Node:
    """Return the plan with every node replaced by `change(node)`, from the sources up."""
    return fold(plan, lambda node, inputs: change(with_inputs(node, inputs)))


def rebuild_once(plan: Node, change: Callable[[Node], Node]) -> Node:
    """Return the same, where a node that is read at several places is one again: seeds that are bound later are equal.

    `change` is called once for such a node.
    """
    made: dict[int, Node] = {}

    def combine(node: Node, inputs: tuple[Node, ...]) -> Node:
        if id(node) not in made:
            made[id(node)] = change(with_inputs(node, inputs))
        return made[id(node)]

    return fold(plan, combine)


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return the same transformation over other inputs; the node itself if the inputs are the same objects."""
    if not inputs or all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    remaining = iter(inputs)
    changed = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changed[field.name] = next(remaining)
        elif field.metadata.get("nodes"):
            changed[field.name] = tuple(next(remaining) for _ in value)
    made = replace(node, **changed)
    made.memo.update(node.memo)
    return made
