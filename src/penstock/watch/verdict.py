"""The limit of a run as text: who waits, how long, for which operation, what to change, and what that is worth."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from penstock.core.verdicts import Verdict, VerdictKind
from penstock.engine.runs.settings import ISOLATED
from penstock.engine.tasks.cost import WANTED
from penstock.plan.safety.calls import HERE
from penstock.watch.stats import LEAST_STARTING, PLURALS, OperationStats, Stats, percent

LEAST_SECONDS = 0.05
MUCH_STARTING = 0.3  # share of the time waited from which on the start of a process is told
TOLD_APART = 0.01  # difference of that share with and without the start of the run
INPUT_BOUND = 0.05  # share of its time that a consumer waits before the input is called the limit
MOST_WAITING = 0.5  # share of an operation's time, or of all tasks', that it waits
OFTEN_SHORT = 0.3  # times per item that work ahead found no room in the memory budget
BUSY_SHARE = 0.7  # share of the workers' time below which they are called idle
MUCH_STARVED = 0.3  # share of the time of tasks that other processes used the cores
GAIN_TOLD = 1.05  # gain
ONE_AT_A_TIME = 1.3  # cores that a process that waits for the GIL uses at most, with those it had to leave to others
LEAST_HELD = 0.3  # cores that a process uses at least in which threads wait for the GIL: one of them holds it
STEP_WITHOUT_CORE = 0.2  # share of a step without a core, if it waits for the GIL
SMALL_READ = 1 << 14  # bytes of a read of a remote store, below which its latency is all of its cost
WORKING = 0.3  # share of a step with a core, below which it is taken to wait for a device
HOLDING = 0.4  # share of the CPU time of the process that the step takes, from which it is named for holding the GIL
LEAST_WAITING = 0.1  # share of the time of tasks that they wait, if some function holds the GIL
EXPLAINED = 0.5  # ratio of waits for the GIL to all waits of tasks, below which tasks wait for something else
MANY_WORKERS = 32
HANDED_OVER = 20_000  # items a second, to hand over which takes much of the time
UNEVEN_COSTS = 4  # ratio of the longest task to the mean, above which slow tasks hold up others
KIND_NAMES: dict[VerdictKind, str] = {
    "input": "Input-bound",
    "storage": "Storage-bound",
    "gil": "GIL-bound",
    "memory": "Memory-bound",
}


class NextChange(NamedTuple):
    """A change in words, and the items per second that the pipeline could make after it (0 if nobody knows)."""

    words: str
    ceiling: float = 0.0


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
    is_early = stats.items == 0 or (stats.items == 1 and stats.stepped > stats.waited)  # no step of a loop, perhaps
    if is_early or limit is None or stats.seconds < LEAST_SECONDS:
        return "early"
    if stats.steady_share < INPUT_BOUND:
        return "gil" if _slows_the_step(stats) else "step"
    return "input" if _limited_by_turns(stats) is not None else _kind_of_input(limit, stats)


def _kind_of_input(limit: OperationStats, stats: Stats) -> VerdictKind:
    if stats.holds_gil or _waits_for_gil(stats):
        return "gil"
    if stats.short >= OFTEN_SHORT * stats.items and stats.work < BUSY_SHARE * stats.workers * stats.seconds:
        return "memory"
    if _waits_for_store(stats):
        return "storage"
    return "storage" if limit.reads and limit.wait > MOST_WAITING * limit.wall else "input"


def _waits_for_gil(stats: Stats) -> bool:
    """Return whether worker threads wait for the GIL, so that all threads together use no more than one core.

    Tasks that are blocked far more often than a thread that wants the GIL has to wait for it are not blocked by the
    GIL: many threads that sleep, or read, keep a core busy with their Python code alone.
    """
    used = (stats.cpu + stats.starved) / stats.seconds
    is_held = stats.cpu >= LEAST_HELD * stats.seconds  # not if functions sleep, whatever other processes do
    wanted = max(WANTED, EXPLAINED * stats.blocked / stats.work if stats.work else 0.0)
    waits = stats.work - _busy(stats) >= LEAST_WAITING * stats.work
    return stats.cores > ONE_AT_A_TIME > used and is_held and waits and stats.contention >= wanted


def _slows_the_step(stats: Stats) -> bool:
    """Return whether the consumer's own step waits for the GIL, which worker threads hold meanwhile."""
    share = stats.step_cpu / stats.stepped if stats.stepped else 1.0
    return _waits_for_gil(stats) and WORKING <= share <= 1 - STEP_WITHOUT_CORE


def _step_holds_gil(stats: Stats) -> bool:
    """Return whether the consumer's step is what worker threads wait for, and not only each other."""
    return _waits_for_gil(stats) and stats.step_cpu >= HOLDING * stats.cpu


def _waits_for_store(stats: Stats) -> bool:
    """Return whether tasks mostly wait, and most of the time for a remote store."""
    fetched = stats.fetched
    if fetched is None or not fetched.requests:
        return False
    return stats.blocked >= MOST_WAITING * stats.work and fetched.waited >= MOST_WAITING * stats.waited


