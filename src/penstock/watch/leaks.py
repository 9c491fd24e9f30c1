"""Memory that keeps growing while a run goes on: objects that functions keep, batches that the consumer keeps, keys."""

from __future__ import annotations

from typing import NamedTuple

from penstock.engine.runs.run import Run
from penstock.memory.pool import Memory
from penstock.plan.graph import all_nodes
from penstock.plan.node import Node
from penstock.watch.containers import Containers
from penstock.watch.counters import Counters

FIRST_PAUSE = 250_000_000  # ns between the first looks
MOST_LOOKS = 32  # then every second one is forgotten, and the next ones are as far apart as those that are left
FEWEST_LOOKS = 12  # looks before anything is said
LEAST_GROWTH = 8 << 20  # bytes; less growth is not worth a word
STEADY_SHARE = 8  # a share of 1 / 8 of the growth must come in each third of the time
BATCHES_IN_USE = 16  # a consumer that works on up to this many batches at a time is not a leak


class MemoryLook(NamedTuple):
    """The bytes held at a time (ns), by holder; `items` had been received."""

    time: int
    items: int
    held: dict[str, int]


class MemoryGrowth:
    """A watch over what the parts of one run hold. `look` is called now and then, and costs some 0.1 ms."""

    def __init__(self, plan: Node, counters: Counters) -> None:
        """Watch the run of a plan, whose worker processes tell `counters` what they hold."""
        self.next = 0
        """The time (ns) of the next look."""
        self._pause = FIRST_PAUSE  # between looks; a consumer that takes longer for an item looks at every item
        self._looks: list[MemoryLook] = []
        self._counters = counters
        self._kept = Containers(all_nodes(plan))
        self._has_caches = any(node.traits.keeps_made for node in all_nodes(plan))

    def look(self, now: int, items: int, run: Run, memory: Memory) -> None:
        """Note what is held at a time (ns), after a number of items were received."""
        held = self._kept.sizes()
        held |= self._in_workers(run)
        for account in list(run.budget.accounts):
            if account.grows and account.nbytes:
                name = f"{account.name} holds elements or keys, which"
                held[name] = held.get(name, 0) + account.nbytes
        ahead = run.budget.held["ahead"] + run.budget.held["cache"]
        unexplained = memory.live_bytes - ahead - BATCHES_IN_USE * run.tuner.item_bytes
        held["the consumer keeps batches, which"] = max(unexplained, 0)
        self._looks.append(MemoryLook(now, items, held))
        if len(self._looks) == MOST_LOOKS:
            del self._looks[1::2]
            self._pause = (now - self._looks[0].time) // len(self._looks)
        self.next = now + self._pause

    def _in_workers(self, run: Run) -> dict[str, int]:
        """Return what worker processes hold: containers of functions there, and memory that these do not explain."""
        held: dict[str, int] = {}
        for sizes in list(self._counters.kept_elsewhere.values()):
            for name, nbytes in sizes.items():
                in_workers = f"in worker processes, {name}"
                held[in_workers] = held.get(in_workers, 0) + nbytes
        if not self._has_caches:  # which have a limit
            stages = ", ".join(run.session.made_elsewhere)
            unexplained = run.budget.elsewhere() - sum(held.values())
            held[f"the memory of the worker processes that make {stages}"] = max(unexplained, 0)
        return held

    def found(self, unit: str) -> tuple[str, ...]:
        """Return what grew all the time, in words with figures."""
        looks = self._looks[len(self._looks) // 4 :]  # without the warm-up
        if len(self._looks) < FEWEST_LOOKS:
            return ()
        return tuple(
            f"{name} grew from {megabytes(looks[0].held.get(name, 0))} to {megabytes(looks[-1].held[name])} over "
            f"{looks[-1].items - looks[0].items:,} {unit}"
            for name in looks[-1].held
            if keeps_growing([look.held.get(name, 0) for look in looks])
        )


def keeps_growing(sizes: list[int]) -> bool:
    """Return whether bytes grew by much, and in each third of the time above all that was before.

    >>> keeps_growing([million << 20 for million in range(9)]), keeps_growing([0, 9 << 20] * 5)
    (True, False)
    """
    third = len(sizes) // 3
    if not third or (growth := sizes[-1] - sizes[0]) < LEAST_GROWTH:
        return False
    parts = sizes[:third], sizes[third:-third], sizes[-third:]
    rises = max(parts[0]) < min(parts[1][len(parts[1]) // 2 :]) and max(parts[1]) < min(parts[2][third // 2 :])
    return rises and all((part[-1] - part[0]) * STEADY_SHARE >= growth * len(part) / len(sizes) for part in parts)


def megabytes(nbytes: int) -> str:
    """Return a number of bytes as text: `12.5 MB`."""
    return f"{nbytes / 1e6:,.1f} MB"
