"""A run's counts at one moment: plain numbers, safe to keep."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.watch.table import told


@dataclass(frozen=True)
class OperationStats:
    """What one operation took, without its inputs: seconds of wall and CPU time, and of waiting (their difference).

    `bytes`: of the leaves of its elements, text by its characters, `Ragged` and `Sparse` by their values; where they
    differ, about: one is looked at for several.

    `left_out`: elements that a `filter` did not let through (or `unique`, `rejection_resample`, a part of `split` by
    key); `failed`: those that failed and were left out or replaced, as `on_error=` or `ignore_errors()` said. Where
    elements are made again, as another of their task failed, they count again.
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
