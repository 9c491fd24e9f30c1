"""Describe a plan in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from penstock.core.shown import ShownAsText, displayable
from penstock.elements.spec import describe
from penstock.plan import safety
from penstock.plan.graph import post_order, with_depth
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN

DEEPEST_INDENT = 16  # maximum number of indentation steps
_WIDEST = 48  # maximum width of an operation that shares a line with its elements


@runtime_checkable
class MixesInPart(Protocol):
    """An operation whose random order may differ from a uniform one, for data that is expensive to read."""

    def label(self) -> str: ...
    def mixing(self) -> str:
        """Return in words how far the order is from a uniform one, or nothing."""
        ...


@runtime_checkable
class RepeatsWork(Protocol):
    """An operation of which a restored iterator may repeat more work than a few elements."""

    def label(self) -> str: ...
    def redone(self) -> str:
        """Return in words the work that is repeated, or nothing."""
        ...


class ExplainedNode(NamedTuple):
    """One node: its depth, operation, number of elements, and spec."""

    depth: int
    operation: str
    rows: str
    element: str


class MeasuredRun(NamedTuple):
    """The figures of a run: where it ran, the names of the columns, their cells for each line of a plan, and notes."""

    where: str
    names: tuple[str, ...]
    cells: Callable[[Sequence[ExplainedNode]], list[tuple[str, ...]]]
    notes: tuple[str, ...] = ()


class Explanation(ShownAsText, str):
    """The text of `ds.explain()`, which a prompt shows with its lines."""

    __slots__ = ()


def explained(
    plan: Node, run: Node | None, applied: tuple[str, ...], measured: MeasuredRun | None = None
) -> Explanation:
    """Return the plan as written; and the plan as run, if rewrites changed it or with the figures of a run."""
    parts = ["as written:", *_table(_lines(plan))]
    if measured is not None:
        lines = _lines(run or plan)
        parts += [f"as run, {measured.where}:", *_beside(_table(lines), measured, measured.cells(lines))]
    elif applied and run is not None:
        parts += ["as run:", *_table(_lines(run))]
    parts.append(f"rewrites: {', '.join(dict.fromkeys(applied)) or 'none'}")
    parts += measured.notes if measured is not None else ()
    parts.append(_order(plan))
    parts += map(str, safety.calls.all_alone(post_order(run or plan)))
    return Explanation(displayable("\n".join(parts)))


def _order(plan: Node) -> str:
    streams = [node for node in post_order(plan) if not node.indexed]
    if not streams:
        nodes = (node for node in post_order(plan) if isinstance(node, MixesInPart))
        mixing = [f"{node.label()}: {mixing}" for node in nodes if (mixing := node.mixing())]
        return "\n".join(["order: indexed; any row can be made alone, and skipping costs nothing", *mixing])
    first = next(node for node in streams if not node.internal)
    order = f"order: a stream from {first.label()} on; a restored iterator makes the elements in its buffers again"
    repeating = (node for node in streams if isinstance(node, RepeatsWork))
    redone = [f"restored, {node.label()} {redone}" for node in repeating if (redone := node.redone())]
    return "\n".join([order, *redone])


def _lines(plan: Node) -> list[ExplainedNode]:
    lines: list[ExplainedNode] = []
    for node, depth in with_depth(plan):
        spec = node.spec()
        rows = {INFINITE: "endless", UNKNOWN: "?"}.get(node.length, f"{node.length:,}")
        lines += [line._replace(depth=line.depth + depth) for each in node.subplans[:1] for line in _lines(each)]
        if not node.internal:
            lines.append(ExplainedNode(depth, node.label(), rows, "?" if spec is None else describe(spec)))
    return lines


def _beside(table: list[str], measured: MeasuredRun, cells: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table with cells beside them, under a line with the names of the columns."""
    widths = [max(map(len, column)) for column in zip(measured.names, *cells, strict=True)]
    lines = [line for line in table if " × " in line]  # a long operation takes a line more
    wide = max(map(len, lines))
    beside = iter([_aligned(row, widths) for row in cells])
    told = [f"{line:<{wide}}  {next(beside)}".rstrip() if " × " in line else line for line in table]
    return [f"{'':<{wide}}  {_aligned(measured.names, widths)}", *told]


def _aligned(cells: Sequence[str], widths: list[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _table(lines: list[ExplainedNode]) -> list[str]:
    width = min(max(len(_operation(line)) for line in lines), _WIDEST)
    table: list[str] = []
    for line in lines:
        name, what = _operation(line), f"  {line.rows:>7} × {line.element}"
        table += [f"{name:<{width}}{what}"] if len(name) <= width else [name, f"{'':<{width}}{what}"]
    return table


def _operation(line: ExplainedNode) -> str:
    return "  " * (min(line.depth, DEEPEST_INDENT) + 1) + line.operation
