"""A run's counts at one moment, as plain numbers, and their display as a line and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import watch
from penstock.core.blame import notes_of
from penstock.core.frozen import frozen
from penstock.core.shown import displayable
from penstock.engine.tuning.settings import ISOLATED

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.watch.fetches import FetchStats

PLURALS = {"batch": "batches", "element": "elements"}
LEAST_STARTING = 0.02
"""The seconds that the start of a process takes at least to be told."""
LEAST_STEADY = 0.1  # share of its time for which a run must be under way
_LONGEST = 64  # characters of an operation's name
_LONGEST_ERROR = 2000  # characters of a message


@frozen()
class OperationStats:
    """The time of one operation, without its inputs: seconds of wall and CPU time, and of waiting (their difference).

    `bytes` counts the leaves of its elements, text by its characters, `Ragged` and `Sparse` by their values; if
    elements differ, the number is an estimate from samples.

    `left_out` counts elements that a `filter` dropped (or `unique`, `rejection_resample`, a part of `split` by key);
    `failed` counts elements that failed and were left out or replaced, as `on_error=` or `ignore_errors()` requires. If
    elements are made again because another element of their task failed, they count again.

    `reads` is true of a source, and `sequential` of an operation that makes one element after another, which one thread
    at a time runs.

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
    reads: bool = False
    sequential: bool = False


@frozen()
class HeldStats:
    """The bytes that one part of a run holds, and the most that it has held.

    `kind` is `"ahead"` (elements made ahead), `"buffer"` (elements that the order needs, or keys) or `"cache"`.
    """

    name: str
    kind: str
    bytes: int
    peak: int


