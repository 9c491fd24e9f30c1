"""The number of threads while they run: a hill climb on throughput, one measured step at a time.

- *More* threads are tried if tasks wait and cores are idle; they stay if throughput grows by a tenth.
- *Fewer* threads are tried if the cores are in use while tasks wait, since tasks may wait for each other: as many as
  there are cores, or as ran at the same time; they stay if throughput is the same. Half as many are tried first if
  more threads than cores have paid before, since an attempt that fails then costs less.
- *Fewer* threads are tried as well if the consumer hardly waits: as many as had a task. They stay while it does not
  wait more; as soon as it does, the threads from before are back.
- *No* threads are tried if items are so cheap that handing them over may cost as much as they do, or if the consumer
  waits for as long as tasks take that use a core: its thread makes the items while it is measured. None stay if
  throughput is about the same; then threads are what is tried later. In a process that only makes items for another
  one they are tried as well if threads wait for the GIL, in which case the wait for them says little.
- Worker processes that are not needed are given back in the same way, after some more looks, since their start is
  expensive. Other numbers of them are not tried.
- After an attempt that fails, the next one waits four times as long, so the number settles. Work that waits for much
  longer than what more threads were of no use for is other work, for which more are tried at once.
- The next run begins with the number on which this one settled first if that is more than its last: the beginning of
  an epoch may need more than its end, and too few threads cost more than too many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from penstock.core.frozen import frozen
from penstock.engine.tasks.cost import BESIDE_OTHERS, MS, WANTED, Cost
from penstock.engine.tuning.look import JUST_ONE, NO_WAIT, ONE_CORE, PATIENCE, SHORTEST_LOOK, Look, Wait

MOST_WORKERS = 64
LONGEST_LOOK = 200 * MS
SAMPLE_TASKS = 16  # the fewest tasks of a look
ROUNDS = 4  # the fewest tasks of each thread in a look
PACED = 0.1  # share of the time that the consumer waited; below it, the consumer sets the pace
FAST_ENOUGH = 0.02  # the same; below it, the threads are fast enough, and fewer may be
ROOM = 1.25  # threads to keep for each that has a task, as not all tasks cost the same
FULL = 0.95  # share of the cores in use at which none is left for more threads
IDLE = 0.1  # cores in use below which tasks wait for something else than each other's work
OTHER_WORK = 4  # ratio of the time that tasks wait to that of earlier ones; above it, they do something else
PAID = 2  # ratio of the throughput to what threads made that were no more than the cores; above it, more threads paid
CONTENDED = 0.4  # CPU times of a task by which it waits longer than alone
SLOWED = 4.0  # ratio of the number of threads to that which would make as much if each took as long as alone
AT_LEAST = 0.5  # CPU times that a task waits, for more threads to be tried
FURTHER = 1.5  # factor to try if tasks seem to have the threads they need and still leave cores idle
WORTH = 1.1  # throughput ratio that more threads need to stay
AS_MUCH = 0.95  # throughput ratio that fewer threads than cores, or none, need to stay
GUILTY = 0.75  # least throughput ratio of one thread to two if the two wait for the GIL
CLEAR_RATIO = 1.6  # throughput this much above or below the needed one is judged after half a short look
CONVICTED = 2  # looks in a row that must find the GIL held
CHANCES = 3  # looks in a row in which processes must make more than threads

UseOfProcesses: TypeAlias = Literal["", "tried", "stays", "worse", "left"]
"""The use of processes instead of threads: none, on trial, found to pay or not, or given up for any reason."""


@frozen()
class Attempt:
    """An attempt at another number of threads, with the number before and the look at that number."""

    before: int
    look: Look  # at that number
    need: float  # throughput ratio to stay
    suspects_gil: bool = False


@dataclass
class HillClimb:
    """The number of threads while they run, with the reasons for each change in `decisions`."""

    cores: float
    threads: int
    alone: float  # ns an item took with no more threads than cores; 0 if unknown
    waiting: float  # the wait of a task then, in units of its CPU time; infinite if unknown
    decisions: list[str]
    fixed: bool = False  # the number was asked for, and does not change
    holds_gil: bool = False
    suspicions: int = 0  # looks in a row that found the GIL held, where no other number can be tried
    look: Look = field(default_factory=Look)
    last: Look | None = None  # the one before, with this number of threads
    attempt: Attempt | None = None
    more: Wait = NO_WAIT  # until more threads are tried
    fewer: Wait = NO_WAIT
    none: Wait = NO_WAIT
    useless_from: float = math.inf  # the wait of a task, in units of its CPU time, that more threads did not hide
    settled_first: int = 0  # the first number of this run after whose look no other was tried
    has_halved: bool = False  # half as many threads made as much
    has_read: bool = False  # tasks have read from a disk
    clocks: tuple[int, int] | None = None
    spared: int = 0  # threads that were given back, since the consumer's step takes longer than its items
    spare: Wait = NO_WAIT  # until threads are given back
    pays_from: int = 0  # ns an item costs inline, from which on threads pay; 0 if there must be threads
    is_hosted: bool = False  # the consumer is in another process: the thread that hands over has nothing else to do
    told_enough: bool = False  # that the consumer hardly waits
    one_thread: bool = False  # a second thread has no work, since one thread at a time calls the functions
    passed: int = 0  # ns in all runs so far
    elsewhere: UseOfProcesses = ""
    lost: int = 0  # looks in a row in which processes made no more than threads
    contention: float | None = None  # share of the time for which a thread that wants the GIL waits, if known

    @property
    def enough(self) -> int:
        """The number of threads that keep the cores busy if no task waits."""
        return max(round(self.cores), 1)

    def heir(self, decisions: list[str]) -> HillClimb:
        """Return a hill climb for the next run that continues from this one.

        Fewer threads may be tried again at once, though not in every run, if data was read from a disk: it may be in
        memory now.
        """
        is_cached = self.has_read and self.fewer.after_failure <= PATIENCE**2
        fewer = self.fewer._replace(left=min(self.fewer.left, 0)) if is_cached else self.fewer
        look = replace(self.look, spent=replace(self.look.spent))
        new = {"settled_first": 0, "has_read": False, "clocks": None, "told_enough": False}
        heir = replace(self, decisions=decisions, look=look, fewer=fewer, **new)
        if self.settled_first > self.threads and not (self.fixed or self.spared or self._may_move):
            return replace(heir, threads=self.settled_first, attempt=None, look=Look(), last=None)
        return heir

    def without_threads(self, decisions: list[str]) -> HillClimb | None:
        """Return a hill climb for the next run that begins with an attempt at none; `None` if there is no measure."""
        if self.last is None or self._may_move:
            return None
        attempt = Attempt(self.threads + self.spared, self.last, AS_MUCH)
        return replace(self.heir(decisions), threads=0, spared=0, attempt=attempt, look=Look(), last=None)

    def observe(self, cost: Cost, items: float) -> None:
        """Add the cost of a task that made this many items."""
        look = self.look
        self.has_read = self.has_read or cost.reads > 0
        if look.settling:
            look.settling -= 1
            return
        look.tasks += 1
        look.made += items
        look.spent += cost

    def retuned(self, now: int, used: int, waited: int) -> int | None:
        """Return the number of threads to continue with if it changes; called after every few tasks.

        `now` is the wall clock, `used` the CPU time of this process, and `waited` the time the consumer waited (ns).
        """
        look, clocks, self.clocks = self.look, self.clocks, (now, used)
        if look.settling or clocks is None:
            return None
        look.passed += now - clocks[0]
        self.passed += now - clocks[0]
        look.used += used - clocks[1]
        look.waited += waited
        if not self._has_seen_enough(look):
            return None
        if (self.contention or 0) >= WANTED:
            look.count_waits_for_gil()
        self.look, self.last = Look(lasts=min(2 * look.lasts, LONGEST_LOOK)), look
        share = look.waited / look.passed
        if self.spared and share >= FAST_ENOUGH:
            return self._taken_back(share)
        if share < PACED and not self._waits_for_gil:  # the consumer sets the pace
            return self._spared(look, share)
        if self.elsewhere == "stays":
            return None
        return self._another(look) if self.attempt is None else self._judged(look, self.attempt)

    def _another(self, look: Look) -> int | None:
        """Return another number of threads to try after a look at this one, or settle on this one."""
        another = self._considered(look)
        if another is None and not self.settled_first:
            self.settled_first = self.threads
        return another

    def _spared(self, look: Look, share: float) -> int | None:
        """Return the number of threads that the consumer needs, if there are more and it hardly waits."""
        self.spare = self.spare.looked()
        if share >= FAST_ENOUGH or self.elsewhere == "tried":
            return None
        waits = f"the consumer waits for them for {100 * share:.1f} % of the time"
        if not self.told_enough:
            self.told_enough = True
            self.decisions.append(f"{self.told(self.threads)} {_are(self.threads)} fast enough: {waits}")
        self.attempt = None  # it cannot be judged by a pace that the consumer sets
        wanted = max(math.ceil(ROOM * look.spent.wall / look.passed), 1)
        if self.fixed or wanted >= self.threads or not self.spare.is_over:
            return None
        self.decisions.append(f"{self.told(wanted)} instead of {self.threads}: {waits}, and no more had a task")
        self.spared += self.threads - wanted
        return self._go_on_with(wanted)

    def _taken_back(self, share: float) -> int:
        """Return the number of threads before some were given back, as the consumer waits for them now."""
        threads, self.spared = self.threads + self.spared, 0
        self.spare = self.spare.failed()
        with_fewer = f"with {self.threads} the consumer waits for them for {100 * share:.0f} % of the time"
        self.decisions.append(f"{self.told(threads)} again: {with_fewer}")
        return self._go_on_with(threads)

    def _has_seen_enough(self, look: Look) -> bool:
        if not look.made:
            return False
        if self.attempt is not None and 2 * look.passed > SHORTEST_LOOK and look.tasks >= max(2 * self.threads, ROUNDS):
            needed = self.attempt.need * self.attempt.look.rate
            if not needed / CLEAR_RATIO < look.rate < needed * CLEAR_RATIO:
                return True
        if look.passed < look.lasts or look.tasks < ROUNDS * self.threads:
            return False
        return look.tasks >= SAMPLE_TASKS or (self.attempt is None and self._only_waits(look))

    def _only_waits(self, look: Look) -> bool:
        """Return whether tasks wait as long as a task alone, from whose wait the first number of threads follows too.

        Of such tasks, few say as much as many others.
        """
        return 0 < self.threads <= self.enough and look.cores_used < IDLE

    def _considered(self, look: Look) -> int | None:
        self.more, self.fewer, self.none = self.more.looked(), self.fewer.looked(), self.none.looked()
        if not self.threads:
            may_pay = self.more.is_over and look.work >= self.pays_from * look.made
            return self._try(self.enough, look, WORTH) if may_pay else None
        if self.threads <= self.enough:
            self.alone = self.threads / look.rate
        contended = look.waited_for_others and look.waiting(self.threads) > self.waiting + CONTENDED
        if self.fixed:
            self._suspect(look, contended)
            return None
        if (fewer := self._fewer(look, contended)) is not None:
            return fewer
        if contended and self.threads <= self.enough:
            return None
        if self._only_waits(look) and look.waiting(self.threads) > OTHER_WORK * self.useless_from:
            self.more, self.useless_from = Wait(-1), math.inf
        return self._try(more, look, WORTH) if self.more.is_over and (more := self._more(look)) else None

    def _fewer(self, look: Look, contended: bool) -> int | None:
        """Return a smaller number of threads to try, or none, if there is a reason."""
        if self._waits_for_gil and self.none.is_over:
            return self._try(0, look, AS_MUCH, suspects_gil=True)
        if self.fewer.is_over and self.threads > self.enough:
            if self._may_be_too_many(look):
                return self._try(self._surely_enough(look), look, 1 / WORTH)
        elif self.fewer.is_over and contended and not look.starved:
            running = max(round(look.spent.cpu / look.passed), 1)
            if running < self.threads:
                return self._try(running, look, AS_MUCH, suspects_gil=look.ran_one)
        return self._try(0, look, AS_MUCH) if self.none.is_over and self._may_need_none(look) else None

    @property
    def _waits_for_gil(self) -> bool:
        """True if the thread that hands over items, and need do nothing else, waits for the GIL that threads hold."""
        return self.is_hosted and self.threads > 0 and (self.holds_gil or (self.contention or 0) >= WANTED)

    def _may_need_none(self, look: Look) -> bool:
        """Return whether the consumer's thread may make as much, since items are cheap and few are made at a time.

        Functions that hold the GIL stay in a thread, from which they may move to processes.
        """
        is_cheap = look.work < BESIDE_OTHERS * self.pays_from * look.made
        few_at_a_time = look.work <= BESIDE_OTHERS * look.passed
        just_waits = self.pays_from and look.work <= look.waited and look.cores_used > ONE_CORE
        return bool((is_cheap and few_at_a_time) or just_waits) and not self._may_move

    @property
    def _may_move(self) -> bool:
        """True if processes may make the items, now or later."""
        return self.holds_gil or self.one_thread or bool(self.elsewhere)

    def _surely_enough(self, look: Look) -> int:
        """Return the smaller number of threads to try: half as many if more than cores have paid, else one a core."""
        has_paid = look.rate * self.alone > PAID * self.enough
        return self.enough if self.has_halved or not has_paid else max(self.threads // 2, self.enough)

    def _may_be_too_many(self, look: Look) -> bool:
        """Return whether threads beyond the cores may wait for each other, or slow tasks down.

        One core may be in use by waits alone, if nobody wants the GIL.
        """
        nobody_wants = self.contention is not None and self.contention < WANTED and look.cores_used < JUST_ONE
        slowed = 0 < SLOWED * self.alone * look.rate < self.threads
        return slowed or (look.cores_used > ONE_CORE and not nobody_wants)

    def _more(self, look: Look) -> int | None:
        """Return a larger number of threads that may raise throughput, if any."""
        waiting = look.waiting(self.threads)
        if waiting < AT_LEAST or look.starved or look.cores_used > FULL * self.cores:
            return None
        wanted = max(threads_for(waiting, self.cores), math.ceil(FURTHER * self.threads))
        most = self.threads * (2 if look.cores_used > ONE_CORE else 4)  # surer where tasks hardly use the cores
        if self._only_waits(look):
            most = MOST_WORKERS
        more = min(wanted, most, MOST_WORKERS)
        return more if more > self.threads else None

    def _try(self, threads: int, look: Look, need: float, *, suspects_gil: bool = False) -> int:
        self.attempt = Attempt(self.threads, look, need, suspects_gil)
        return self._go_on_with(threads, look.lasts)

    def _judged(self, look: Look, attempt: Attempt) -> int | None:
        """Keep the number of threads that was tried, or return the one before."""
        if self.elsewhere == "tried":
            return self._judged_elsewhere(look.rate / attempt.look.rate, attempt)
        self.attempt = None
        ratio, before, tried = look.rate / attempt.look.rate, attempt.before, self.threads
        stays, more = ratio >= attempt.need, tried > before
        if before > self.enough >= tried > 0:
            self.waiting = min(self.waiting, look.waiting(tried))
        if tried <= self.enough:
            self.alone = max(tried, 1) / look.rate
        self.has_halved = stays and not more and tried > self.enough
        if more is not stays and not self.has_halved:
            if tried and before:
                self.useless_from = attempt.look.waiting(before) if more else look.waiting(tried)
            self.more = self.more.failed()
        elif not stays and not tried:
            self.none = self.none.failed()
        elif not stays:
            self.fewer = self.fewer.failed()
        if attempt.suspects_gil or (more and stays):
            self.holds_gil = not more and ratio >= GUILTY
        made = f"made {ratio:.2f} times as much" + (": the functions hold the GIL" if self.holds_gil else "")
        if stays:
            self.decisions.append(f"{_threads(tried)} instead of {before or 'none'}: they {made}")
            self.look = Look()
            return None
        if before <= self.enough and tried and before:  # if more threads made no more, tasks wait for each other
            self.waiting = 0.0 if more or self.holds_gil else attempt.look.waiting(before)
        self.decisions.append(f"{_threads(before)} stay: {tried or 'none'} {made}")
        return self._go_on_with(before)

    @property
    def would_pay_elsewhere(self) -> bool:
        """True if only processes can keep more than one core busy, as far as is known."""
        return (self.holds_gil or self.one_thread) and self.attempt is None and self.alone > 0

    def try_elsewhere(self, processes: int, under_way: int) -> None:
        """Measure from now on how much this many processes make; `under_way` are the tasks that threads still make."""
        threads_made = Look(made=self.threads, passed=max(round(self.alone), 1))
        self.attempt = Attempt(self.threads, threads_made, WORTH)
        self.look = Look(under_way + 2 * processes, LONGEST_LOOK)
        self.threads, self.elsewhere, self.holds_gil, self.spared = processes, "tried", False, 0
        self.spare = self.spare.begun_again()

    def begin_elsewhere(self) -> None:
        """Have processes from the beginning, of which some may be given back, and no others tried."""
        self.elsewhere, self.spare = "stays", self.spare.begun_again()

    def told(self, count: int) -> str:
        """Return a number of threads, or of processes, in words."""
        if self.elsewhere in ("tried", "stays"):
            return f"{count} process{'' if count == 1 else 'es'}"
        return _threads(count)

    def come_back(self) -> None:
        """Continue with one thread, for good."""
        self.attempt, self.elsewhere, self.threads = None, "left", 1
        self.look = Look(self.look.settling)

    def _judged_elsewhere(self, ratio: float, attempt: Attempt) -> None:
        """Decide whether the processes stay; they may have much to import at first."""
        what = f"{self.threads} processes"
        if ratio < attempt.need:
            self.lost += 1
            if self.lost == CHANCES:
                self.elsewhere = "worse"
                self.decisions.append(f"{_threads(attempt.before)} again: {what} made {ratio:.2f} times as much")
            return
        self.attempt, self.elsewhere = None, "stays"
        self.decisions.append(f"{what} instead of {_threads(attempt.before)}: they made {ratio:.2f} times as much")

    def _go_on_with(self, threads: int, lasts: int = SHORTEST_LOOK) -> int:
        self.look, self.last = Look(self.threads, lasts), None
        self.threads = threads
        return threads

    def _suspect(self, look: Look, contended: bool) -> None:
        """Detect by waits alone that the GIL is held, if no other number of threads can be tried."""
        wanted = self.contention is None or self.contention >= WANTED
        held = wanted and contended and look.ran_one and self.threads > 1 and not look.starved
        self.suspicions = self.suspicions + 1 if held else 0
        if self.suspicions == CONVICTED and not self.holds_gil:
            self.holds_gil = True
            waiting = f"a task waits for {look.waiting(self.threads):.1f} times its CPU time"
            self.decisions.append(f"the functions hold the GIL: on {_threads(self.threads)} {waiting}")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _threads(count: int) -> str:
    return f"{count or 'no'} thread{'' if count == 1 else 's'}"


def threads_for(waiting: float, cores: float) -> int:
    """Return the threads that keep the cores busy if tasks wait this multiple of their CPU time (Little's law)."""
    return max(1, round(min(MOST_WORKERS, cores * (1 + waiting))))
