"""A plan as the list of its nodes, which is its pickled form: nested nodes would exceed pickle's recursion limit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from penstock.plan.node import Node


class ListedNode(NamedTuple):
    """A node, with the numbers of other nodes in the list instead of its inputs."""

    kind: type[Node]
    values: dict[str, Any]
    inputs: dict[str, int | tuple[int, ...]]
    memo: dict[str, Any]


def listed(plan: Node) -> list[ListedNode]:
    """Return all nodes of the plan, inputs before their readers, each once."""
    numbers: dict[int, int] = {}
    nodes: list[ListedNode] = []
    path = [plan]
    while path:
        node = path[-1]
        missing = [below for below in node.inputs if id(below) not in numbers]
        if missing:
            path += reversed(missing)
            continue
        path.pop()
        if id(node) not in numbers:
            numbers[id(node)] = len(nodes)
            nodes.append(_listed(node, numbers))
    return nodes


def assembled(nodes: list[ListedNode]) -> Node:
    """Return the plan whose nodes are listed."""
    made: list[Node] = []
    for kind, values, inputs, memo in nodes:
        found = {
            name: made[number] if isinstance(number, int) else tuple(made[each] for each in number)
            for name, number in inputs.items()
        }
        node = object.__new__(kind)
        vars(node).update(values, **found)
        node.memo.update(memo)
        made.append(node)
    return made[-1]


def _listed(node: Node, numbers: dict[int, int]) -> ListedNode:
    values: dict[str, Any] = {}
    inputs: dict[str, int | tuple[int, ...]] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            inputs[field.name] = numbers[id(value)]
        elif field.metadata.get("nodes"):
            inputs[field.name] = tuple(numbers[id(each)] for each in value)
        else:
            values[field.name] = value
    return ListedNode(type(node), values, inputs, node.memo)