@frozen(repr=False)
class Stats:
    """The counts of an iterator since it was made.

    - `items`: the batches (or elements) received. `rows`: the elements in them.
    - `waited`, `stepped`: the seconds that the consumer spent waiting inside `next`, and outside it.
    - `starting`: the part of `waited` until the process of an isolated run had started, most of it in the first epoch.
    - `warm_up`: the part of `waited` until the first item was made and all workers had started.
    - `cpu`: the seconds of CPU time of this process. `step_cpu`: the part that the consumer used outside `next`.
    - `contention`: a lower bound of the share of time that a worker thread which wants the GIL waits for another.
    - `work`: the seconds of task time, over all workers. `blocked`: the part spent waiting for disks, sleeps or locks.
      `starved`: the part in which tasks were ready but had no core, because other processes used it.
    - `mode`: where tasks ran (`"isolated: 2 threads"`: in a process of the pipeline's own).
    - `workers`: the number of workers. `asked`: the number of workers requested, or 0 if Penstock chooses.
      `more_failed`: whether Penstock recently tried more workers without a gain.
    - `ahead`: the tasks under way. `live_bytes`, `peak_bytes`: the memory of batches.
    - `alone`: the operations that one thread at a time calls, with the reason.
    - `uneven`: the cost of the second-longest recent task, as a multiple of the mean cost.
    - `decisions`: the tuner's choices, with reasons. `holds_gil`: whether the functions were found to hold the GIL.
    - `events`: incidents of the run, such as workers that died or waits without end.
    - `operations`: the counts of each operation, from the sources up.
    - `budget`: the bytes of `Options(memory_budget=)`. `held`: the bytes of it that each part of the current run holds.
      `notes`: what the run could not do within the budget. `short`: how often work ahead found no room in it.
    - `growing`: memory that keeps growing during the run, with figures: objects that functions refer to, batches that
      the consumer keeps, keys and groups.
    - `fetched`: requests to remote stores, those of worker processes included; `None` if there were none.
    - `failure`: the error that ended the run, with the operation and the row; empty if none did.

    As text, `it.stats()` is a table of the operations; in a notebook, each has a bar.

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
    events: tuple[RunEvent, ...] = ()
    budget: int = 0
    held: tuple[HeldStats, ...] = ()
    notes: tuple[str, ...] = ()
    growing: tuple[str, ...] = ()
    starting: float = 0.0
    fetched: FetchStats | None = None
    short: int = 0
    warm_up: float = 0.0
    step_cpu: float = 0.0
    cpu: float = 0.0
    contention: float = 0.0
    failure: str = ""
    uneven: float = 1.0
    asked: int = 0
    more_failed: bool = False

    def __repr__(self) -> str:
        return displayable(stats_text(self))

    def _repr_html_(self) -> str:
        frame = watch.notebook.frame
        return frame.never_failing(lambda: watch.notebook.counts.stats_html(self), lambda: repr(self))

    @property
    def isolated(self) -> bool:
        """Return whether the whole pipeline ran in a process of its own, as `Options(isolate=True)` asks for."""
        return self.mode.startswith(ISOLATED)

    @property
    def is_inline(self) -> bool:
        """Return whether tasks ran one after another, in the thread that asks for them."""
        return self.mode.removeprefix(ISOLATED) == "inline"

    @property
    def seconds(self) -> float:
        """Return the time since the first item was requested."""
        return self.waited + self.stepped

    @property
    def rate(self) -> float:
        """Return the items per second received."""
        return self.items / self.seconds if self.seconds else 0.0

    @property
    def ceiling(self) -> float:
        """Return the items per second that the pipeline could make for a consumer that never stops.

        The work until the first item counts, since that of a shuffle buffer that fills then is for later items.
        """
        made = self.workers * self.items / self.work if self.work else 0.0
        return max(made, self.steady_rate)  # also if there were more workers before than now

    @property
    def wait_share(self) -> float:
        """Return the share of its time that the consumer waits."""
        return self.waited / self.seconds if self.seconds else 0.0

    @property
    def steady_seconds(self) -> float:
        """Return the time for which the run was under way, or all of its time if that lasted no moment."""
        seconds = self.seconds - self.warm_up
        return seconds if seconds > LEAST_STEADY * self.seconds else self.seconds

    @property
    def steady_share(self) -> float:
        """Return the share of its time that the consumer waits once the run is under way."""
        return max(1 - self.stepped / self.steady_seconds, 0.0) if self.seconds else 0.0

    @property
    def steady_rate(self) -> float:
        """Return the items per second received once the run is under way."""
        return self.items / self.steady_seconds if self.seconds else 0.0

    @property
    def limit(self) -> OperationStats | None:
        """Return the operation that limits the run, if any: the one that takes the most time of those who run it."""
        return max(self.operations, key=self.occupied, default=None)

    def occupied(self, operation: OperationStats) -> float:
        """Return the seconds for which an operation occupies all those who may run it: one thread, or all workers."""
        return operation.wall / (1 if operation.sequential else max(self.workers, 1))


def stats_text(stats: Stats) -> str:
    """Return a text of the items received, their rate, and the time of each operation."""
    rows = f", {stats.rows:,} rows" if stats.unit == "batch" else ""
    rates = f" ({rate(stats.rate)} {PLURALS[stats.unit]}/s)" if stats.items and stats.seconds else ""
    whole = f"{count(stats.items, stats.unit)}{rows} in {stats.seconds:.2f} s{rates}"
    table = operations_table(stats)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join([name.ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(cells, widths[1:], strict=True))])
        for name, *cells in table
    ]
    share = f"waited {100 * stats.wait_share:.0f} % of the time"
    if stats.starting > LEAST_STARTING:
        share += f", {stats.starting:.2f} s of it for the start of the process"
    shown = [line.rstrip() for line in lines] if stats.operations else []
    memory = [f"memory grows: {each}" for each in stats.growing] + [f"memory: {each}" for each in stats.notes]
    remote = [] if stats.fetched is None else [f"storage: {stats.fetched}"]
    failed = [f"failed: {stats.failure}"] if stats.failure else []
    return "\n".join([f"{whole}; {stats.mode}; {share}", *shown, *remote, *memory, *failed])


def failure_text(error: BaseException) -> str:
    r"""Return an error with its notes, in a line each.

    >>> error = ValueError("no good")
    >>> error.add_note("in map(f), at row 3")
    >>> failure_text(error)
    'ValueError: no good\nin map(f), at row 3'
    """
    try:
        message = str(error)[:_LONGEST_ERROR]
    except Exception:  # noqa: BLE001 - of any exception of the user's
        message = ""
    name = type(error).__name__
    return "\n".join([f"{name}: {message}" if message else name, *map(str, notes_of(error))])


def operations_table(stats: Stats) -> list[list[str]]:
    """Return a row for each operation: rows, time per row, the share of it spent waiting, and its share of all work.

    If any operation left elements out, or has a policy for failures, the last column has the number.
    """
    total = sum(operation.wall for operation in stats.operations)
    table = [["operation", "rows", "µs a row", "waiting", "share"]] + [
        [
            cut(name, _LONGEST),
            f"{operation.rows:,}",
            f"{operation.wall / operation.rows * 1e6:,.2f}" if operation.rows else "",
            f"{100 * operation.wait / operation.wall:.0f} %" if operation.wall > 0 else "",
            f"{100 * operation.wall / total:.0f} %" if total > 0 else "",
        ]
        for name, operation in zip(names(stats.operations), stats.operations, strict=True)
    ]
    if any(operation.left_out or operation.failed for operation in stats.operations):
        table[0].append("left out")
        for row, operation in zip(table[1:], stats.operations, strict=True):
            row.append(_left_out(operation))
    return table


def names(operations: tuple[OperationStats, ...]) -> list[str]:
    """Return the names of operations; the second of one name is `"map(f) 2"`."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for each in operations:
        seen[each.name] = number = seen.get(each.name, 0) + 1
        found.append(each.name if number == 1 else f"{each.name} {number}")
    return found


def cut(name: str, longest: int) -> str:
    """Return the name, shortened to `longest` characters with a sign of omission."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def cut_inside(name: str, longest: int) -> str:
    """Return the name, shortened to its beginning and, twice as long, its end: the end of a path tells files apart.

    >>> cut_inside("/data/photos/2024/cat 17.jpg", 20)
    '/data/…24/cat 17.jpg'
    """
    kept = longest - 1
    return name if len(name) <= longest else f"{name[: kept // 3]}…{name[-(kept - kept // 3) :]}"


def _left_out(operation: OperationStats) -> str:
    left_out = [f"{operation.left_out:,}"] if operation.left_out else []
    failed = [f"{operation.failed:,} failed"] if operation.failed else []
    return ", ".join(left_out + failed)


def count(number: int, unit: str) -> str:
    """Return a number with its unit: `1 batch`, `1,234 batches`."""
    return f"{number:,} {unit if number == 1 else PLURALS[unit]}"


def percent(share: float) -> str:
    """Return a share in percent, with one decimal if it is small.

    >>> percent(0.5), percent(0.0123)
    ('50 %', '1.2 %')
    """
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def rate(a_second: float) -> str:
    """Return a rate with at least three digits, and no more decimals than needed for that."""
    return f"{a_second:,.0f}" if a_second >= 100 else f"{a_second:.3g}"
