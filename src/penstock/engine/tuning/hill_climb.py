"""How many threads to go on with: a climb on what was made while they ran, one measured step at a time.

- *More* are tried where tasks wait and cores are idle; they stay if they make a tenth more.
- *Fewer* are tried where somebody uses the cores while tasks wait, so that perhaps they wait for each other: as many
  as there are cores, or as ran at a time; they stay if they make as much.
- What was tried in vain is tried again only after four times as long, so the number comes to rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from penstock.engine.task import Cost

MS = 1_000_000  # ns
MOST_WORKERS = 64
SHORTEST_LOOK, LONGEST_LOOK = 50 * MS, 200 * MS
SAMPLE = 16  # tasks of a look, at the least
ROUNDS = 4  # tasks of each thread in a look, at the least
PACED = 0.1  # of the time that the consumer waited; below, it sets the pace
FULL = 0.95  # of the cores in use: none is left for more threads
ONE_CORE = 0.7  # in use: somebody runs for whom others may wait
JUST_ONE = 1.2
STARVED = 0.2  # of tasks' time without a core; beyond, other processes may have had it
CONTENDED = 0.4  # CPU times that a task waits longer than alone
SLOWED = 2.0  # times that a task takes longer than alone
AT_LEAST = 0.5  # CPU times that a task waits before more threads are tried
FURTHER = 1.5  # times as many, where tasks seem to have the threads that they want and still leave cores idle
WORTH = 1.1  # times as much have more threads to make
AS_MUCH = 0.95  # times as much have fewer threads than cores to make
GUILTY = 0.75  # times as much one thread makes at the least, where it is the GIL that two wait for
PLAIN = 1.6  # times more or less than what is needed: half a short look is enough to judge
PATIENCE = 4  # looks before what was tried in vain is tried again, and how many times longer the next time
LONGEST_PATIENCE = 1024
CONVICTED = 2  # looks in a row that find the GIL held before it is believed
LONGEST_YIELD = 10 * MS  # ns; who waits for the GIL asks again every 5 ms


@dataclass
class Look:
    """What tasks did for a while, all with one number of threads, once `settling` tasks begun before it have ended."""

    settling: int = 0
    lasts: int = SHORTEST_LOOK  # ns at the least
    tasks: int = 0
    made: float = 0.0  # items
    spent: Cost = field(default_factory=lambda: Cost(0, 0))
    passed: int = 0  # ns on the wall clock
    used: int = 0  # ns of CPU time, by the whole process
    waited: int = 0  # ns that the consumer waited, for whom threads then had work to do

    @property
    def rate(self) -> float:
        """Items a ns."""
        return self.made / self.passed

    @property
    def cores_used(self) -> float:
        """Cores that this process kept busy."""
        return self.used / self.passed

    def waiting(self, threads: int) -> float:
        """How many times their CPU time tasks waited for something other than a core: within them, or to begin.

        What is blocked has given up its core; time that a virtual machine lost only looks like it.
        """
        spent = self.spent
        within = spent.blocked if spent.yields else 0
        between = max(threads * self.waited - spent.wall, 0)
        return (within + between) / spent.cpu if spent.cpu else math.inf

    @property
    def ran_one(self) -> bool:
        """Whether tasks used one core, as those do that hold the GIL."""
        return ONE_CORE * self.passed < self.spent.cpu < JUST_ONE * self.passed

    @property
    def waited_for_others(self) -> bool:
        """Whether tasks waited no longer at a time than for the GIL, while somebody used a core."""
        return self.cores_used > ONE_CORE and self.spent.yields >= self.spent.blocked / LONGEST_YIELD

    @property
    def starved(self) -> bool:
        """Whether tasks were without a core for much of the time."""
        return self.spent.starved > STARVED * self.spent.wall


@dataclass(frozen=True)
class Attempt:
    """Another number of threads being tried: how many there were before, and what was seen of them."""

    before: int
    look: Look  # at those
    need: float  # times what they made, to stay
    suspects_gil: bool = False


@dataclass
class HillClimb:
    """The number of threads while they run; `decisions` is where it says why it changed."""

    cores: float
    threads: int
    alone: float  # ns an item took with no more threads than cores; 0 where it is not known
    waiting: float  # how many times its CPU time a task waited then; infinite where it is not known
    decisions: list[str]
    fixed: bool = False  # the number was asked for, and does not change
    holds_gil: bool = False
    suspicions: int = 0  # looks in a row that found the GIL held, where no other number can be tried
    look: Look = field(default_factory=Look)
    attempt: Attempt | None = None
    more_in: int = 0  # looks until more threads may be tried
    fewer_in: int = 0
    patience_for_more: int = PATIENCE
    patience_for_fewer: int = PATIENCE
    clocks: tuple[int, int] | None = None

    @property
    def enough(self) -> int:
        """Threads that keep the cores busy where nobody waits."""
        return max(round(self.cores), 1)

    def heir(self, decisions: list[str]) -> HillClimb:
        """A climb that goes on where this one is, in another run.

        Fewer threads may be tried again at once, though not run after run: what was on a disk may be in memory now.
        """
        fewer_in = min(self.fewer_in, 0) if self.patience_for_fewer <= PATIENCE**2 else self.fewer_in
        return replace(
            self,
            decisions=decisions,
            look=replace(self.look, spent=replace(self.look.spent)),
            fewer_in=fewer_in,
            clocks=None,
        )

    def observe(self, cost: Cost, items: float) -> None:
        """Take in what a task took that made this many items."""
        look = self.look
        if look.settling:
            look.settling -= 1
            return
        look.tasks += 1
        look.made += items
        look.spent += cost

    def retuned(self, now: int, used: int, waited: int) -> int | None:
        """How many threads to go on with, where that is another number; asked after some parcels.

        It is `now` on the wall clock; this process has `used` so much CPU time, and they were `waited` for.
        """
        look, clocks, self.clocks = self.look, self.clocks, (now, used)
        if look.settling or clocks is None:
            return None
        look.passed += now - clocks[0]
        look.used += used - clocks[1]
        look.waited += waited
        if not self._has_seen_enough(look):
            return None
        self.look = Look(lasts=min(2 * look.lasts, LONGEST_LOOK))
        if look.waited < PACED * look.passed:
            return None  # the consumer sets the pace
        return self._considered(look) if self.attempt is None else self._judged(look, self.attempt)

    def _has_seen_enough(self, look: Look) -> bool:
        if self.attempt is not None and 2 * look.passed > SHORTEST_LOOK and look.tasks >= 2 * self.threads:
            needed = self.attempt.need * self.attempt.look.rate
            if not needed / PLAIN < look.rate < needed * PLAIN:
                return True
        return look.passed >= look.lasts and look.tasks >= max(SAMPLE, ROUNDS * self.threads)

    def _considered(self, look: Look) -> int | None:
        """Whether to try another number of threads, after a look at this one."""
        self.more_in -= 1
        self.fewer_in -= 1
        if self.threads <= self.enough:
            self.alone = self.threads / look.rate
        contended = look.waited_for_others and look.waiting(self.threads) > self.waiting + CONTENDED
        if self.fixed:
            self._suspect(look, contended)
            return None
        if self.threads > self.enough:
            if self.fewer_in < 0 and self._may_be_too_many(look):
                return self._try(self.enough, look, 1 / WORTH)
        elif contended:
            running = max(round(look.spent.cpu / look.passed), 1)
            if self.fewer_in < 0 and running < self.threads and not look.starved:
                return self._try(running, look, AS_MUCH, suspects_gil=look.ran_one)
            return None
        return self._try(more, look, WORTH) if self.more_in < 0 and (more := self._more(look)) else None

    def _may_be_too_many(self, look: Look) -> bool:
        """Whether threads beyond the cores may wait for each other, or take longer than they should."""
        return look.cores_used > ONE_CORE or 0 < look.rate * self.alone * SLOWED < self.threads

    def _more(self, look: Look) -> int | None:
        """How many threads may make more than there are now."""
        waiting = look.waiting(self.threads)
        if waiting < AT_LEAST or look.starved or look.cores_used > FULL * self.cores:
            return None
        wanted = max(threads_for(waiting, self.cores), math.ceil(FURTHER * self.threads))
        most = self.threads * (2 if look.cores_used > ONE_CORE else 4)  # surer where tasks hardly use the cores
        more = min(wanted, most, MOST_WORKERS)
        return more if more > self.threads else None

    def _try(self, threads: int, look: Look, need: float, *, suspects_gil: bool = False) -> int:
        self.attempt = Attempt(self.threads, look, need, suspects_gil)
        return self._go_on_with(threads, look.lasts)

    def _judged(self, look: Look, attempt: Attempt) -> int | None:
        """Whether the number of threads that was tried stays."""
        self.attempt = None
        ratio, before, tried = look.rate / attempt.look.rate, attempt.before, self.threads
        stays, more = ratio >= attempt.need, tried > before
        if before > self.enough >= tried:
            self.waiting = min(self.waiting, look.waiting(tried))
        if tried <= self.enough:
            self.alone = tried / look.rate
        if more is not stays:
            self.more_in, self.patience_for_more = self.patience_for_more, _longer(self.patience_for_more)
        elif not stays:
            self.fewer_in, self.patience_for_fewer = self.patience_for_fewer, _longer(self.patience_for_fewer)
        if attempt.suspects_gil or (more and stays):
            self.holds_gil = not more and ratio >= GUILTY
        made = f"made {ratio:.2f} times as much" + (": the functions hold the GIL" if self.holds_gil else "")
        if stays:
            self.decisions.append(f"{_threads(tried)} in place of {before}: they {made}")
            self.look = Look()
            return None
        if before <= self.enough:  # what they wait for is each other where more made no more
            self.waiting = 0.0 if more or self.holds_gil else attempt.look.waiting(before)
        self.decisions.append(f"{_threads(before)} stay: {tried} {made}")
        return self._go_on_with(before)

    def _go_on_with(self, threads: int, lasts: int = SHORTEST_LOOK) -> int:
        self.look = Look(self.threads, lasts)
        self.threads = threads
        return threads

    def _suspect(self, look: Look, contended: bool) -> None:
        """Tell whether the GIL is held by what tasks wait, where no other number of threads can be tried."""
        held = contended and look.ran_one and self.threads > 1 and not look.starved
        self.suspicions = self.suspicions + 1 if held else 0
        if self.suspicions == CONVICTED and not self.holds_gil:
            self.holds_gil = True
            waiting = f"a task waits for {look.waiting(self.threads):.1f} times its CPU time"
            self.decisions.append(f"the functions hold the GIL: on {_threads(self.threads)} {waiting}")


def _longer(patience: int) -> int:
    return min(PATIENCE * patience, LONGEST_PATIENCE)


def _threads(count: int) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"


def threads_for(waiting: float, cores: float) -> int:
    """As many threads as keep the cores busy with tasks that wait for this many times their CPU time (Little's law)."""
    return max(1, round(min(MOST_WORKERS, cores * (1 + waiting))))
