"""The one thing to change next in a run, and the factor by which that raises the rate, from its counts."""

from __future__ import annotations

import math
from typing import NamedTuple

from penstock.core.verdicts import VerdictKind
from penstock.engine.tuning.long_tasks import LEAST_BEYOND, RARE
from penstock.engine.tuning.tuner import THREAD_PAYS
from penstock.watch.stats import PLURALS, OperationStats, Stats, percent
from penstock.watch.waits import (
    MOST_WAITING,
    busy_seconds,
    limited_by_turns,
    step_holds_gil,
    step_waits,
    waits_for_store,
)

BUSY_SHARE = 0.7  # share of the workers' time below which they are called idle
MUCH_STARVED = 0.3  # share of the time of tasks that other processes used the cores
GAIN_TOLD = 1.05  # gain
SMALL_GAIN = 1.5  # below which a second decimal counts
SMALL_READ = 1 << 14  # bytes of a read of a remote store, below which its latency is all of its cost
MANY_WORKERS = 32
HAND_OVER = 50e-6  # seconds that handing an item over from another thread takes
HANDED_OVER = 20_000  # items a second, to hand over which takes much of the time
TOLD_STARTING = 10.0  # seconds of a run from which on the start of processes is not worth a word
PROCESSES_HAVE = "the processes have"


class NextChange(NamedTuple):
    """A change in words, and the items per second that the pipeline could make after it (0 if nobody knows).

    It makes fewer than these `at_most` if hand-overs take time, or cores are less than whole ones. `until` tells when
    they begin, and `unless` what the counts do not tell and would keep the pipeline from making them.
    """

    words: str
    ceiling: float = 0.0
    at_most: bool = True
    until: str = ""
    unless: str = ""


