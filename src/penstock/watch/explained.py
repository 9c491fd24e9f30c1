"""The figures of a run, for the explanation of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.plan.explain import MeasuredRun
from penstock.watch.stats import count

if TYPE_CHECKING:
    from penstock.plan.explain import ExplainedNode
    from penstock.watch.stats import OperationStats, Stats

FIGURES = ("rows made", "µs a row", "share", "bytes a row")


def measured_run(stats: Stats) -> MeasuredRun:
    """Return the figures of a run: for each operation its rows, their cost, share of the work, and bytes."""
    notes = [f"tuner: {decision}" for decision in stats.decisions]
    notes += [f"event: {event}" for event in stats.events]
    return MeasuredRun(
        f"{stats.mode}; {count(stats.items, stats.unit)}",
        FIGURES,
        lambda lines: _cells(lines, stats.operations),
        tuple(notes),
    )


def _cells(lines: Sequence[ExplainedNode], operations: Sequence[OperationStats]) -> list[tuple[str, ...]]:
    """Return the figures of the operation of each line; the time of its parts, which come before it, is its own."""
    total = sum(operation.wall for operation in operations)
    cells = [("",) * len(FIGURES)] * len(lines)
    at, wall = 0, 0.0
    for operation in operations:
        wall += operation.wall
        found = next((at + more for more, line in enumerate(lines[at:]) if line.operation == operation.name), None)
        if found is not None:
            cells[found] = _figures(replace(operation, wall=wall), total)
            at, wall = found + 1, 0.0
    return cells


def _figures(operation: OperationStats, total: float) -> tuple[str, ...]:
    rows = operation.rows
    return (
        f"{rows:,}",
        f"{operation.wall / rows * 1e6:,.2f}" if rows else "",
        f"{100 * operation.wall / total:.0f} %" if total > 0 else "",
        f"{operation.bytes / rows:,.0f}" if rows else "",
    )
