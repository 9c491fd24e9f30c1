"""The things that the tasks of a run wait for, told from its counts: the GIL, a remote store, or their turn."""

from __future__ import annotations

from penstock.engine.tasks.cost import WANTED
from penstock.plan.safety.calls import HERE
from penstock.watch.stats import Stats

MOST_WAITING = 0.5  # share of an operation's time, or of all tasks', that it waits
ONE_AT_A_TIME = 1.3  # cores that a process that waits for the GIL uses at most, with those it had to leave to others
LEAST_HELD = 0.3  # cores that a process uses at least in which threads wait for the GIL: one of them holds it
STEP_WITHOUT_CORE = 0.2  # share of a step without a core, if it waits for the GIL
WORKING = 0.3  # share of a step with a core, below which it is taken to wait for a device
HOLDING = 0.4  # share of the CPU time of the process that the step takes, from which it is named for holding the GIL
LEAST_WAITING = 0.1  # share of the time of tasks that they wait, if some function holds the GIL
EXPLAINED = 0.5  # ratio of waits for the GIL to all waits of tasks, below which tasks wait for something else


def waits_for_gil(stats: Stats) -> bool:
    """Return whether worker threads wait for the GIL, so that all threads together use no more than one core.

    Tasks that are blocked far more often than a thread that wants the GIL has to wait for it are not blocked by the
    GIL: many threads that sleep, or read, keep a core busy with their Python code alone.
    """
    used = (stats.cpu + stats.starved) / stats.seconds
    is_held = stats.cpu >= LEAST_HELD * stats.seconds  # not if functions sleep, whatever other processes do
    wanted = max(WANTED, EXPLAINED * stats.blocked / stats.work if stats.work else 0.0)
    waits = stats.work - busy_seconds(stats) >= LEAST_WAITING * stats.work
    return stats.cores > ONE_AT_A_TIME > used and is_held and waits and stats.contention >= wanted


def slows_the_step(stats: Stats) -> bool:
    """Return whether the consumer's own step waits for the GIL, which worker threads hold meanwhile."""
    share = stats.step_cpu / stats.stepped if stats.stepped else 1.0
    return waits_for_gil(stats) and WORKING <= share <= 1 - STEP_WITHOUT_CORE


def step_waits(stats: Stats) -> float:
    """Return the seconds of its step in which the consumer waits for the GIL, at most."""
    return stats.stepped - stats.step_cpu if slows_the_step(stats) else 0.0


def step_holds_gil(stats: Stats) -> bool:
    """Return whether the consumer's step is what worker threads wait for, and not only each other."""
    return waits_for_gil(stats) and stats.step_cpu >= HOLDING * stats.cpu


def waits_for_store(stats: Stats) -> bool:
    """Return whether tasks mostly wait, and most of the time for a remote store."""
    fetched = stats.fetched
    if fetched is None or not fetched.requests:
        return False
    return stats.blocked >= MOST_WAITING * stats.work and fetched.waited >= MOST_WAITING * stats.waited


def busy_seconds(stats: Stats) -> float:
    """Return the seconds for which tasks used a core, or were ready to; in threads, no more than their process did.

    Of tasks that wait for the GIL, those measured in full have just been given it, and seem to wait less than others.
    """
    busy = stats.work - stats.blocked
    if not stats.cpu or stats.isolated or not (stats.is_inline or stats.mode.endswith(("thread", "threads"))):
        return busy
    return min(busy, max(stats.cpu - stats.step_cpu, 0.0) + stats.starved)


def limited_by_turns(stats: Stats) -> str | None:
    """Describe an operation that one thread at a time calls, if it keeps the run inline or takes the most time."""
    sign = HERE if stats.is_inline else stats.limit.name if stats.limit is not None else ""
    return next((operation for operation in stats.alone if sign in operation), None)
