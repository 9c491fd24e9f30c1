"""The result of a run: its end, the time of each operation, and the verdict."""

from __future__ import annotations

from dataclasses import fields, replace

from penstock.cli.files.amounts import size
from penstock.cli.terminal import Terminal
from penstock.watch.stats import PLURALS, OperationStats, Stats, count, cut, operations_table, rate
from penstock.watch.verdict import verdict

_SUMS = ("items", "rows", "waited", "stepped", "work", "blocked", "starved")
SHORTEST = 16  # characters of an operation's name on any terminal


def report(stats: Stats, terminal: Terminal, ended: str, *, briefly: bool = False) -> None:
    """Print counts and, unless `briefly`, rates, a table of the operations and the verdict."""
    rows = f", {stats.rows:,} rows" if stats.unit == "batch" else ""
    terminal.show(f"{ended}: {count(stats.items, stats.unit)}{rows} in {stats.seconds:.2f} s.", 0)
    if briefly or not stats.items or not stats.seconds:
        return
    rates = [f"{rate(stats.items / stats.seconds)} {PLURALS[stats.unit]}/s"]
    if stats.unit == "batch":
        rates.append(f"{rate(stats.rows / stats.seconds)} rows/s")
    memory = f"; at most {size(stats.peak_bytes)} of batches" if stats.peak_bytes else ""
    terminal.show(f"{', '.join(rates)}; {stats.mode}{memory}.\n", 0)
    table = operations_table(stats)
    widest = terminal.width - sum(2 + max(map(len, column)) for column in list(zip(*table, strict=True))[1:])
    terminal.table([[cut(name, max(widest, SHORTEST)), *others] for name, *others in table], 0)
    terminal.show("", 0)
    terminal.say(verdict(stats), 0)


def added(done: Stats | None, now: Stats) -> Stats:
    """Return the counts of two passes over one dataset, one after the other; other values are the later ones."""
    if done is None or now.mode == "not begun":
        return done or now
    sums = {name: getattr(done, name) + getattr(now, name) for name in _SUMS}
    operations = tuple(map(_added_operation, done.operations, now.operations))
    return replace(now, **sums, operations=operations, peak_bytes=max(done.peak_bytes, now.peak_bytes))


def _added_operation(done: OperationStats, now: OperationStats) -> OperationStats:
    counts = [field.name for field in fields(OperationStats) if field.name != "name"]
    return replace(now, **{name: getattr(done, name) + getattr(now, name) for name in counts})
