"""The limit of a run as text: who waits, how long, for which operation, what to change, and what that is worth."""

from __future__ import annotations

from functools import partial

from penstock.core.verdicts import Verdict, VerdictKind
from penstock.engine.tuning.settings import ISOLATED
from penstock.watch.changes import BUSY_SHARE, gain_of, next_change, share_of
from penstock.watch.stats import LEAST_STARTING, OperationStats, Stats, names, percent
from penstock.watch.waits import (
    MOST_WAITING,
    limited_by_turns,
    slows_the_step,
    step_waits,
    waits_for_gil,
    waits_for_store,
)

LEAST_SECONDS = 0.05
MUCH_STARTING = 0.3  # share of the time waited from which on the start of a process is told
TOLD_APART = 0.01  # difference of that share with and without the start of the run
INPUT_BOUND = 0.05  # share of its time that a consumer waits before the input is called the limit
OFTEN_SHORT = 0.3  # times per item that work ahead found no room in the memory budget
KIND_NAMES: dict[VerdictKind, str] = {
    "input": "Input-bound",
    "storage": "Storage-bound",
    "gil": "GIL-bound",
    "memory": "Memory-bound",
}


def verdict(stats: Stats) -> Verdict:
    """Return what limits the run that `stats` counted, whether memory grows, and the last event, if any."""
    growing = "".join(f" Memory grows: {each}." for each in stats.growing)
    found = _limit(stats)
    limit_of = found + _start(stats) + growing
    if not stats.events:
        return found.reworded(limit_of)
    lines = str(stats.events[-1]).splitlines()
    last = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1].strip()}"  # without the middle of a stack
    number = len(stats.events)
    return found.reworded(
        f"{limit_of} {'The event' if number == 1 else f'The last of {number} events'} of the run: {last}."
    )


def verdict_kind(stats: Stats) -> VerdictKind:
    """Return the kind of limit."""
    limit = stats.limit
    hardly_waits = stats.steady_share < INPUT_BOUND
    is_early = stats.items == 0 or (stats.items == 1 and (hardly_waits or stats.stepped > stats.waited))
    if is_early or limit is None or stats.seconds < LEAST_SECONDS:  # one step may not be a loop
        return "early"
    if hardly_waits:
        return "gil" if slows_the_step(stats) else "step"
    return _kind_of_input(limit, stats)


def _kind_of_input(limit: OperationStats, stats: Stats) -> VerdictKind:
    if stats.holds_gil or waits_for_gil(stats):
        return "gil"
    if limited_by_turns(stats) is not None:
        return "input"
    if stats.short >= OFTEN_SHORT * stats.items and stats.work < BUSY_SHARE * stats.workers * stats.seconds:
        return "memory"
    if waits_for_store(stats):
        return "storage"
    return "storage" if limit.reads and limit.wait > MOST_WAITING * limit.wall else "input"


def _limit(stats: Stats) -> Verdict:
    kind, limit = verdict_kind(stats), stats.limit
    if kind == "early" or limit is None:
        return Verdict(f"Too early to say: {_count(stats.items, stats.unit)} in {stats.seconds:.2f} s.")
    behind = _next_limit(stats, limit)
    named = dict(zip(map(id, stats.operations), names(stats.operations), strict=True))
    name, following = named[id(limit)], "" if behind is None else named[id(behind)]
    its_ceiling = ceiling_of(limit, stats)
    verdict = partial(
        Verdict,
        kind=kind,
        operation=name,
        operation_ceiling=its_ceiling,
        next_operation=following,
        ceiling=stats.ceiling,
    )
    if kind == "step":
        text = (
            f"Step-bound: {_waiting(stats)}. "
            f"It took {_rate(stats.steady_rate, stats.unit)}; the pipeline could make "
            f"{_rate(stats.ceiling, stats.unit)} ({_where(stats)}), then limited by {name}."
        )
        return verdict(text)
    change = next_change(kind, limit, stats)
    gain, promised = gain_of(change, stats)
    text = (
        f"{KIND_NAMES[kind]}: {_waiting(stats)}. "
        f"The limit is {name}, with {percent(share_of(limit, stats))} of the work; "
        f"its ceiling is {_rate(its_ceiling, stats.unit)} ({_where(stats)})"
    )
    if behind is not None:
        text += f", and the next limit is {following}, at {_rate(ceiling_of(behind, stats), stats.unit)}"
    return verdict(f"{text}. {change.words}{promised}", change=change.words, gain=gain)


def _waiting(stats: Stats) -> str:
    """Return how much of its time the consumer waited, after the start if that makes a difference."""
    words = f"the consumer waited {percent(stats.steady_share)} of the time"
    if stats.wait_share - stats.steady_share >= TOLD_APART:
        words = f"{words} since the run was under way, {stats.warm_up:.2g} s after its start"
    if waits := step_waits(stats):
        words = f"{words}; its step, for the GIL, up to {percent(waits / stats.steady_seconds)}"
    return words


def _next_limit(stats: Stats, limit: OperationStats) -> OperationStats | None:
    """Return the operation that would limit the run without the limiting one."""
    others = [each for each in stats.operations if each is not limit and each.wall > 0]
    return max(others, key=stats.occupied, default=None)


def _start(stats: Stats) -> str:
    """Return how long the start of a process took, if that is much of the time that the consumer waited."""
    if stats.starting < max(LEAST_STARTING, MUCH_STARTING * stats.waited):
        return ""
    return f" It waited {stats.starting:.2f} s for the start of the process, which later epochs use again."


def ceiling_of(operation: OperationStats, stats: Stats) -> float:
    """Return the items of the run per second that an operation allows, if the workers did nothing else."""
    occupied = stats.occupied(operation)
    if not occupied or any(operation.name in turns for turns in stats.alone):  # which wait for their turn in that time
        return stats.steady_rate
    items = max(stats.operations[-1].rows, stats.items)  # made, some of which may not have been received yet
    return max(items / occupied, stats.steady_rate)


def _where(stats: Stats) -> str:
    where = "in a process of its own" if stats.isolated else ""
    workers = stats.mode.removeprefix(ISOLATED)
    return " ".join(filter(None, [workers if stats.is_inline else f"on {workers}", where]))


def _rate(rate: float, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{rate:,.0f} {plural}/s" if rate >= 10 else f"{rate:.2g} {plural}/s"


def _count(number: int, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{number} {unit if number == 1 else plural}"
