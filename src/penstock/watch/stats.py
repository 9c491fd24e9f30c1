"""A run's counts at one moment: plain numbers, safe to keep; and a person's view of them, a line and a table."""

from __future__ import annotations

from dataclasses import dataclass

PLURALS = {"batch": "batches", "element": "elements"}
LONGEST = 64  # characters of an operation's name


@dataclass(frozen=True)
class OperationStats:
    """What one operation took, without its inputs: seconds of wall and CPU time, and of waiting (their difference).

    `bytes`: of the leaves of its elements, text by its characters, `Ragged` and `Sparse` by their values; where they
    differ, about: one is looked at for several.

    `left_out`: elements that a `filter` did not let through (or `unique`, `rejection_resample`, a part of `split` by
    key); `failed`: those that failed and were left out or replaced, as `on_error=` or `ignore_errors()` said. Where
    elements are made again, as another of their task failed, they count again.

    >>> it = Dataset.range(4).map(lambda x: 6 // (x - 1), on_error="skip").iterator()
    >>> len(list(it)), [(each.rows, each.failed) for each in it.stats().operations]
    (3, [(4, 0), (3, 1)])
    """

    name: str
    calls: int
    rows: int
    wall: float
    cpu: float
    wait: float
    bytes: int
    left_out: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Stats:
    """The counts of an iterator since it was made.

    - `items`: batches (or elements) received; `rows`: elements in them.
    - `waited`, `stepped`: seconds that the consumer spent inside `next` waiting, and outside it.
    - `work`: seconds of task time, over all workers; of it `blocked`, waiting for disks, sleeps or locks, and
      `starved`, ready but without a core, as other processes had it. `workers`: how many ran at a time; `mode`: where.
    - `ahead`: parcels under way; `live_bytes`, `peak_bytes`: memory of batches.
    - `alone`: the operations that one thread at a time calls, and why.
    - `decisions`: what the tuner chose, with its reasons; `holds_gil`: whether the functions were found to.
    - `operations`: from the sources up.

    As text, as by `print(it.stats())`, it is a table of the operations.

    >>> it = Dataset.range(10).batch(4).iterator()
    >>> batches = list(it)
    >>> stats = it.stats()
    >>> stats.items, stats.rows, stats.unit
    (3, 10, 'batch')
    """

    unit: str
    items: int
    rows: int
    waited: float
    stepped: float
    work: float
    blocked: float
    starved: float
    workers: int
    cores: float
    mode: str
    chosen: bool
    ahead: int
    live_bytes: int
    peak_bytes: int
    holds_gil: bool
    decisions: tuple[str, ...]
    operations: tuple[OperationStats, ...]
    alone: tuple[str, ...] = ()

    def __str__(self) -> str:
        return told(self)

    @property
    def seconds(self) -> float:
        """Time since the first item was asked for."""
        return self.waited + self.stepped

    @property
    def rate(self) -> float:
        """Items a second, as received."""
        return self.items / self.seconds if self.seconds else 0.0

    @property
    def ceiling(self) -> float:
        """Items a second that the pipeline could make for a consumer that never stops."""
        return self.workers * self.items / self.work if self.work else 0.0

    @property
    def wait_share(self) -> float:
        """The share of its time that the consumer waits."""
        return self.waited / self.seconds if self.seconds else 0.0

    @property
    def limit(self) -> OperationStats | None:
        """The operation that takes the most."""
        return max(self.operations, key=lambda operation: operation.wall, default=None)


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
