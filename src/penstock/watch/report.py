"""Stats of a run, combined from the counters and the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.core.budget import Budget
from penstock.engine.runs.run import Run, Totals
from penstock.engine.tasks.cost import Cost
from penstock.memory.limits import available_cores
from penstock.memory.pool import Memory
from penstock.plan import safety
from penstock.plan.graph import post_order
from penstock.watch.counters import Counters
from penstock.watch.counts import BYTES, CALLS, CPU, FAILED, GIVEN, ROWS, WALL, Cell, OperationCounters
from penstock.watch.leaks import MemoryGrowth
from penstock.watch.outlines import NodeOutline
from penstock.watch.stats import PLURALS, HeldStats, OperationStats, Stats
from penstock.watch.steps import NOT_BEGUN, StepTimes

NS = 1e-9


def stats_of(
    run: Run | None,
    counters: Counters,
    memory: Memory,
    items: int,
    times: tuple[int, int],
    growth: MemoryGrowth | None = None,
    steps: StepTimes = NOT_BEGUN,
    failure: str = "",
) -> Stats:
    """Return the stats of a run, possibly not begun or failed: `items` received; `times` waited and stepped (ns)."""
    workers = 1 if run is None or run.session.mode == "inline" else max(run.tuner.threads, 1)
    operations = _operations(counters)
    if run is not None and not run.plan.indexed:
        operations = _as_written(counters, operations)
    made, spent = (Totals(), Cost(0, 0)) if run is None else (run.made, run.session.spent)
    received = items / made.items if made.items else 0.0  # share of the items made
    return Stats(
        unit="element" if run is None else run.unit,
        items=items,
        rows=round(made.rows * received),
        waited=times[0] * NS,
        stepped=times[1] * NS,
        work=spent.wall * NS * received,
        blocked=spent.blocked * NS * received,
        starved=spent.starved * NS * received,
        workers=workers,
        cores=available_cores(),
        mode="not begun" if run is None else run.session.mode,
        chosen=run is not None and run.settings.executor != "auto",
        ahead=0 if run is None else run.pieces_ahead,
        live_bytes=memory.live_bytes,
        peak_bytes=memory.peak_bytes,
        holds_gil=run is not None and run.tuner.holds_gil,
        decisions=() if run is None else tuple(run.tuner.decisions),
        operations=operations,
        budget=0 if run is None else run.budget.limit_ahead,
        held=() if run is None else _held(run.budget),
        notes=() if run is None else tuple(run.budget.notes),
        growing=() if run is None or growth is None else growth.found(PLURALS[run.unit]),
        alone=() if run is None else tuple(map(str, safety.calls.all_alone(post_order(run.plan)))),
        events=() if run is None else tuple(run.session.events),
        starting=0.0 if run is None else run.session.starting * NS,
        fetched=counters.fetches.stats(),
        short=0 if run is None else run.budget.short,
        warm_up=min(steps.warm_up, times[0]) * NS,
        step_cpu=times[1] * steps.step_share * NS,
        cpu=steps.cpu * NS,
        contention=0.0 if run is None else run.session.contention,
        failure=failure,
        uneven=1.0 if run is None else run.tuner.unevenness,
        asked=0 if run is None or run.tuner.by_default else run.tuner.workers or 0,
        more_failed=run is not None and run.tuner.climb is not None and run.tuner.climb.more.follows_failure,
    )


def _held(budget: Budget) -> tuple[HeldStats, ...]:
    """Return what the parts of a run hold; those of one name together."""
    held: dict[tuple[str, str], HeldStats] = {}
    for account in list(budget.accounts):
        before = held.get((account.name, account.kind), HeldStats(account.name, account.kind, 0, 0))
        more = replace(before, bytes=before.bytes + account.nbytes, peak=before.peak + account.peak)
        held[account.name, account.kind] = more
    return tuple(held.values())


def _operations(counters: Counters) -> tuple[OperationStats, ...]:
    """Return the stats of each operation without the time of its inputs."""
    totals = {operation: operation.total() for operation in counters.operations}
    spent = _spent(totals)
    own: list[OperationStats] = []
    for operation, total in totals.items():
        inputs = [totals[each] for each in operation.inputs]
        cell = list(total)
        for at, below in ((WALL, 0), (CPU, 1)):
            if operation.contains_inputs:
                cell[at] -= sum(spent[each][below] for each in operation.inputs)
        given = sum(each[ROWS] for each in inputs) if inputs else cell[GIVEN]
        left_out = max(given - cell[ROWS], 0) if operation.node.traits.selects else 0
        reads = NodeOutline.of(operation.node).reads
        made = _stats(operation.node.label(), cell, left_out)
        own.append(replace(made, reads=reads, sequential=operation.sequential))
    return tuple(own)


def _spent(totals: dict[OperationCounters, Cell]) -> dict[OperationCounters, tuple[int, int]]:
    """Return the wall and CPU time of each operation including its inputs, which come before it."""
    spent: dict[OperationCounters, tuple[int, int]] = {}
    for operation, total in totals.items():
        below = [] if operation.contains_inputs else [spent[each] for each in operation.inputs]
        spent[operation] = total[WALL] + sum(wall for wall, _ in below), total[CPU] + sum(cpu for _, cpu in below)
    return spent


def _as_written(counters: Counters, operations: tuple[OperationStats, ...]) -> tuple[OperationStats, ...]:
    """Return the stats of each operation as written by the user, including its internal parts, which come before it."""
    written: list[OperationStats] = []
    parts: list[OperationStats] = []
    for operation, counted in zip(counters.operations, operations, strict=True):
        parts.append(counted)
        if not operation.node.internal:
            written.append(_together(parts))
            parts = []
    return *written, *parts


def _together(parts: list[OperationStats]) -> OperationStats:
    """Return the stats of the last of these operations, with the time of all; most of it tells who may run them."""
    longest = max(parts, key=lambda part: part.wall)
    sums: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts) for name in ("wall", "cpu", "wait", "left_out", "failed")
    }
    return replace(parts[-1], **sums, reads=any(part.reads for part in parts), sequential=longest.sequential)


def _stats(name: str, cell: Cell, left_out: int = 0) -> OperationStats:
    wall = cell[WALL] * NS
    cpu = min(max(cell[CPU] * NS, 0.0), wall)  # estimated from some calls
    wait = wall - cpu
    return OperationStats(name, cell[CALLS], cell[ROWS], wall, cpu, wait, cell[BYTES], left_out, cell[FAILED])