def _limit(stats: Stats) -> Verdict:
    kind, limit = verdict_kind(stats), stats.limit
    if kind == "early" or limit is None:
        return Verdict(f"Too early to say: {_count(stats.items, stats.unit)} in {stats.seconds:.2f} s.")
    behind = _next_limit(stats, limit)
    following = "" if behind is None else behind.name
    its_ceiling = ceiling_of(limit, stats)
    verdict = partial(
        Verdict,
        kind=kind,
        operation=limit.name,
        operation_ceiling=its_ceiling,
        next_operation=following,
        ceiling=stats.ceiling,
    )
    if kind == "step":
        text = (
            f"Step-bound: {_waiting(stats)}. "
            f"It took {_rate(stats.rate, stats.unit)}; the pipeline could make {_rate(stats.ceiling, stats.unit)} "
            f"({_where(stats)}), then limited by {limit.name}."
        )
        return verdict(text)
    change = _change(kind, limit, stats)
    gain, then = _gain(change, stats)
    text = (
        f"{KIND_NAMES[kind]}: {_waiting(stats)}. "
        f"The limit is {limit.name}, with {percent(_share(limit, stats))} of the work; "
        f"its ceiling is {_rate(its_ceiling, 'row')} ({_where(stats)})"
    )
    if behind is not None:
        text += f", and the next limit is {behind.name}, at {_rate(ceiling_of(behind, stats), 'row')}"
    text += f". {change.words}"
    if gain >= GAIN_TOLD:
        text += f" That should be {_times(gain)} as fast{then}."
    return verdict(text, change=change.words, gain=gain)


def _waiting(stats: Stats) -> str:
    """Return how much of its time the consumer waited, after the start if that makes a difference."""
    words = f"the consumer waited {percent(stats.steady_share)} of the time"
    if stats.wait_share - stats.steady_share < TOLD_APART:
        return words
    return f"{words} since the run was under way, {stats.warm_up:.2g} s after its start"


def _next_limit(stats: Stats, limit: OperationStats) -> OperationStats | None:
    """Return the operation that would limit the run without the limiting one."""
    others = [each for each in stats.operations if each is not limit and each.wall > 0]
    return max(others, key=stats.occupied, default=None)


def _gain(change: NextChange, stats: Stats) -> tuple[float, str]:
    """Return the factor that a change raises the rate by, and the limit after it, in words.

    The consumer's own step is a limit that no change of the pipeline moves.
    """
    if not change.ceiling or not stats.rate:
        return 1.0, ""
    alone = stats.step_cpu if _step_holds_gil(stats) else stats.stepped
    of_step = stats.items / alone if alone else float("inf")
    gain = min(change.ceiling, of_step) / stats.rate
    return max(gain, 1.0), "; then your own step is the limit" if of_step <= change.ceiling else ""


def _start(stats: Stats) -> str:
    """Return how long the start of a process took, if that is much of the time that the consumer waited."""
    if stats.starting < max(LEAST_STARTING, MUCH_STARTING * stats.waited):
        return ""
    return f" It waited {stats.starting:.2f} s for the start of the process, which later epochs use again."