def next_change(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange:
    """Return the one change to make next."""
    found = (advice(kind, limit, stats) for advice in NEXT_CHANGES)
    return next(filter(None, found), None) or _change_of_cores(limit, stats)


def gain_of(change: NextChange, stats: Stats) -> tuple[float, str]:
    """Return the factor that a change raises the rate by, and a sentence about it, empty if it is not worth one.

    The consumer's own step is a limit that no change of the pipeline moves, but for its waits for the GIL: a loop that
    waits for the share `w` of its time gains 1 / (1 - w) at most.
    """
    if not change.ceiling or not stats.items:
        return 1.0, ""
    alone = stats.stepped - step_waits(stats)
    of_step = stats.items / alone if alone else float("inf")
    gain = max(min(change.ceiling, of_step) / stats.steady_rate, 1.0)
    if gain < GAIN_TOLD:
        return gain, ""
    digits = (gain < SMALL_GAIN) + (gain < 10)
    times = f"{'up to' if change.at_most else 'about'} {gain:.{digits}f} times"
    then = "; then your own step is the limit" if of_step <= change.ceiling else ""
    that = f"Unless {change.unless}, that" if change.unless else "That"
    return gain, f" {that} should be {times} as fast{change.until}{then}."


def _of_all_cores(stats: Stats) -> float:
    """Return the items per second that all cores could make if no task waited; the consumer's steps use them too."""
    return stats.cores * stats.items / max(busy_seconds(stats) + stats.step_cpu, 1e-9)


def _once_started(stats: Stats, what: str) -> str:
    return f", once {what} started" if stats.seconds < TOLD_STARTING else ""


def _own_objects(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if kind == "gil" or (turns := limited_by_turns(stats)) is None:
        return None
    words = (
        f"{turns}. Give each call or each thread its own object (threading.local()), or pass thread_safe=True if "
        "several threads are safe."
    )
    made = min(_of_all_cores(stats), stats.asked * stats.steady_rate if stats.asked else math.inf)
    if stats.blocked < busy_seconds(stats):
        return NextChange(words, made, unless="its functions hold the GIL")
    return NextChange(words, made if stats.asked else 0.0)  # the run would choose the threads that wait at a time


def _own_process(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if kind != "gil" or not step_holds_gil(stats):
        return None
    share = stats.step_cpu / stats.seconds
    held = f"Your own step holds the GIL for {percent(share)} of the time, in which threads cannot call the functions"
    made = stats.items / max(stats.cpu - stats.step_cpu, 1e-9)  # a second, by one core
    if made * stats.step_cpu >= stats.items:
        words = f"{held}: let the pipeline run in a process of its own, with Options(isolate=True)."
        return NextChange(words, min(made, _of_all_cores(stats)), until=_once_started(stats, "the process has"))
    words = f"{held}: let processes call them, with Options(executor='processes')."
    return NextChange(words, _of_all_cores(stats), until=_once_started(stats, PROCESSES_HAVE))


def _here_again(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if not stats.chosen or stats.is_inline or busy_seconds(stats) >= HAND_OVER * stats.items or limit.sequential:
        return None
    those = PLURALS[stats.unit].capitalize()
    return NextChange(f"{those} this cheap cost less than their hand-over: Options(executor='auto') makes them inline.")


def _no_gil(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    words = (
        "Its functions hold the GIL, so more threads do not help: call them on whole columns with "
        "map(..., vectorized=True), or let processes call them, with Options(executor='processes')."
    )
    return (
        NextChange(words, _of_all_cores(stats), until=_once_started(stats, PROCESSES_HAVE)) if kind == "gil" else None
    )


def _more_memory(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if kind != "memory":
        return None
    top = stats.operations[-1]
    needed = (2 * stats.workers + 2) * top.bytes / max(top.rows, 1)  # an item made and one waiting for each worker
    to = f" to {needed / 1e6:,.0f} MB" if needed > GAIN_TOLD * stats.budget else ""
    words = (
        f"The memory budget of {stats.budget / 1e6:,.0f} MB has no room for more work ahead, so that workers are "
        f"idle: raise Options(memory_budget=){to}, or make batches smaller."
    )
    return NextChange(words, min(stats.ceiling, _of_all_cores(stats)))


def _not_inline(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if not stats.chosen or not stats.is_inline or stats.work * 1e9 < THREAD_PAYS * stats.items:
        return None
    words = "The run is inline, as configured: Options(executor='auto') may use other cores."
    return NextChange(words, _of_all_cores(stats))


def _fewer_others(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if stats.starved <= MUCH_STARVED * stats.work:
        return None
    share = stats.starved / stats.work
    words = f"Other processes used the cores for {percent(share)} of the time: check what else runs."
    return NextChange(words, stats.steady_rate / (1 - min(share, 0.9)))


def _less_in_order(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    words = (
        "It makes one element after another, in order: make it cheaper, or give it less to do (half, for example), by "
        "moving work into a map() after it."
    )
    return NextChange(words, _if_halved(limit, stats), at_most=False) if limit.sequential else None


def _any_order(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    waited = stats.waited - stats.warm_up
    idle = 1 - stats.work / (stats.workers * max(waited, 1e-9))  # or more, if workers were busy at other times too
    beyond = (stats.uneven - 1) * stats.work / stats.items
    holds_up = stats.uneven > RARE and beyond > LEAST_BEYOND * 1e-9
    if stats.is_inline or not holds_up or idle <= 1 - BUSY_SHARE or _waits_for_no_task(stats):
        return None
    words = (
        f"Workers are idle for at least {percent(idle)} of the time that the consumer waits, behind elements that take "
        "much longer than others: take elements as they come, with Options(deterministic=False), or even out what they "
        "cost."
    )
    return NextChange(words, min(stats.ceiling, _of_all_cores(stats)))


def _more_requests(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    fetched = stats.fetched
    if kind != "storage" or fetched is None or not waits_for_store(stats):
        return None
    rate = f", {fetched.rate / 1e6:,.0f} MB/s" if fetched.rate else ""
    more = "more would help, and follow by themselves" if fetched.rises else "more did not raise the rate"
    change = "Larger elements take fewer reads; later epochs read what the local cache kept."
    if (each := fetched.bytes / fetched.requests) < SMALL_READ:
        change = (
            f"A read has only {each:,.0f} bytes: let the local cache keep the files (cache_bytes in storage_options=), "
            "or read in order and shuffle(buffer_size)."
        )
    return NextChange(
        f"It waits for the store: {fetched.milliseconds:,.0f} ms a read, {fetched.at_once} at a time{rate}; {more}. "
        f"{change}"
    )


def _more_calls(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if kind != "storage" and stats.blocked <= MOST_WAITING * stats.work:
        return None
    waits, kept = "It mostly waits", ""
    if kind == "storage":
        waits, kept = "It mostly waits for its source", ", or keep what was read with cache()"
    many = max(stats.workers, 1)
    made = min(2 * stats.steady_rate, _of_all_cores(stats))
    if many >= MANY_WORKERS and made < GAIN_TOLD * stats.steady_rate:
        words = f"{waits}, and {many} calls at a time keep the GIL busy: let each call do more, such as read several"
        return NextChange(f"{words} elements{kept}.")
    if stats.more_failed:
        words = f"{waits}, and more calls at a time made no more when the run tried them: look for something that they"
        return NextChange(f"{words} share, such as a lock{kept}.")
    words = f"{waits}: more calls at a time hide that, with Options(workers={2 * many}){kept}."
    return NextChange(words, made, unless="the calls wait for each other, as for a lock")


NEXT_CHANGES = (
    *(
        _own_objects,
        _own_process,
        _here_again,
        _no_gil,
        _more_memory,
        _not_inline,
        _fewer_others,
        _less_in_order,
        _more_requests,
        _any_order,
        _more_calls,
    ),
)
"""Functions that return a change if it is the one to make; the first one counts."""


def _change_of_cores(limit: OperationStats, stats: Stats) -> NextChange:
    larger = "make batches larger" if stats.unit == "batch" else "take them in batches, with batch()"
    if stats.is_inline and stats.rate >= HANDED_OVER:
        return NextChange(f"Handing over {PLURALS[stats.unit]} takes much of the time: {larger}.")
    if stats.is_inline:
        words = (
            "Batches this cheap stay inline; functions of whole columns make them cheaper still: those of NumPy "
            "arithmetic alone, or map(..., vectorized=True)."
        )
        return NextChange(words)
    if _waits_for_no_task(stats):
        words = "All work takes less time than the consumer waits; the rest is hand-overs, or waits for a core"
        return NextChange(f"{words}: {larger}, or check what else runs.")
    if stats.workers < stats.cores:
        asked = f"Only {stats.workers} of {stats.cores:g} cores are requested"
        words = f"{asked}: raise Options(workers=) or num_parallel_calls."
        return NextChange(words, stats.ceiling * stats.cores / stats.workers)
    words = f"All {stats.cores:g} cores are busy: make the operation cheaper, or use more cores."
    return NextChange(f"{words[:-1]} (in half of its time, for example).", _if_halved(limit, stats), at_most=False)


def _waits_for_no_task(stats: Stats) -> bool:
    """Return whether tasks took much less time in all than the consumer waited: a wait for tasks is as long as one."""
    return stats.work < BUSY_SHARE * (stats.waited - stats.warm_up)


def _if_halved(limit: OperationStats, stats: Stats) -> float:
    """Return the items per second that the pipeline could make if the limiting operation took half of its time."""
    if limit.sequential:
        took = min(limit.wall, stats.steady_seconds)  # flows that several threads make at once take more together
        return stats.items / (stats.steady_seconds - took / 2)
    return stats.steady_rate / (1 - share_of(limit, stats) / 2)


def share_of(operation: OperationStats, stats: Stats) -> float:
    """Return the share of all work that an operation takes."""
    total = sum(each.wall for each in stats.operations)
    return operation.wall / total if total else 0.0
