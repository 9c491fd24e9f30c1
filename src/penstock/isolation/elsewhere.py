"""A run that another process makes: its pieces, what the process tells about it, and its replacement if it dies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from itertools import count
from time import perf_counter_ns, time

import numpy as np

from penstock.core.blame import notes_of
from penstock.core.budget import Account
from penstock.core.errors import WorkerDiedError, WorkerError
from penstock.core.events import RunEvent
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import IsolatedRun, Session
from penstock.engine.tasks.cost import Cost
from penstock.engine.workers.processes.member import RunLine
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.engine.workers.processes.pool import ProcessPool
from penstock.engine.workers.processes.starting import MAKES_RUNS, PoolSetup, obstacle
from penstock.engine.workers.suspects import ADVICE
from penstock.isolation.facts import NOT_APART, RunFacts, RunOrder, WholePlan
from penstock.ops.elementwise.tolerant import handles_errors
from penstock.plan.flow import Flow, Piece
from penstock.plan.node import Node
from penstock.transport.channel import Message
from penstock.transport.loans import WHOLE_PIECE, LentMemory
from penstock.transport.packets import opened_loan
from penstock.transport.raised import unpickled_error
from penstock.transport.unsent import undelivered

NOT_ISOLATED = "the pipeline cannot run in a process of its own, so this one makes the same elements: {}"
APART = 64  # items that are made one by one after a death, since one of them may have been the reason


def isolated(
    session: Session, plan: Node, carry_over: CarryOver, continued: Callable[[], Cursor], unit: str
) -> Flow | None:
    """Return the pieces of a run as another process makes them; `None`, with an event, if none can.

    `continued` returns the cursor from which the next pieces count.
    """
    settings, asked = session.settings, perf_counter_ns()
    if (reason := obstacle()) is not None:
        session.note_once(NOT_ISOLATED.format(reason))
        return None
    try:
        shared = carry_over.workers.plan(WholePlan(plan), session.observer)
    except Exception as error:  # noqa: BLE001 - functions, sources and their attributes raise what they like
        words = "; ".join([f"{type(error).__name__}: {error}", *map(str, notes_of(error))])
        session.note_once(NOT_ISOLATED.format(words))
        return None
    given = settings.given_budget
    setup = PoolSetup(1, settings.native_threads, given, MAKES_RUNS, settings.cores)
    pool = carry_over.workers.pool(setup, settings.memory_budget)
    pool.crew.begun.wait()
    if pool.crew.no_start is not None:
        session.note_once(NOT_ISOLATED.format(pool.crew.no_start))
        return None
    pool.adopt(shared)
    session.starting = perf_counter_ns() - asked
    session.isolated = IsolatedRun()
    return Elsewhere(session, session.isolated, pool, shared, carry_over, continued, unit).pieces()


class Elsewhere:
    """The pieces of a run that another process makes, and the facts that it tells."""

    def __init__(
        self,
        session: Session,
        known: IsolatedRun,
        pool: ProcessPool,
        plan: SharedPlan,
        carry_over: CarryOver,
        continued: Callable[[], Cursor],
        unit: str,
    ) -> None:
        self._session = session
        self._known = known
        self._pool = pool
        self._plan = plan
        self._memory = carry_over.memory
        self._continued = continued
        self._unit = unit
        self._spent = Cost(0, 0)  # by processes before this one
        self._held: list[Account] = []
        self._opened_at = 0  # when the line was opened, ns

    def pieces(self) -> Flow:
        """Yield the pieces of the run in order.

        If the process dies, another one continues after the last piece received, at first with one item at a time. If
        that one dies while it makes the same item, the next one has worker processes make it, so that an element that
        ends them is named; if some operation handles errors, already the second one does. A process that dies with the
        same item nevertheless raises a `WorkerDiedError`. Items that cannot be unpickled together are made again, and
        sent one by one.
        """
        one_by_one, apart, spares, died_at = False, False, False, -1
        handles = handles_errors(self._plan.work.plan)
        while True:
            cursor = self._continued()
            settings = self._session.settings.elsewhere(one_by_one=one_by_one, spares_process=spares)
            order = RunOrder(settings, cursor, apart)
            line = RunLine(self._plan, order)
            self._session.at_close(line.end)
            self._opened_at = perf_counter_ns()
            try:
                self._pool.crew.open(line)
                is_over = yield from self._received(line, APART if one_by_one else None)
                if is_over:
                    return
                if is_over is None:
                    one_by_one = apart = False
                    spares = spares and handles
                    continue
                self._session.check_open()
                why = line.reason()
                self._session.check_open()
            except _NotOpenedError as failed:
                if apart:
                    self._known.failed_at = self._continued().row
                    raise undelivered(self._plan.work.plan, failed.error, "not unpacked", NOT_APART) from None
                one_by_one = apart = True
                continue
            finally:
                self._known.is_begun = False
                line.close()
            if isinstance(why, BaseException):
                raise why
            cursor = self._continued()
            is_again = one_by_one and died_at == cursor.row
            is_error = is_again and spares
            one_by_one, spares = is_again or spares or not handles, is_again or handles
            died_at = cursor.row
            next_ones = "in worker processes" if spares else "one by one"
            self._note_death(str(why), cursor, is_error=is_error, next_ones=next_ones)

    def _note_death(self, how: str, cursor: Cursor, *, is_error: bool, next_ones: str) -> None:
        where = f"{self._unit} {cursor.row}" + (f" of epoch {cursor.epoch}" if cursor.epoch else "")
        plan = self._plan.work.plan
        if is_error:
            self._known.failed_at = cursor.row
            raise WorkerDiedError(f"{where} of {plan.label()} ends the process that makes it: {how}\n{ADVICE}")
        self._spent = Cost(0, 0)
        self._spent += self._session.spent
        words = f"{how}; another process goes on from {where}, and makes the next ones {next_ones}"
        self._session.events.append(RunEvent(time(), "died", plan.label(), (cursor.row, cursor.row + 1), words))
        logging.getLogger("penstock").warning("%s", words)

    def _received(self, line: RunLine, most: int | None) -> Generator[Piece, None, bool | None]:
        """Yield pieces, until there were `most` items; return whether the run is over, `None` if there were so many.

        A false result means that the line has ended.
        """
        lent, run, items = None, 0, 0
        for number in count(1):
            is_received = False
            try:
                message = self._answer(line, number, lent)
                if message is not None and message.head[0] == "begun":
                    lent, run = self._begun(message)
                    message = self._answer(line, number, lent)
                if message is None:
                    return False
                kind = message.head[0]
                if kind != "piece":
                    return self._ended(message)
                loan = (run, number)
                piece = self._opened(message, lent, loan)
                is_received = True
            finally:
                if not is_received and lent is not None:
                    lent.give_back((run, number, WHOLE_PIECE))
            items += len(piece)
            del message
            yield piece
            del piece
            if most is not None and items >= most:
                return None
        return False

    def _answer(self, line: RunLine, number: int, lent: LentMemory | None) -> Message | None:
        """Ask for a piece; return the message that comes, after events that are told meanwhile."""
        message = line.ask((number, [] if lent is None else lent.returned()))
        while message is not None and message.head[0] == "event":
            self._session.events.append(message.head[1])
            message = line.receive()
        return message

    def _begun(self, message: Message) -> tuple[LentMemory | None, int]:
        """Return the memory that the process lends, and the number of the run there."""
        _, run, owner, size, notice, has_memory = message.head
        self._known.is_begun = True
        self._session.starting += perf_counter_ns() - self._opened_at
        if notice is not None:
            self._session.note_once(notice)
        return (self._pool.lent(owner, message.descriptor, size) if has_memory else None), run

    def _opened(self, message: Message, lent: LentMemory | None, loan: tuple[int, int]) -> Piece:
        _, packet, at, told = message.head
        if told is not None:
            self._take(told)

        def parts(places: list[tuple[int, int]]) -> list[np.ndarray]:
            return [] if lent is None else [lent.array((*loan, n), *place) for n, place in enumerate(places)]

        try:
            return opened_loan(packet, at, message.tail, parts)
        except Exception as error:  # noqa: BLE001 - of a user's class
            raise _NotOpenedError(error) from None

    def _ended(self, message: Message) -> bool:
        """Return true at the end of the run; raise the error that has ended it."""
        kind, *told = message.head
        if told[-1] is not None and isinstance(told[-1], RunFacts):
            self._take(told[-1])
        if kind == "end":
            return True
        error = unpickled_error(told[0])
        if kind in ("failed", "not packed"):
            self._known.failed_at = told[1]
            raise error
        if not isinstance(error, WorkerError):
            error = undelivered(self._plan.work.plan, error, kind, NOT_APART)
        raise error

    def _take(self, told: RunFacts) -> None:
        """Take over the facts that the process tells."""
        session = self._session
        self._known.mode, self._known.ahead, self._known.made_elsewhere = told.mode, told.ahead, told.made_elsewhere
        session.tuners = [told.tuner]
        session.has_threads = told.has_threads
        session.spent = Cost(0, 0)
        for each in (self._spent, told.spent):
            session.spent += each
        session.events.extend(told.events)
        if told.outline is not None:
            session.observer.adopt(told.outline)
        session.observer.absorb(told.counted)
        self._memory.elsewhere = (told.live_bytes, told.peak_bytes)
        for note in told.notes:
            session.budget.note(note)
        for account in self._held:
            account.close()
        self._held = [session.account(each.name, each.kind) for each in told.held]
        for account, each in zip(self._held, told.held, strict=True):
            account.add(each.nbytes)
            account.peak, account.grows = each.peak, each.grows


class _NotOpenedError(Exception):
    """Items that cannot be unpickled, with the error that says so."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