def _change(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange:
    """Return the one change to make next."""
    found = (advice(kind, limit, stats) for advice in NEXT_CHANGES)
    return next(filter(None, found), None) or _change_of_cores(limit, stats)


def _busy(stats: Stats) -> float:
    """Return the seconds for which tasks used a core, or were ready to; in threads, no more than their process did.

    Of tasks that wait for the GIL, those measured in full have just been given it, and seem to wait less than others.
    """
    busy = stats.work - stats.blocked
    if not stats.cpu or stats.isolated or not (stats.is_inline or stats.mode.endswith(("thread", "threads"))):
        return busy
    return min(busy, max(stats.cpu - stats.step_cpu, 0.0) + stats.starved)


def _of_one_core(stats: Stats) -> float:
    """Return the items per second that one core could make, if no task waited."""
    return stats.items / max(_busy(stats), 1e-9)


def _own_objects(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if (turns := _limited_by_turns(stats)) is None:
        return None
    words = (
        f"{turns}. Give each call or each thread its own object (threading.local()), or pass thread_safe=True if "
        "several threads are safe."
    )
    return NextChange(words, stats.cores * _of_one_core(stats))


def _own_process(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if kind != "gil" or not _step_holds_gil(stats):
        return None
    share = stats.step_cpu / stats.seconds
    held = f"Your own step holds the GIL for {percent(share)} of the time, in which threads cannot call the functions"
    made = stats.items / max(stats.cpu - stats.step_cpu, 1e-9)  # a second, by one core
    if made * stats.step_cpu >= stats.items:
        words = f"{held}: let the pipeline run in a process of its own, with Options(isolate=True)."
        return NextChange(words, made)
    words = f"{held}: let processes call them, with Options(executor='processes')."
    return NextChange(words, stats.cores * made)


def _no_gil(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    words = (
        "Its functions hold the GIL, so more threads do not help: call them on whole columns with "
        "map(..., vectorized=True), or let processes call them, with Options(executor='processes')."
    )
    return NextChange(words, stats.cores * _of_one_core(stats)) if kind == "gil" else None


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
    return NextChange(words, min(stats.ceiling, stats.cores * _of_one_core(stats)))


def _not_inline(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    words = "The run is inline, as configured: Options(executor='auto') may use other cores."
    return NextChange(words, stats.cores * _of_one_core(stats)) if stats.chosen and stats.is_inline else None


def _fewer_others(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    if stats.starved <= MUCH_STARVED * stats.work:
        return None
    share = stats.starved / stats.work
    words = f"Other processes used the cores for {percent(share)} of the time: check what else runs."
    return NextChange(words, stats.rate / (1 - min(share, 0.9)))


def _less_in_order(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    words = (
        "It makes one element after another, in order: make it cheaper, or give it less to do, by moving work into a "
        "map() after it."
    )
    return NextChange(words, _if_halved(limit, stats)) if limit.sequential else None


def _any_order(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    busy_while_waited = stats.work / (stats.workers * max(stats.waited - stats.warm_up, 1e-9))  # if at no other time
    if stats.is_inline or stats.uneven < UNEVEN_COSTS or busy_while_waited >= BUSY_SHARE:
        return None
    idle = 1 - stats.work / (stats.workers * stats.seconds)
    words = (
        f"Workers are idle for {percent(idle)} of the time, behind elements that take much longer than others: take "
        "elements as they come, with Options(deterministic=False), or even out what they cost."
    )
    return NextChange(words, min(stats.ceiling, stats.cores * _of_one_core(stats)))


def _more_requests(kind: VerdictKind, limit: OperationStats, stats: Stats) -> NextChange | None:
    fetched = stats.fetched
    if kind != "storage" or fetched is None or not _waits_for_store(stats):
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
    made = min(2 * stats.rate, stats.cores * _of_one_core(stats))
    if many >= MANY_WORKERS and made < GAIN_TOLD * stats.rate:
        words = f"{waits}, and {many} calls at a time keep the GIL busy: let each call do more, such as read several"
        return NextChange(f"{words} elements{kept}.")
    return NextChange(f"{waits}: more calls at a time hide that, with Options(workers={2 * many}){kept}.", made)


NEXT_CHANGES = (
    *(
        _own_objects,
        _own_process,
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


def _limited_by_turns(stats: Stats) -> str | None:
    """Describe an operation that one thread at a time calls, if it keeps the run inline or takes the most time."""
    sign = HERE if stats.is_inline else stats.limit.name if stats.limit is not None else ""
    return next((operation for operation in stats.alone if sign in operation), None)


def _change_of_cores(limit: OperationStats, stats: Stats) -> NextChange:
    if stats.is_inline and stats.rate >= HANDED_OVER:
        larger = "make batches larger" if stats.unit == "batch" else "take them in batches, with batch()"
        return NextChange(f"Handing over {PLURALS[stats.unit]} takes much of the time: {larger}.")
    if stats.is_inline:
        words = (
            "Batches this cheap stay inline; functions of whole columns make them cheaper still: those of NumPy "
            "arithmetic alone, or map(..., vectorized=True)."
        )
        return NextChange(words)
    if stats.workers < stats.cores:
        asked = f"Only {stats.workers} of {stats.cores:g} cores are requested"
        words = f"{asked}: raise Options(workers=) or num_parallel_calls."
        return NextChange(words, stats.ceiling * stats.cores / stats.workers)
    words = f"All {stats.cores:g} cores are busy: make the operation cheaper, or use more cores."
    return NextChange(f"{words[:-1]} (in half of its time, for example).", _if_halved(limit, stats))


def _if_halved(limit: OperationStats, stats: Stats) -> float:
    """Return the items per second that the pipeline could make if the limiting operation took half of its time."""
    if limit.sequential:
        return stats.items / max(stats.seconds - limit.wall / 2, 1e-9)
    return stats.rate / (1 - _share(limit, stats) / 2)


def _share(operation: OperationStats, stats: Stats) -> float:
    total = sum(each.wall for each in stats.operations)
    return operation.wall / total if total else 0.0


def ceiling_of(operation: OperationStats, stats: Stats) -> float:
    """Return the rows per second that an operation could make, if the workers did nothing else."""
    if any(operation.name in turns for turns in stats.alone):  # its time is that of waiting for its turn, too
        return operation.rows / stats.seconds if stats.seconds else 0.0
    workers = 1 if operation.sequential else stats.workers
    made = workers * operation.rows / operation.wall if operation.wall else 0.0
    return max(made, operation.rows / stats.seconds) if stats.seconds else made


def _where(stats: Stats) -> str:
    where = "in a process of its own" if stats.isolated else ""
    workers = stats.mode.removeprefix(ISOLATED)
    return " ".join(filter(None, [workers if stats.is_inline else f"on {workers}", where]))


def _times(gain: float) -> str:
    return f"about {gain:.1f} times" if gain < 10 else f"about {gain:.0f} times"


def _rate(rate: float, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{rate:,.0f} {plural}/s" if rate >= 10 else f"{rate:.2g} {plural}/s"


def _count(number: int, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{number} {unit if number == 1 else plural}"
