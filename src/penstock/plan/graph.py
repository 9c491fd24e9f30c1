"""The only traversals of a plan; nobody else recurses over inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, fields, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.plan.functions import ChunkFunction, ColumnFunction, ElementFunction, TracedFunction
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.index.blocked import Blocks

T = TypeVar("T")


def post_order(plan: Node) -> Iterator[Node]:
    """Every node, inputs before what reads them; a node read twice comes twice."""
    for node in plan.inputs:
        yield from post_order(node)
    yield plan


def upstream(node: Node, *, past: Callable[[Node], bool]) -> Iterator[Node]:
    """Every node that `node` reads, the nearest first, and not past one for which `past` does not hold."""
    for read in node.inputs:
        yield read
        if past(read):
            yield from upstream(read, past=past)


def fold(plan: Node, combine: Callable[[Node, tuple[T, ...]], T]) -> T:
    """The value of the plan, where `combine` makes a node's value from those of its inputs."""
    return combine(plan, tuple(fold(node, combine) for node in plan.inputs))


def blocks_of(plan: Node) -> Blocks | None:
    """The blocks in which an epoch of the plan is read, where it is dear to read row by row."""
    return fold(plan, lambda node, inputs: node.blocks(inputs))


def same(one: Node, other: Node) -> bool:
    """Whether two plans have the same operations, with the very same sources and values, and the same functions."""

    def told(node: Node | None) -> list[object]:
        return [getattr(node, field.name) for field in fields(node) if not _holds_nodes(node, field)] if node else []

    pairs = zip_longest(post_order(one), post_order(other))
    return all(type(a) is type(b) and all(map(_is_same, told(a), told(b))) for a, b in pairs)


def _is_same(one: object, other: object) -> bool:
    made_anew = isinstance(one, ElementFunction | ColumnFunction | ChunkFunction | TracedFunction)  # by rewrites
    return one is other or (made_anew and type(one) is type(other) and one == other)


def _holds_nodes(node: Node, field: Field[Any]) -> bool:
    return bool(field.metadata.get("nodes")) or isinstance(getattr(node, field.name), Node)


def rebuild(plan: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every node replaced by `change(node)`, from the sources up."""
    return fold(plan, lambda node, inputs: change(with_inputs(node, inputs)))


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The same transformation over other inputs; the node itself where they are the same objects."""
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
    made.noted.update(node.noted)
    return made
