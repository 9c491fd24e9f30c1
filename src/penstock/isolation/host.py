"""The program of a process that makes whole runs for consumers in its parent."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

from penstock.core.surroundings import serve_another_process
from penstock.engine.runs.run import Run
from penstock.engine.runs.scope import CarryOver
from penstock.engine.tasks.observer import Observer
from penstock.engine.workers.lifetime import worker_thread
from penstock.isolation.ahead import AheadOfConsumer
from penstock.isolation.facts import NOT_APART, Reporter, RunOrder, WholePlan
from penstock.memory.pool import SharedMemory
from penstock.plan.blame import blame_given
from penstock.plan.deferred import settled
from penstock.plan.flow import CUT_OFF, Piece
from penstock.plan.node import Node
from penstock.transport.channel import Channel, Message
from penstock.transport.loans import WHOLE_PIECE, Lending
from penstock.transport.program_state import ProgramState, in_force
from penstock.transport.raised import pickled_error
from penstock.transport.serving import ReceivedPlans, begun, forget_warnings, until_let_go
from penstock.transport.unsent import part_at_fault, unsendable, why_unsent

if TYPE_CHECKING:
    from penstock.core.events import RunEvent


def serve(told: dict[str, Any]) -> None:
    """Serve until the parent closes the channel; `told` is what the parent says about itself."""
    serve_another_process("runs")
    channel = begun(told)
    host = Host()
    with until_let_go(channel):
        channel.send(("ready",))
        for message in channel.receive():
            host.take(message)


class Host:
    """Keeper of the plans that were received, of what runs pass on to the next, and of memory lent to the parent."""

    def __init__(self) -> None:
        self.lending = Lending()
        self._plans = ReceivedPlans(self._loaded)
        self._lines = 0

    def take(self, message: Message) -> None:
        """Do what a message says."""
        if not self._plans.take(message):
            number, order = message.head[1:3]
            self._begin(number, order, message.descriptor)

    def _begin(self, plan: int, order: RunOrder, descriptor: int) -> None:
        self._lines += 1
        line = Channel(socket.socket(fileno=descriptor), waits=True)
        self.lending.make_arena(order.settings.memory_budget)
        try:
            loaded = self._plans.loaded(plan)
        except BaseException as error:  # noqa: BLE001 - the consumer raises it
            with suppress(OSError):
                line.send(("not loaded", pickled_error(error)))
            line.close()
            return
        HostedRun(self.lending, self._lines, line, order, *loaded).start()

    def _loaded(
        self, state: ProgramState, kind: type[WholePlan], plan: Node, numbered_from: int, observer: Observer
    ) -> tuple[Node, Observer, CarryOver, ProgramState]:
        return plan, observer, CarryOver(SharedMemory(self.lending.arena)), state


class HostedRun:
    """A run for a consumer at the other end of a line: one thread makes it, another hears the requests."""

    def __init__(
        self,
        lending: Lending,
        number: int,
        line: Channel,
        order: RunOrder,
        plan: Node,
        observer: Observer,
        carry_over: CarryOver,
        state: ProgramState,
    ) -> None:
        self._state = state
        self._lending = lending
        self._number = number
        self._line = line
        observer = copy(observer)  # which begins to count at zero
        self._run = Run(plan, order.settings, observer, order.cursor, carry_over)
        self._observer = observer
        self._watched: Any = None
        self._ahead = AheadOfConsumer(order.settings)
        self._reporter = Reporter(self._run, observer, carry_over.memory)
        self._apart = order.apart

    def start(self) -> None:
        """Begin."""
        worker_thread(self._listen).start()

    def _listen(self) -> None:
        maker = worker_thread(_or_end, self._make)
        maker.start()
        _or_end(self._hear)
        unseen = self._ahead.close()
        try:
            self._run.close()
        finally:
            self._lending.take_back([(self._number, piece, WHOLE_PIECE) for piece in unseen])
            maker.join()
            self._line.close()

    def _hear(self) -> None:
        """Hear the requests, until the consumer ends the line."""
        with suppress(EOFError, OSError):
            for message in self._line.receive():
                asked, loans = message.head
                self._lending.take_back(loans)
                self._ahead.ask(asked)

    def _make(self) -> None:
        try:
            with in_force.used(self._state):
                last = self._made_all()
        except _NotPackedError as error:
            last = ("not packed", pickled_error(error.error), error.item, self._reporter.told())
        except BaseException as error:  # noqa: BLE001 - the consumer raises it
            last = ("failed", pickled_error(error), self._run.failed_at, self._reporter.told())
        self._run.close("exhausted")
        try:
            self._line.send(last)
        except OSError:  # the consumer has gone
            pass
        except Exception as error:  # noqa: BLE001 - what is told cannot be pickled; without an answer, the consumer waits
            self._line.send(("failed", pickled_error(error), None, None))

    def _made_all(self) -> tuple[Any, ...]:
        arena, notice = self._lending.arena, self._lending.notice
        if arena is None:
            self._line.send(("begun", self._number, os.getpid(), 0, notice, False))
        else:
            self._line.send(("begun", self._number, os.getpid(), arena.size, notice, True), descriptor=arena.file.fd)
        self._run.begin()
        self._watched = self._observer.watch(self._run, self._ahead.awaited, self._tell)
        self._ahead.hold(self._run.budget)
        while self._ahead.waited_for_room():
            piece = self._run.hand_over()
            if piece is None:
                break
            self._send(piece)
            forget_warnings()
            del piece  # its memory is free for the next one as soon as the consumer lets it go
        return "end", self._reporter.told()

    def _tell(self, event: RunEvent) -> None:
        """Tell the consumer, which waits, an event at once."""
        with suppress(OSError):  # the consumer has gone
            self._line.send(("event", event))

    def _send(self, piece: Piece) -> None:
        if self._apart and len(piece) > 1:
            self._send_apart(piece)
            return
        if self._apart and (error := why_unsent(piece)) is not None:
            raise self._not_packed(piece, error)
        number = self._ahead.add(piece)
        try:
            made, at, tail = self._lending.lend(
                self._number, number, Piece(piece.chunk, piece.ids, settled(piece.after))
            )
        except BaseException as error:  # noqa: BLE001 - of a user's class; the consumer raises it
            if len(piece) <= 1:
                raise self._not_packed(piece, error) from None
            made, at, tail = None, None, []
        if made is None:
            self._send_apart(piece)
            return
        try:
            self._line.send(("piece", made.packet, at, self._reporter.told_now_and_then()), tail)
        except OSError:  # the consumer has gone
            self._lending.take_back([(self._number, number, WHOLE_PIECE)])
            raise

    def _send_apart(self, piece: Piece) -> None:
        """Send the items of a piece one by one, so that all before one that cannot be sent arrive."""
        last = len(piece) - 1
        for item in range(len(piece)):
            lone = piece.slice(item, item + 1)
            if item == last:
                lone.after = piece.after
            else:
                lone.after = int(piece.after) - last + item if self._run.plan.indexed else CUT_OFF
            self._send(lone)

    def _not_packed(self, piece: Piece, error: BaseException) -> _NotPackedError:
        """Return the error for a piece of one item, or none, that cannot be sent."""
        plan, items = self._run.plan, piece.chunk.elements()
        part = part_at_fault(items[0], self._run.unit) if items else ""
        unsendable(error, plan, NOT_APART, "makes", part)
        if items:
            blame_given(error, plan, int(piece.ids[0]))
        return _NotPackedError(error, int(piece.after) - 1 if plan.indexed else 0)


def _or_end(work: Callable[[], None]) -> None:
    """Work; if that fails, end the process, which its parent sees: without an answer, the consumer would wait."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever functions of the pipeline have done to this process
        try:
            traceback.print_exc()
        finally:
            os._exit(1)


class _NotPackedError(Exception):
    """The error of an item that cannot be sent, with its number if the plan is indexed."""

    def __init__(self, error: BaseException, item: int) -> None:
        super().__init__()
        self.error = error
        self.item = item
