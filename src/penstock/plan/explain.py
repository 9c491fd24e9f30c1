"""A plan in words, for a person to read."""

from __future__ import annotations

from typing import NamedTuple

from penstock.elements.spec import describe
from penstock.plan import safety
from penstock.plan.graph import post_order, with_depth
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN

DEEPEST = 16  # steps that lines are indented by
WIDEST = 48  # characters of an operation that stands in one line with its elements


class Line(NamedTuple):
    """One node: how deep it stands among the inputs of others, what it is, how many elements it has, and which."""

    depth: int
    operation: str
    rows: str
    element: str


def explained(plan: Node, run: Node | None, applied: tuple[str, ...]) -> str:
    """The plan as written; what is run in its place, and by which rewrites, where they changed something."""
    parts = ["as written:", *_table(_lines(plan))]
    if applied and run is not None:
        parts += ["as run:", *_table(_lines(run)), f"rewrites: {', '.join(dict.fromkeys(applied))}"]
    else:
        parts.append("rewrites: none")
    parts.append(_order(plan))
    parts += map(str, safety.calls.all_alone(post_order(run or plan)))
    return "\n".join(parts)


def _order(plan: Node) -> str:
    streams = [node for node in post_order(plan) if not node.indexed]
    if not streams:
        mixing = [f"{node.label()}: {mixing}" for node in post_order(plan) if (mixing := node.mixing())]
        return "\n".join(["order: indexed; any row can be made alone, and skipping costs nothing", *mixing])
    first = next(node for node in streams if not node.helps)
    order = f"order: a stream from {first.label()} on; a restored iterator makes again what waited in its buffers"
    return "\n".join([order, *(f"restored, {node.label()} {redone}" for node in streams if (redone := node.redone()))])


def _lines(plan: Node) -> list[Line]:
    lines: list[Line] = []
    for node, depth in with_depth(plan):
        spec = node.spec()
        rows = {INFINITE: "endless", UNKNOWN: "?"}.get(node.length, f"{node.length:,}")
        lines += [line._replace(depth=line.depth + depth) for each in node.within[:1] for line in _lines(each)]
        if not node.helps:
            lines.append(Line(depth, node.label(), rows, "?" if spec is None else describe(spec)))
    return lines


def _table(lines: list[Line]) -> list[str]:
    width = min(max(len(_operation(line)) for line in lines), WIDEST)
    table: list[str] = []
    for line in lines:
        name, what = _operation(line), f"  {line.rows:>7} × {line.element}"
        table += [f"{name:<{width}}{what}"] if len(name) <= width else [name, f"{'':<{width}}{what}"]
    return table


def _operation(line: Line) -> str:
    return "  " * (min(line.depth, DEEPEST) + 1) + line.operation
