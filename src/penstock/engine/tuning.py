"""How many threads, how much to a task, how far ahead: arithmetic on what tasks were measured to cost.

- Threads pay when an item costs more than handing it to another thread does; then, by Little's law, as many are busy as
  there are cores times (CPU time + time blocked) / CPU time of a task, measured while no other task ran.
- A task is long enough that its overhead is under 1 %, and short enough that a batch is soon there.
- The number follows when tasks block more or less than at the start, as where the first files came from a cache. It
  goes back where more threads made no more: what they waited for was each other.
- A function holds the GIL when tasks side by side block where one alone does not, and together use hardly more than a
  core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from penstock.engine.budget import available_cores
from penstock.engine.task import Cost

MS = 1_000_000  # ns
THREAD_PAYS = 300_000  # ns an item; a hand-over between threads costs some 50 µs
SURELY_PAYS = 5 * MS  # ns; enough to stop measuring inline
LOOKS = 3  # tasks measured inline before threads are considered
INLINE_TASK = 200_000  # ns of work that cheap items are grouped to
INLINE_BYTES = 1 << 20  # bytes such a group may take: about a core's cache
THREAD_TASK = 2 * MS  # the same where each task is handed over to a thread
THREAD_BYTES = 2 << 20
LONGEST_PIECE = 4 * MS  # ns; a batch that costs more is split over the workers
MOST_WORKERS = 64
MOST_GROUPED = 256
LONG_TASK = 3 * MS  # ns of inline work on the elements of a stream, which pass through several hands
MOST_IN_A_PIECE = 1 << 14
LONGEST_YIELD = 10 * MS  # ns; who waits for the GIL asks again every 5 ms
CONVICTED = 2  # looks in a row that find the GIL held before it is believed
SAMPLE = 16  # tasks between two looks at the number of threads
WARM = 2  # looks of which one is sure to be no first one, with files to open and memory to touch
WORTH = 1.1  # times as much have more threads to make, to stay


@dataclass
class Tuner:
    """Watches the cost of tasks and says what the next ones should be; `decisions` are its reasons, in words."""

    workers: int | None
    item_bytes: int = 0
    item_wall: float = 0.0  # ns
    looks: int = 0
    spent: Cost = field(default_factory=lambda: Cost(0, 0))  # by all tasks since the mode last changed
    tasks: int = 0
    made: float = 0.0  # items, by all tasks since the mode last changed
    grown: tuple[int, float] | None = None  # threads there were before they became more, and items a ns
    most: int = MOST_WORKERS  # threads that are not known to be too many
    began: int = 0  # ns on the wall clock
    blocking: float = math.inf  # time blocked / CPU time of a task with the GIL to itself, the least there was
    suspicions: int = 0  # looks in a row that found the GIL held
    holds_gil: bool = False
    inline_task: int = INLINE_TASK
    most_grouped: int = MOST_GROUPED
    threads: int = 0
    group: int = 1
    decisions: list[str] = field(default_factory=list)

    def observe(self, cost: Cost, items: float) -> None:
        """Take in what a task took that made this many items (a fraction where several tasks share one)."""
        per_item = cost.wall / items
        # the least is what the work costs; the average is drawn up by first calls and by noise
        self.item_wall = per_item if self.looks == 0 else min(per_item, 1.25 * self.item_wall)
        self.looks += 1
        self.tasks += 1
        self.made += items
        self.spent += cost
        if not self.threads and cost.cpu:
            self.blocking = min(self.blocking, cost.blocked / cost.cpu)

    def long_groups(self) -> None:
        """Group as suits elements of a stream, not whole batches."""
        self.inline_task, self.most_grouped = LONG_TASK, MOST_IN_A_PIECE

    @property
    def looking(self) -> bool:
        """Whether the first tasks are still being measured closely."""
        return self.looks < LOOKS

    def threads_pay(self) -> bool:
        """Whether to leave the inline start."""
        enough = not self.looking or (self.looks >= WARM and self.item_wall >= SURELY_PAYS)
        return enough and self.item_wall >= THREAD_PAYS

    def heir(self) -> Tuner:
        """A tuner for another run of the same work."""
        known = replace(self, decisions=[], suspicions=0, grown=None, most=MOST_WORKERS)
        if known.threads:
            known.decisions.append(f"{known.threads} thread{'s' if known.threads > 1 else ''}, as in the run before")
        known.reset(0)
        return known

    def start_threads(self, now: int) -> int:
        """How many threads to begin with: those of the run before, if there was one."""
        if self.threads:
            self.reset(now)
            return self.threads
        if math.isinf(self.blocking):
            self.blocking = 0.0
        chosen = self.workers or _threads_for(self.blocking)
        self.reset(now)
        self.threads = chosen
        why = (
            "as asked for"
            if self.workers
            else f"{available_cores():g} cores × {1 + self.blocking:.1f}, the time of a task over its CPU time"
        )
        cost = f"; an item costs {self.item_wall / MS:.2f} ms" if self.looks else ""
        self.decisions.append(f"{chosen} threads: {why}{cost}")
        return chosen

    def retuned(self, now: int) -> int | None:
        """How many threads to go on with, where that is another number; asked after every parcel.

        Nothing changes while workers are idle: then the consumer sets the pace.
        """
        if self.tasks < SAMPLE or self.spent.cpu == 0:
            return None
        spent, passed = self.spent, max(now - self.began, 1)
        rate, grown, self.grown = self.made / passed, self.grown, None
        self.reset(now)
        if self.holds_gil or spent.wall < 0.6 * self.threads * passed:
            return None
        blocking = spent.blocked / spent.cpu
        one_core = 0.7 * passed < spent.cpu < 1.2 * passed
        gave_way = (
            spent.yields > spent.blocked / LONGEST_YIELD
        )  # a virtual machine's lost time looks blocked, but is not
        cores_were_there = spent.starved < 0.2 * spent.wall  # else one core's worth may be all there was
        if self.threads > 1 and one_core and cores_were_there and gave_way and blocking > self.blocking + 0.4:
            self.suspicions += 1
            if self.suspicions < CONVICTED:
                return None
            self.holds_gil = True
            self.decisions.append(
                f"the functions hold the GIL: on {self.threads} threads a task blocks for {blocking:.1f} times "
                "its CPU time"
            )
            return self._changed_to(1)
        self.suspicions = 0
        return self._followed(blocking, rate, grown if cores_were_there else None)

    def _followed(self, blocking: float, rate: float, grown: tuple[int, float] | None) -> int | None:
        """How many threads tasks want that block so much, and where they became more, made `rate` items a ns."""
        if grown is not None and rate < WORTH * grown[1]:
            self.most = grown[0]
            return self._changed_to(grown[0], f", which made {rate / grown[1]:.1f} times as much")
        wanted = min(_threads_for(blocking), self.most)
        if 0.7 * self.threads <= wanted <= 1.5 * self.threads:
            return None
        if wanted > self.threads:
            self.grown = self.threads, rate
        return self._changed_to(min(wanted, 2 * self.threads))

    def _changed_to(self, threads: int, why: str = "") -> int | None:
        if self.workers is not None:
            return None  # as asked for
        self.decisions.append(f"{threads} threads in place of {self.threads}{why}")
        self.threads = threads
        return threads

    def group_items(self) -> int:
        """How many cheap items one task makes: a power of two, so that few sizes of memory are ever asked for.

        It doubles up to a bound on the task's work and one on its bytes.
        """
        if self.looks == 0 or self.item_wall <= 0:
            return 1
        by_cost = math.ceil((THREAD_TASK if self.threads else self.inline_task) / self.item_wall)
        most_bytes = THREAD_BYTES if self.threads else INLINE_BYTES
        by_bytes = most_bytes // self.item_bytes if self.item_bytes else self.most_grouped
        most = max(1, min(2 * self.group, by_cost, by_bytes, self.most_grouped))
        self.group = 1 << (most.bit_length() - 1)
        return self.group

    def split_item(self) -> int:
        """Over how many tasks one dear item is split."""
        return max(1, min(self.threads, int(self.item_wall // LONGEST_PIECE)))

    def depth(self) -> int:
        """How many tasks' worth of items to have under way: each worker one in hand and one waiting."""
        return 2 * max(self.threads, 1) + 1

    def reset(self, now: int) -> None:
        """Begin another look."""
        self.spent, self.tasks, self.made = Cost(0, 0), 0, 0.0
        self.began = now


def _threads_for(blocking: float) -> int:
    """As many threads as keep the cores busy with tasks that block for this many times their CPU time."""
    return max(1, min(MOST_WORKERS, round(available_cores() * (1 + blocking))))
