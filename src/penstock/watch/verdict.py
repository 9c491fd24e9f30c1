"""The limit of a run as text: who waits, how long, for which operation, and what to change."""

from __future__ import annotations

from penstock.engine.runs.settings import ISOLATED
from penstock.plan.safety.calls import HERE
from penstock.watch.stats import LEAST_STARTING, OperationStats, Stats

LEAST_SECONDS = 0.05
MUCH = 0.3  # share of the time waited from which on the start of a process is told
_MOSTLY = 0.5  # share of the work, and of the wait, from which on waiting for a remote store is the limit
_ADVICE = (
    "Larger elements in a read, or data nearer to here, would be faster; later epochs read what the local cache kept."
)
INPUT_BOUND = 0.05  # share of its time that a consumer waits before the input is called the limit


def verdict(stats: Stats) -> str:
    """Return what limits the run that `stats` counted, whether memory grows, and the last event, if any."""
    growing = "".join(f" Memory grows: {each}." for each in stats.growing)
    limit_of = _limit(stats) + _start(stats) + growing
    if not stats.events:
        return limit_of
    lines = str(stats.events[-1]).splitlines()
    last = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1].strip()}"  # without the middle of a stack
    number = len(stats.events)
    return f"{limit_of} {'The event' if number == 1 else f'The last of {number} events'} of the run: {last}."


def _limit(stats: Stats) -> str:
    limit = stats.limit
    if stats.items == 0 or limit is None or stats.seconds < LEAST_SECONDS:
        return f"Too early to say: {_count(stats.items, stats.unit)} in {stats.seconds:.2f} s."
    if stats.wait_share < INPUT_BOUND:
        return (
            f"Not input-bound: the consumer waited {_percent(stats.wait_share)} of the time. "
            f"It took {_rate(stats.rate, stats.unit)}; the pipeline could make {_rate(stats.ceiling, stats.unit)} "
            f"({_where(stats)}), then limited by {limit.name}."
        )
    if (storage := _storage(stats)) is not None:
        return storage + _ADVICE
    return (
        f"Input-bound: the consumer waited {_percent(stats.wait_share)} of the time. "
        f"The limit is {limit.name}, with {_percent(_share(limit, stats))} of the work; "
        f"its ceiling is {_rate(_ceiling(limit, stats), 'row')} ({_where(stats)}). {_advice(stats)}"
    )


def _storage(stats: Stats) -> str | None:
    """Return what is told of a run whose tasks mostly wait for a remote store."""
    fetched = stats.fetched
    waits = stats.blocked >= _MOSTLY * stats.work
    if fetched is None or not fetched.requests or not waits or fetched.waited < _MOSTLY * stats.waited:
        return None
    more = "more would help" if fetched.rises else "more did not raise the rate"
    rate = f", {fetched.rate / 1e6:,.0f} MB/s" if fetched.rate else ""
    return (
        f"Storage-bound: {fetched.milliseconds:,.0f} ms a read, {fetched.at_once} at a time{rate}; {more}. "
        f"The consumer waited {_percent(stats.wait_share)} of the time. "
    )


def _start(stats: Stats) -> str:
    """Return how long the start of a process took, if that is much of the time that the consumer waited."""
    if stats.starting < max(LEAST_STARTING, MUCH * stats.waited):
        return ""
    return f" It waited {stats.starting:.2f} s for the start of the process, which later epochs use again."


def _advice(stats: Stats) -> str:
    if (turns := _limited_by_turns(stats)) is not None:
        return (
            f"{turns}. Give each call or each thread its own object (threading.local()), or pass thread_safe=True if "
            "several threads are safe."
        )
    if stats.holds_gil:
        return (
            "Its functions hold the GIL, so more threads do not help: call them on whole columns with "
            "map(..., vectorized=True), or let processes call them, with Options(executor='processes')."
        )
    if stats.chosen and stats.is_inline:
        return "The run is inline, as configured: Options(executor='auto') may use other cores."
    if stats.starved > 0.3 * stats.work:
        share = _percent(stats.starved / stats.work)
        return f"Other processes used the cores for {share} of the time: check what else runs."
    if stats.blocked > 0.5 * stats.work:
        return f"It mostly waits: more calls at a time hide that, with Options(workers={2 * max(stats.workers, 1)})."
    return _advice_on_cores(stats)


def _limited_by_turns(stats: Stats) -> str | None:
    """Describe an operation that one thread at a time calls, if it keeps the run inline or takes the most time."""
    sign = HERE if stats.is_inline else stats.limit.name if stats.limit is not None else ""
    return next((operation for operation in stats.alone if sign in operation), None)


def _advice_on_cores(stats: Stats) -> str:
    if stats.is_inline:
        return (
            "Batches this cheap stay inline; functions of whole columns make them cheaper still: those of NumPy "
            "arithmetic alone, or map(..., vectorized=True)."
        )
    if stats.workers < stats.cores:
        asked = f"Only {stats.workers} of {stats.cores:g} cores are requested"
        return f"{asked}: raise Options(workers=) or num_parallel_calls."
    return f"All {stats.cores:g} cores are busy: make the operation cheaper, or use more cores."


def _share(operation: OperationStats, stats: Stats) -> float:
    total = sum(each.wall for each in stats.operations)
    return operation.wall / total if total else 0.0


def _ceiling(operation: OperationStats, stats: Stats) -> float:
    return stats.workers * operation.rows / operation.wall if operation.wall else 0.0


def _where(stats: Stats) -> str:
    where = "in a process of its own" if stats.isolated else ""
    workers = stats.mode.removeprefix(ISOLATED)
    return " ".join(filter(None, [workers if stats.is_inline else f"on {workers}", where]))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def _rate(rate: float, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{rate:,.0f} {plural}/s" if rate >= 10 else f"{rate:.2g} {plural}/s"


def _count(number: int, unit: str) -> str:
    plural = {"batch": "batches"}.get(unit, f"{unit}s")
    return f"{number} {unit if number == 1 else plural}"
