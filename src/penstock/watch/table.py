"""A run's counts as a person reads them: a line on the whole, and a table of the operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.watch.stats import OperationStats, Stats

PLURALS = {"batch": "batches", "element": "elements"}
LONGEST = 64  # characters of an operation's name


def told(stats: Stats) -> str:
    """What was received and how fast, and what each operation took."""
    rows = f", {stats.rows:,} rows" if stats.unit == "batch" else ""
    rates = f" ({rate(stats.rate)} {PLURALS[stats.unit]}/s)" if stats.items and stats.seconds else ""
    whole = f"{count(stats.items, stats.unit)}{rows} in {stats.seconds:.2f} s{rates}"
    table = operations_table(stats)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join([name.ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(cells, widths[1:], strict=True))])
        for name, *cells in table
    ]
    share = f"waited {stats.wait_share:.0%} of the time"
    shown = [line.rstrip() for line in lines] if stats.operations else []
    return "\n".join([f"{whole}; {stats.mode}; {share}", *shown])


def operations_table(stats: Stats) -> list[list[str]]:
    """What each operation took: rows, time of one row, how much of that was waiting, and its share of all the work.

    Where any left elements out, or was told what to do with those that fail, the last column says how many.
    """
    total = sum(operation.wall for operation in stats.operations)
    table = [["operation", "rows", "µs a row", "waiting", "share"]] + [
        [
            cut(operation.name, LONGEST),
            f"{operation.rows:,}",
            f"{operation.wall / operation.rows * 1e6:,.2f}" if operation.rows else "",
            f"{100 * operation.wait / operation.wall:.0f} %" if operation.wall > 0 else "",
            f"{100 * operation.wall / total:.0f} %" if total > 0 else "",
        ]
        for operation in stats.operations
    ]
    if any(operation.left_out or operation.failed for operation in stats.operations):
        table[0].append("left out")
        for row, operation in zip(table[1:], stats.operations, strict=True):
            row.append(_left_out(operation))
    return table


def cut(name: str, longest: int) -> str:
    """The name, or as much of it as fits, and a sign that there was more."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _left_out(operation: OperationStats) -> str:
    left_out = [f"{operation.left_out:,}"] if operation.left_out else []
    failed = [f"{operation.failed:,} failed"] if operation.failed else []
    return ", ".join(left_out + failed)


def count(number: int, unit: str) -> str:
    """`1 batch`, `1,234 batches`."""
    return f"{number:,} {unit if number == 1 else PLURALS[unit]}"


def rate(a_second: float) -> str:
    """Three digits at least, and no more after the point than that."""
    return f"{a_second:,.0f}" if a_second >= 100 else f"{a_second:.3g}"
