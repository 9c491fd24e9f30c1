"""The crew: worker processes and the one thread of the parent that waits for all of them, and replaces the dead."""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections import deque
from functools import partial
from time import monotonic

from penstock.core.errors import WorkerError
from penstock.engine.workers.lifetime import CREW
from penstock.engine.workers.processes.errands import Errands
from penstock.engine.workers.processes.member import Member, Output, RunLine, log, warn_of
from penstock.engine.workers.processes.starting import MAKES_RUNS, MAKES_TASKS, PoolSetup, started
from penstock.engine.workers.processes.ticket import Ticket
from penstock.engine.workers.suspects import BY_OTHERS, Death, told_code
from penstock.memory.arena import Arena
from penstock.memory.cgroups import oom_kills
from penstock.transport.channel import Message

FAILED_STARTS = 2  # in a row, by the worker's own doing, after which no other is started
KILLED_STARTS = 1000  # in a row, by signals from outside
OTHERWISE = {MAKES_TASKS: 'Options(executor="threads")', MAKES_RUNS: "Options(isolate=False)"}
TIME_TO_END = 0.5  # seconds that workers have to end by themselves


class Crew:
    """Worker processes that make tickets in the order in which they come.

    One thread starts the workers, sends them tasks, reads what they send, and learns from their pidfds when they end.
    It waits on all descriptors at once, until a task has taken so long that it must look at its worker. Only that
    thread touches the state: others leave an errand for it, which takes no lock, so that neither an interrupt nor a
    finalizer can find the state half changed.
    """

    def __init__(self, setup: PoolSetup, arena: Arena | None) -> None:
        self.failure: WorkerError | None = None
        self.begun = threading.Event()
        """Set once a worker was ready, or when it is known that none will be."""
        self.no_start: str | None = None
        """The reason why not one worker could be started."""
        self._setup = setup
        self._arena = arena
        self._waiting: deque[Ticket] = deque()
        self._lines: deque[RunLine] = deque()  # that no worker has yet
        self._members: list[Member] = []
        self._errands = Errands()
        self._holds = False  # tickets that may not begin yet
        self.size = setup.workers
        """The number of workers that there are to be."""
        self._numbers = 0  # workers started so far
        self._bad_starts = self._killed_starts = 0
        self._oom_kills = oom_kills()
        self._deadline: float | None = None  # for workers to end, once the crew is to end
        for _ in range(setup.workers):
            self._errands.leave(self._start)
        self._thread = threading.Thread(target=self._run, name=CREW, daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """True once a worker has taken tasks, or none ever will; tasks then wait for a worker, never for nothing."""
        return self.begun.is_set()

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that take tasks."""
        return [member.pid for member in list(self._members) if member.ready and not member.leaves]

    def held_bytes(self) -> int:
        """Return the bytes that the workers hold beside their tasks: caches, what functions keep, freed memory."""
        return sum(member.held for member in list(self._members))

    def submit(self, ticket: Ticket) -> None:
        """Make a ticket after those that wait. The thread is only woken if a worker may take it at once."""
        self._errands.leave(partial(self._accept, ticket), urgent=False)

    def admit(self) -> None:
        """Look again at tickets that may not begin, if there are some, now that there may be more room."""
        if self._holds:
            self._errands.leave(self._dispatch)

    def open(self, line: RunLine) -> None:
        """Hand a line to a worker, which makes a run, now or once one is ready."""
        self._errands.leave(partial(self._open, line))

    def resize(self, size: int) -> None:
        """Continue with this many workers: surplus ones end after the tasks that they have, others are started."""
        if size != self.size:
            self.size = size
            self._errands.leave(self._resize)

    def forget(self, plan: int) -> None:
        """Let all workers forget a plan."""
        self._errands.leave(lambda: [each.forget(plan) for each in self._members])

    def stop(self) -> None:
        """Let all workers end: by themselves, or within half a second by force."""
        self._errands.leave(self._stop)

    def after_fork(self) -> None:
        """Close the descriptors in a forked child, in which there is neither the thread nor a worker."""
        for member in self._members:
            member.abandon()
        for line in self._lines:
            line.given()
        self._members = []
        self._errands.after_fork()  # plans that are let go have nobody to forget them

    # The thread

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers inherit it until they ignore the signal
        while self._deadline is None or self._members:
            due = min((member.overdue.due for member in self._members), default=math.inf)
            due = due if self._deadline is None else self._deadline
            self._errands.wait(None if due == math.inf else max(due - monotonic(), 0))
            self._errands.wakes = self._would_take()  # before the last errands: who leaves one later sees it
            self._errands.run()
            if due > (now := monotonic()):
                continue
            if self._deadline is None:
                self._look(now)
            elif now >= self._deadline:
                self._deadline = now + TIME_TO_END
                for member in self._members:
                    member.signal(signal.SIGKILL)
        self._errands.end()

    def _would_take(self) -> bool:
        """Return whether a new ticket may have to be looked at before a worker sends something, or ends."""
        members = self._members
        return self.failure is not None or not members or any(member.has_place() for member in members)

    def _look(self, now: float) -> None:
        """Look at the workers that take long for their task."""
        for member in self._members:
            if member.overdue.due <= now:
                member.overdue.look(now)

    def _accept(self, ticket: Ticket) -> None:
        if self.failure is not None:
            ticket.finish(self.failure)
            return
        self._waiting.append(ticket)
        self._dispatch()

    def _open(self, line: RunLine) -> None:
        if self.failure is not None:
            line.over(self.failure)
            return
        self._lines.append(line)
        self._open_lines()

    def _open_lines(self) -> None:
        """Hand the lines that wait to the workers with the fewest."""
        ready = [member for member in self._members if member.ready]
        while ready and self._lines:
            self._bad_starts = self._killed_starts = 0
            member = min(ready, key=lambda each: len(each.lines))
            if not member.open(self._lines.popleft()):
                self._errands.await_room(member.channel.fileno(), awaited=True)

    def _stop(self) -> None:
        if self._deadline is None:
            self._deadline = monotonic() + TIME_TO_END
            self._fail(WorkerError("the worker processes were ended"))
            for member in self._members:
                member.channel.end()

    @property
    def _staying(self) -> list[Member]:
        return [member for member in self._members if not member.leaves]

    def _resize(self) -> None:
        staying = sorted(self._staying, key=lambda member: len(member.tickets), reverse=True)
        for member in staying[self.size :]:
            member.leave()
        for _ in range(len(staying), self.size):
            self._start()

    def _start(self) -> None:
        if self._deadline is not None or self.failure is not None:
            return
        self._numbers += 1
        try:
            member = Member(self._numbers, started(self._setup, self._arena))
        except OSError as error:
            if not self._members and self._numbers == self._setup.workers:
                self.no_start = f"{type(error).__name__}: {error}"
                self.begun.set()
            elif self._numbers > self._setup.workers and not self._members:  # others have run
                self._fail(WorkerError(f"the last worker process has ended and cannot be replaced: {error}"))
            return
        self._members.append(member)
        self._errands.listen(member.channel.fileno(), partial(self._heard, member))
        self._errands.listen(member.pidfd, partial(self._ended, member))
        for each in member.outputs:
            self._errands.listen(each.fileno(), partial(self._printed, each))

    def _printed(self, pipe: Output) -> None:
        if not pipe.forward():
            self._errands.ignore(pipe.fileno())

    def _heard(self, member: Member) -> None:
        """Take what a worker has sent, and send it what is left of earlier messages."""
        try:
            for message in member.channel.receive():
                self._take(member, message)
            if member.channel.flush() and member.sent():
                self._errands.await_room(member.channel.fileno(), awaited=False)
        except (EOFError, OSError):  # the worker has closed the channel, and ends
            self._errands.ignore(member.channel.fileno())

    def _take(self, member: Member, message: Message) -> None:
        kind, *told = message.head
        if kind == "log":
            log(told[0], member.number)
            return
        if kind == "warning":
            warn_of(*told)
            return
        if kind == "ready":
            member.ready = True
            self.begun.set()
            self._dispatch()
            self._open_lines()
            return
        if kind == "loaded":
            member.loaded(told[0])
            return
        member.resident, member.held = told[1]
        ticket = member.done()
        if member.leaves:
            member.leave()
        self._bad_starts = self._killed_starts = 0
        if ticket.may_begin is None:
            self._dispatch()
        again = ticket.answer(kind, told[2], told[3], message.tail)
        self._dispatch()  # now that the result is counted
        self._first(again)

    def _first(self, tickets: list[Ticket]) -> None:
        """Make these tickets before those that wait."""
        if self.failure is not None:  # those that wait have failed
            for ticket in tickets:
                ticket.finish(self.failure)
        elif tickets:
            self._waiting.extendleft(reversed(tickets))
            self._dispatch()

    def _dispatch(self) -> None:
        """Send waiting tickets that may begin to the workers with the fewest."""
        while self._waiting and any(member.has_place() for member in self._members):
            ticket = self._admitted()
            if ticket is None:
                return
            free = [member for member in self._members if member.has_place(ahead=not ticket.waits_alone)]
            if not free:
                self._waiting.appendleft(ticket)
                return
            member = min(free, key=lambda each: len(each.tickets))
            if not member.give(ticket):
                self._errands.await_room(member.channel.fileno(), awaited=True)

    def _admitted(self) -> Ticket | None:
        """Take out the first ticket that may begin, and those that were dropped before it."""
        held: list[Ticket] = []
        found = None
        self._holds = True  # before the first look: who makes room later sees it, and asks to look again
        while self._waiting and found is None:
            ticket = self._waiting.popleft()
            if ticket.dropped:
                continue
            if ticket.may_begin is None or ticket.may_begin():
                found = ticket
            else:
                held.append(ticket)
        self._holds = bool(held)
        self._waiting.extendleft(reversed(held))
        return found

    # Deaths

    def _ended(self, member: Member) -> None:
        """Take the last messages of a worker that has ended, and let others make its tickets again."""
        code = member.reaped()
        if code is None:
            return
        self._heard(member)
        for each in member.outputs:
            self._printed(each)
        for descriptor in (member.channel.fileno(), member.pidfd, *(each.fileno() for each in member.outputs)):
            self._errands.ignore(descriptor)
        self._members.remove(member)
        member.close()
        death = self._death(member, code)
        for line in list(member.lines):
            line.over(death.told)
        if self._deadline is not None:
            return
        tickets = [ticket for ticket in member.tickets if not ticket.dropped]
        if not tickets and not member.leaves:
            logging.getLogger("penstock").warning("%s; it had no task", death.told)
        if not member.leaves and (not member.ready or (death.by_others and tickets and not death.begun)):
            self._count_start(code, death)
        if tickets and tickets[0] is member.tickets[0]:
            tickets[:1] = tickets[0].died(death)
        self._first(tickets)
        if len(self._staying) < self.size:
            self._start()

    def _death(self, member: Member, code: int) -> Death:
        before, self._oom_kills = self._oom_kills, oom_kills()
        lacked_memory, was_stuck = code == -signal.SIGKILL and self._oom_kills > before, member.overdue.ended
        why = ", since its task took too long" if was_stuck else ", likely for lack of memory" if lacked_memory else ""
        size = f", with {member.resident / 1e6:,.0f} MB resident after its last task" if member.resident else ""
        by_others = -code in BY_OTHERS and not lacked_memory and not was_stuck
        how = f"{member.name} ended by {told_code(code)}{why}{size}"
        return Death(how, member.last_words, by_others, was_stuck, member.is_making)

    def _count_start(self, code: int, death: Death) -> None:
        """Count a worker that ended before it began a task; after several in a row, give up."""
        if -code in BY_OTHERS:
            self._killed_starts += 1
        else:
            self._bad_starts += 1
        if self._bad_starts >= FAILED_STARTS or self._killed_starts >= KILLED_STARTS:
            self._fail(
                WorkerError(
                    f"worker processes end before they take a task: {death.told}\n"
                    f"{OTHERWISE[self._setup.program]} runs the pipeline in this process, with the same elements"
                )
            )

    def _fail(self, failure: WorkerError) -> None:
        self.failure = failure
        self.begun.set()
        waiting, self._waiting = list(self._waiting), deque()
        for ticket in waiting:
            ticket.finish(failure)
        while self._lines:
            self._lines.popleft().over(failure)
