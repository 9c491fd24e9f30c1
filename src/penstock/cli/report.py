"""What a run came to: how it ended, what each operation took, and the verdict."""

from __future__ import annotations

from dataclasses import fields, replace

from penstock.cli.files.amounts import size
from penstock.cli.terminal import Terminal
from penstock.watch.stats import OperationStats, Stats
from penstock.watch.verdict import verdict

SUMS = ("items", "rows", "waited", "stepped", "work", "blocked", "starved")
PLURALS = {"batch": "batches", "element": "elements"}
LONGEST = 64  # characters of an operation's name
SHORTEST = 16  # those that it has also on a narrow terminal


def report(stats: Stats, terminal: Terminal, ended: str, *, briefly: bool = False) -> None:
    """Print counts and, unless `briefly`, rates, a table of the operations and the verdict."""
    rows = f", {stats.rows:,} rows" if stats.unit == "batch" else ""
    terminal.show(f"{ended}: {count(stats.items, stats.unit)}{rows} in {stats.seconds:.2f} s.", 0)
    if briefly or not stats.items or not stats.seconds:
        return
    rates = [f"{rate(stats.items / stats.seconds)} {PLURALS[stats.unit]}/s"]
    if stats.unit == "batch":
        rates.append(f"{rate(stats.rows / stats.seconds)} rows/s")
    terminal.show(f"{', '.join(rates)}; {stats.mode}; at most {size(stats.peak_bytes)} of batches.\n", 0)
    table = operations_table(stats)
    widest = terminal.width - sum(2 + max(map(len, column)) for column in list(zip(*table, strict=True))[1:])
    terminal.table([[_cut(name, max(widest, SHORTEST)), *others] for name, *others in table], 0)
    terminal.show("", 0)
    terminal.say(verdict(stats), 0)


def operations_table(stats: Stats) -> list[list[str]]:
    """What each operation took: rows, time of one row, how much of that was waiting, and its share of all the work.

    Where any left elements out, or was told what to do with those that fail, the last column says how many.
    """
    total = sum(operation.wall for operation in stats.operations)
    table = [["operation", "rows", "µs a row", "waiting", "share"]] + [
        [
            _cut(operation.name, LONGEST),
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


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _left_out(operation: OperationStats) -> str:
    left_out = [f"{operation.left_out:,}"] if operation.left_out else []
    failed = [f"{operation.failed:,} failed"] if operation.failed else []
    return ", ".join(left_out + failed)


def added(done: Stats | None, now: Stats) -> Stats:
    """The counts of two passes over one dataset, one after the other; what is no count is the later one's."""
    if done is None or now.mode == "not begun":
        return done or now
    sums = {name: getattr(done, name) + getattr(now, name) for name in SUMS}
    operations = tuple(map(_added_operation, done.operations, now.operations))
    return replace(now, **sums, operations=operations, peak_bytes=max(done.peak_bytes, now.peak_bytes))


def _added_operation(done: OperationStats, now: OperationStats) -> OperationStats:
    counts = [field.name for field in fields(OperationStats) if field.name != "name"]
    return replace(now, **{name: getattr(done, name) + getattr(now, name) for name in counts})


def count(number: int, unit: str) -> str:
    """`1 batch`, `1,234 batches`."""
    return f"{number:,} {unit if number == 1 else PLURALS[unit]}"


def rate(a_second: float) -> str:
    """Three digits at least, and no more after the point than that."""
    return f"{a_second:,.0f}" if a_second >= 100 else f"{a_second:.3g}"
