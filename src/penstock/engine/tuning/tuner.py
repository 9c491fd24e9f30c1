"""The first number of threads, the size of tasks, and how far to run ahead: arithmetic on the measured cost of tasks.

- Threads pay if an item costs more than handing it to another thread. By Little's law the cores are busy with cores ×
  (CPU time + time blocked) / CPU time threads, for a task measured while no other task ran.
- From then on the number of threads follows throughput (`hill_climb`).
- A task is long enough to keep its overhead under 1 %, and short enough for a batch to be ready soon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.engine import tuning
from penstock.engine.tasks.cost import BESIDE_OTHERS, MS, WANTED, Cost, Meter
from penstock.engine.tasks.slots import SlotsBefore
from penstock.engine.tuning.long_tasks import HELD_UP_BYTES, LongTasks
from penstock.memory.limits import available_cores

if TYPE_CHECKING:
    from penstock.core.tunings import TaskTuning
    from penstock.engine.tuning.hill_climb import HillClimb

THREAD_PAYS = 300_000  # ns an item; a hand-over between threads costs some 50 µs
LEAVES_PROCESSES = THREAD_PAYS // 2  # ns an item, below which a run after one in processes begins inline again
BESIDE_PAYS = 60_000  # ns a task; to start and end a thread for it costs some 30 µs
BESIDE_TASK = 4 * MS  # ns of work for such a thread; the consumer does part of it while it waits
SURELY_PAYS = 5 * MS  # ns; no more measuring inline is needed
LOOKS = 3  # tasks measured inline before threads are considered
LONG_LOOK = 1 * MS  # a task of some rows of a batch says what a row costs: a call costs up to 300 µs, whatever its rows
BESIDE_ROWS = 1 << 13  # the most rows of such a task: 64 KiB of row numbers, in several copies
INLINE_TASK = 2 * MS  # of work in a group of cheap items; a group costs some 60 µs of Python
INLINE_BYTES = 8 << 20  # the most bytes of such a group: 4 MB take an eighth longer where much is read (`tar`)
THREAD_TASK = 2 * MS  # the same if threads run the tasks
THREAD_BYTES = 2 << 20
LONGEST_PIECE = 4 * MS  # ns; a batch that costs more is split over the workers
FAR_TASK = 50 * MS  # as THREAD_TASK, if an executor carries results here: a call costs some milliseconds
FAR_PIECE = 1000 * MS  # as LONGEST_PIECE: there the parts of a batch have to be copied together
MOST_GROUPED = 256
LONG_TASK = 3 * MS  # ns of inline work on the elements of a stream, which cost more overhead each
MOST_IN_A_PIECE = 1 << 14
SPARE_BYTES = 4 << 20  # the most bytes of tasks beyond two a thread, so that batches stay in a core's cache
SPARE = 8  # small tasks that are started and taken together: the first of them finds all caches cold
UNEVEN = 0.1  # ratio of the mean deviation of task costs to their mean; above it, some tasks hold up others
UNUSUAL = 4  # a task counts for at most this multiple of the mean
PLAINLY = 3  # this multiple of the work of a task is too much
SETTLED = 64  # looks after which the mean changes slowly
ALONE = 0.9  # share of a task that only one thread at a time may do; above it, a second thread has no work
LONG_WAIT = 100  # times its CPU time; a task blocked for longer waits for something else than the GIL
RECENT_TASKS = 16  # tasks in the mean
SEEN = 8  # tasks that must have looked for other threads at the GIL
WARM = 2  # looks, one of which is not the first, which has files to open and memory to touch


@dataclass(eq=False)
class Tuner:
    """Measures the cost of tasks and sizes the next ones; `decisions` are its reasons in words."""

    workers: int | None
    item_bytes: int = 0
    item_rows: int = 1
    operation: str = ""  # the last one of the tasks
    most_cores: float = math.inf  # that the options allow
    by_default: bool = False  # `workers` is the number of cores, and nobody asked for it
    is_far: bool = False  # an executor carries the results of tasks here
    may_return: bool = False  # to the consumer's thread, from others
    is_hosted: bool = False  # for a consumer in another process
    slots: SlotsBefore = field(default_factory=SlotsBefore)  # those of the batches made so far
    item_wall: float = 0.0  # ns
    looks: int = 0
    item_mean: float = 0.0  # ns, of recent items, without waiting for a core
    deviation: float = 0.0  # ns, the mean deviation from that
    long: LongTasks = field(default_factory=LongTasks)
    waiting: float = math.inf  # the least time blocked / CPU time of a task while no other ran
    alone: float = 0.0  # share of the time of a task in functions that one thread at a time may call
    climb: HillClimb | None = None
    inline_task: int = INLINE_TASK
    most_grouped: int = MOST_GROUPED
    group: int = 1
    group_beside: int = 1
    alone_by_size: bool = False  # tasks of several items have made too much, so each makes one
    seemed_to_pay: bool = False  # to split the first batch, by the task before
    decisions: list[str] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter, init=False, repr=False, compare=False)  # new in each run

    def observe(self, cost: Cost, items: float) -> None:
        """Add the cost of a task that made this many items (a fraction if several tasks share one)."""
        per_item = cost.wall / items
        # the least is the cost of the work; first calls and noise raise the average
        self.item_wall = per_item if self.looks == 0 else min(per_item, 1.25 * self.item_wall)
        if self.looks < LOOKS:  # first calls would raise the mean
            self.item_mean = self.item_wall
        work = (cost.wall - cost.starved if self.climb is None else self._work(cost)) / items
        steady = min(work, UNUSUAL * self.item_mean)
        recent = RECENT_TASKS if self.looks >= SETTLED else min(max(self.looks - LOOKS + 1, 1), RECENT_TASKS)
        self.item_mean += (steady - self.item_mean) / recent
        self.deviation += (abs(steady - self.item_mean) - self.deviation) / recent
        if self.looks >= SETTLED:  # first calls take longer
            self.long.observe(work, self.item_mean)
        if self.climb is not None:
            self.climb.observe(cost, items)
        else:
            self.alone = cost.alone / max(cost.wall - cost.queued, 1)
        if self.climb is None and cost.cpu:
            self.waiting = min(self.waiting, cost.blocked / cost.cpu if cost.yields else 0.0)
        self.looks += 1

    def _work(self, cost: Cost) -> float:
        """Return the time that a task takes by itself, without waiting for a core, ns.

        Beside other tasks it also waits for the GIL, and on a busy machine the holder of the GIL waits for a core. So
        time blocked counts only in proportion to that of tasks that ran alone, unless it must have another reason.
        """
        work, waiting = cost.wall - cost.starved, self.waiting
        if cost.reads or cost.blocked > LONG_WAIT * cost.cpu:  # it waits for something else
            return work
        if waiting == math.inf:
            if (self.contention or 0) < WANTED:
                return work
            waiting = 0.0  # none has run alone, but threads were seen to wait for the GIL
        return min(work, (1 + waiting) * cost.cpu)

    def long_groups(self) -> None:
        """Size groups for elements of a stream, not for whole batches."""
        self.inline_task, self.most_grouped = LONG_TASK, MOST_IN_A_PIECE

    @property
    def looking(self) -> bool:
        """True while the first tasks are still being measured inline."""
        return self.looks < LOOKS

    @property
    def threads(self) -> int:
        """The number of threads; 0 while tasks run inline."""
        return 0 if self.climb is None else self.climb.threads

    @property
    def holds_gil(self) -> bool:
        """True if the functions were found to hold the GIL."""
        return self.climb is not None and self.climb.holds_gil

    @property
    def contention(self) -> float | None:
        """The share of the time for which a thread that wants the GIL waits for another one; `None` if unknown."""
        seen = self.meter.contention
        return None if seen is None or seen.looks < SEEN else seen.share

    @property
    def unevenness(self) -> float:
        """The cost of the longest task of late but one, as a multiple of the mean; a single one may be chance."""
        return self.long.second / self.item_mean if self.item_mean else 1.0

    def threads_pay(self) -> bool:
        """Return whether threads should replace inline tasks."""
        return self._knows(self.item_wall) and self.item_wall >= THREAD_PAYS

    def _knows(self, wall: float) -> bool:
        """Return whether enough was measured to go by a cost of `wall` ns; a first call may cost more than others.

        The first tasks also touch new memory: that may double the cost of an item which costs about a hand-over.
        """
        surely = wall >= SURELY_PAYS
        needed = WARM if surely else LOOKS if wall >= BESIDE_OTHERS * THREAD_PAYS else RECENT_TASKS
        return self.looks >= needed

    def pays_to_split(self, cost: Cost, rows: int, left: int) -> bool | None:
        """Return whether threads should make the other `left` rows of a batch begun by a task; `None` if unknown.

        The overhead of a task matters little only if the task is long, and the first task may have files to open. Two
        tasks in a row must agree: the first one of several rows may have a function to trace.
        """
        if cost.wall * left < SURELY_PAYS * rows:
            return False
        agreed, self.seemed_to_pay = self.seemed_to_pay, cost.wall >= LONG_LOOK
        return True if agreed and self.seemed_to_pay and self._knows(cost.wall) else None

    def worth_beside(self, group: int) -> bool:
        """Return whether a native task of `group` items, which needs no GIL, is worth a thread beside the consumer."""
        return group > 0 and not self.looking and group * self.item_wall >= BESIDE_PAYS

    def heir(self, *, begins_inline: bool = False) -> Tuner:
        """Return a tuner for the next run of the same work.

        One that `begins_inline` has no threads for items that seem cheap enough, though they may have begun otherwise:
        the first items of a pipeline may read from a disk. It starts threads again if those made more, or after a few
        expensive tasks if that was not measured.
        """
        decisions: list[str] = []
        if self.climb is None or (self.has_returned and not begins_inline):
            return replace(self, decisions=decisions, climb=None)
        most = LEAVES_PROCESSES if self.climb.elsewhere else BESIDE_OTHERS * THREAD_PAYS
        if begins_inline and self.threads and self.item_mean < most:
            alone = self.item_mean / BESIDE_OTHERS
            climb = self.climb.without_threads(decisions)
            return replace(self, decisions=decisions, climb=climb, item_wall=alone, looks=LOOKS)
        climb = self.climb.heir(decisions)
        at_first = " at first" if climb.threads != self.threads else ""
        decisions.append(f"{climb.told(climb.threads)}, as{at_first} in the run before")
        return replace(self, decisions=decisions, climb=climb)

    def start_threads(self, *, in_processes: bool = False) -> int:
        """Return the number of threads to begin with; that of the run before, if there was a run before.

        With `in_processes`, it is that of worker processes.
        """
        if self.climb is not None:
            return self.threads
        cores, waiting = min(available_cores(), self.most_cores), 0.0 if math.isinf(self.waiting) else self.waiting
        useful = math.ceil(1 / self.alone) + (self.alone < ALONE) if self.alone else math.inf
        wanted = tuning.hill_climb.threads_for(waiting, cores)
        chosen = self.workers or int(min(wanted, useful))
        those = f"{cores:g} core{'' if cores == 1 else 's'}"
        those += f", as Options(cores={cores:g}) allows," if cores == self.most_cores else ""
        why = f"{those} × {1 + waiting:.1f}, the time of a task over its CPU time"
        if self.by_default:
            why = "one for each core"
        elif self.workers:
            why = "as requested"
        elif useful < wanted:
            why = f"{100 * self.alone:.0f} % of a task is in functions that one thread at a time calls"
        cost = f"; an item costs {self.item_wall / MS:.2f} ms" if self.looks else ""
        fixed = self.workers is not None and not self.by_default
        self.climb = tuning.hill_climb.HillClimb(
            cores, chosen, self.item_wall, waiting if fixed else self.waiting, self.decisions, fixed=fixed
        )
        if in_processes:
            self.climb.begin_elsewhere()
        self.decisions.append(f"{self.climb.told(chosen)}: {why}{cost}")
        self.climb.one_thread = useful == 1 and not fixed and not in_processes
        return chosen

    def fix(self, workers: int, why: str = "as requested meanwhile") -> None:
        """Continue with this many threads, for good."""
        self.workers = workers
        if self.climb is not None:
            elsewhere = "left" if self.climb.elsewhere == "stays" else self.climb.elsewhere
            changed = {
                "fixed": True,
                "attempt": None,
                "spared": 0,
                "look": tuning.look.Look(),
                "elsewhere": elsewhere,
            }
            self.climb = replace(self.climb, threads=workers, **changed)
            self.decisions.append(f"{self.climb.told(workers)}: {why}")

    def retuned(self, now: int, used: int, waited: int) -> int | None:
        """Return the number of threads to continue with if it changes; called after every few tasks.

        `now` is the wall clock, `used` the CPU time of this process, and `waited` the time the consumer waited (ns).
        """
        if self.climb is None:
            return None
        self.climb.contention = self.contention
        self.climb.pays_from = THREAD_PAYS if self.may_return else 0
        self.climb.is_hosted = self.is_hosted and self.may_return
        return self.climb.retuned(now, used, waited)

    @property
    def has_returned(self) -> bool:
        """True if the consumer's thread is to make the items again, for now or for good."""
        return self.climb is not None and not self.climb.threads

    def settle(self, done: int) -> None:
        """Leave out the next tasks, which ended before the number of threads changed, from what is measured of it."""
        if self.climb is not None:
            self.climb.look.settling += done

    def tasks(self) -> TaskTuning:
        """Return the size and number of tasks, as found so far."""
        from penstock.core.tunings import TaskTuning  # for reports, and takes a millisecond to load

        parts = 1 if self.item_rows <= 1 or self.group > 1 else self.split_item()
        return TaskTuning(self.operation, self.group, self.group_beside, parts, self.depth(), self.spare())

    def reasons(self) -> list[str]:
        """Return the reasons for the number of threads, and for the size of tasks, in words."""
        if not self.looks:
            return [*self.decisions]
        why, costs = [*self.decisions], f"an item costs {self.item_mean / MS:.3g} ms"
        if self.climb is None and self.item_wall < THREAD_PAYS:
            why.append(f"no threads: {costs}, and threads pay from {THREAD_PAYS / MS:g} ms on")
        if self.group > 1:
            work = self._group_work / MS
            why.append(f"{self.group} items a task: {costs}, and a task of {work:g} ms costs little beside its work")
        elif (parts := self.tasks().parts) > 1:
            why.append(f"{parts} tasks an item: {costs}, and is ready sooner if all threads make it")
        return why

    def group_items(self, *, beside: bool = False) -> int:
        """Return the number of cheap items in one task, here or `beside` the consumer.

        The number is a power of two, for few sizes of memory. It doubles up to a bound on the task's work and one on
        its bytes, and starts there if only native code runs. It doubles whenever twice as many fit, since an item may
        cost less in a larger task, such as one that reads rows of many blocks; it falls only if it is clearly too
        large: changing back and forth would take memory of several sizes.
        """
        if self.looks == 0 or self.item_mean <= 0 or self.alone_by_size:
            return 1
        if beside:
            most = max(BESIDE_ROWS // self.item_rows, 1)
            self.group_beside = self._fitting(self.group_beside, BESIDE_TASK, most, most)
            return self.group_beside
        most_bytes = THREAD_BYTES if self.threads else INLINE_BYTES
        by_bytes = most_bytes // self.item_bytes if self.item_bytes else self.most_grouped
        self.group = self._fitting(self.group, self._group_work, by_bytes, 2 * self.group)
        return self.group

    @property
    def _group_work(self) -> int:
        """The work of a group of cheap items, ns."""
        if self.is_far:
            return FAR_TASK
        return THREAD_TASK if self.threads else self.inline_task

    def _fitting(self, group: int, work: int, room: int, largest: int) -> int:
        """Return the group that fits this much work (ns) and `room` for items, unless `group` is hardly larger."""
        most = min(math.ceil(work / self.item_mean), room, self.most_grouped)
        fitting = 1 << (max(min(most, largest), 1).bit_length() - 1)
        too_large = group > room or group * self.item_mean > PLAINLY * work
        return fitting if too_large or fitting > group else group

    def split_item(self, fitting: float = math.inf) -> int:
        """Return the number of tasks that one expensive item is split over: all threads while its cost is unknown.

        Tasks that are far are few and long, unless the number of items that are `fitting` at a time leaves no work for
        some workers then.
        """
        if self.looks == 0:
            return max(self.threads, 1)
        most = min(self.threads, int(self.item_wall // LONGEST_PIECE))
        if self.is_far:
            most = min(most, max(int(self.item_wall // FAR_PIECE), math.ceil(self.depth() / fitting)))
        return max(most, 1)

    def depth(self) -> int:
        """Return the number of tasks to have under way: one running and one waiting for each worker, and one more.

        If some tasks take longer than others, they hold up those behind them; then more wait for each worker.
        """
        return 2 * max(self.threads, 1) + 1 + self._more()

    def _more(self) -> int:
        """Return the further tasks that keep the other workers busy while one that takes longer holds them up."""
        threads, held_up = max(self.threads, 1), 0 if self.is_far else self.long.held_up(self.item_mean)
        more = threads * (held_up or (2 if self.deviation > UNEVEN * self.item_mean else 0))
        most = HELD_UP_BYTES if held_up else SPARE_BYTES
        return min(more, most // (self.item_bytes * self.group)) if self.item_bytes else more

    def spare(self) -> int:
        """Return the number of small tasks to have under way beyond `depth`, to start and take several at once.

        There are fewer if tasks are uneven, and while more threads are tried, so that memory stays the same.
        """
        small = min(SPARE, SPARE_BYTES // (self.item_bytes * self.group)) if self.item_bytes else 0
        attempt = None if self.climb is None else self.climb.attempt
        tried = 0 if attempt is None else max(self.threads - attempt.before, 0)
        return max(small - self._more() - 2 * tried, 0)


@dataclass(eq=False)
class PinnedTuner(Tuner):
    """A tuner that observes tasks, for the verdict, and gives them the settings that another run has found."""

    pinned: TaskTuning = field(kw_only=True)

    def threads_pay(self) -> bool:
        return False

    def pays_to_split(self, cost: Cost, rows: int, left: int) -> bool | None:
        return False

    def tasks(self) -> TaskTuning:
        return self.pinned

    def reasons(self) -> list[str]:
        return [*self.decisions]

    def group_items(self, *, beside: bool = False) -> int:
        """Return the number of items in one task; 1 if tasks of several items have made too much."""
        if self.alone_by_size:
            return 1
        return self.pinned.beside if beside else self.pinned.items

    def split_item(self, fitting: float = math.inf) -> int:
        return self.pinned.parts

    def depth(self) -> int:
        return self.pinned.ahead

    def spare(self) -> int:
        return self.pinned.spare
