"""The consumer's side of a service: connections to the process, its start, and its replacement if it dies."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import time
from typing import Any, NamedTuple

from penstock.core.arrays import Rows
from penstock.core.blame import add_note
from penstock.core.errors import PlanError, WorkerDiedError, WorkerError
from penstock.core.events import RunEvent
from penstock.core.pickling import dumps
from penstock.core.surroundings import versions
from penstock.elements.chunks.chunk import Chunk, concat
from penstock.engine.runs.run import Run
from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.lifetime import watch_over
from penstock.engine.workers.suspects import ADVICE
from penstock.ops.buffer.options import options_of
from penstock.ops.elementwise.tolerant import handles_errors
from penstock.plan.content.key import ContentKey
from penstock.plan.flow import Mark, Piece
from penstock.plan.node import Node
from penstock.rewrite.passes import PASSES, PLAIN, rewritten
from penstock.service.rows import KEPT_PART
from penstock.service.starting import connected, last_words, remove_left
from penstock.transport.channel import Channel, Message
from penstock.transport.loans import LentFile
from penstock.transport.packets import opened_loan
from penstock.transport.process_settings import ProcessSettings
from penstock.transport.program_state import program_state
from penstock.transport.raised import unpickled_error

FAILED_SERVICES = 3
"""Services in a row that end before they serve, or with the same request, after which it is an error."""
CAREFUL = 64  # requests after the end of a service that are made alone, since one of them may have been the reason


class ServiceKey(NamedTuple):
    """A name, and the identity and content of the plan, with its seeds, that is shared under it.

    The content has the parts of the key of elements as on disk: functions count by their code and what they read, files
    by size and time. What functions `read` of modules and the environment counts where both jobs have it. The identity
    is the fingerprint with the values that functions have `now`, at the beginning of a pass. None of them is part of
    the `fingerprint` of a plan that reads these elements, to which states fit: it has the values of the first pass.
    """

    name: str
    fingerprint: str
    content: Mapping[str, str] = {}
    reads: Mapping[str, str] = {}
    now: str = ""

    def is_like(self, other: ServiceKey) -> bool:
        """Return whether the elements are the same."""
        same = (self.name, self.now, self.content) == (other.name, other.now, other.content)
        return same and all(other.reads.get(name, text) == text for name, text in self.reads.items())

    def difference(self, shared: ServiceKey) -> str:
        """Return a clause that says what differs from those that are `shared` under the name."""
        reads = {name: text for name, text in self.reads.items() if name in shared.reads}
        return (
            ContentKey(reads).difference([{name: shared.reads[name] for name in reads}])
            or ContentKey(self.content).difference([shared.content])
            or "an object that its functions hold is another one"
        )


class ServiceLine:
    """One connection, for one request at a time. Elements come in memory of the service, if it shares some.

    The service keeps that memory until no array here refers to it, or until this process ends.
    """

    def __init__(self, channel: Channel, service: int) -> None:
        """Use a channel to the service with this number among those that the consumer has had."""
        self.service = service
        self.again = 0
        """The number of elements that the service had made again before this connection."""
        self._channel = channel
        self._messages: Iterator[Message] = channel.receive()
        self._lent: LentFile | None = None
        self._process = os.getpid()

    def ask(self, *request: Any) -> Message | None:
        """Send a request and wait for the answer; return `None` if the service has ended."""
        loans = [] if self._lent is None else self._lent.returned()
        try:
            self._channel.send((loans, *request))
            return next(self._messages, None)
        except (EOFError, OSError):
            return None

    def welcomed(self, message: Message) -> None:
        """Take the file of the service's memory out of its welcome, if it came with one."""
        self.again = message.head[1]
        if message.descriptor >= 0:
            self._lent = LentFile(message.descriptor, self._channel.fileno())

    def opened(self, message: Message) -> Any:
        """Return the elements in an answer."""
        _, packet, at, (connection, answer), _ = message.head
        lent = self._lent

        def parts(places: list[tuple[int, int]]) -> list[memoryview]:
            return [] if lent is None else lent.parts(connection, answer, places)

        return opened_loan(packet, at, message.tail, parts)

    def close(self) -> None:
        """Close this end, in a forked child without an effect on the parent's.

        What was lent stays until its last view is gone, and the connection for as long.
        """
        if self._lent is not None and self._process == os.getpid():
            self._channel.end_requests()
        self._lent = None
        with suppress(OSError):
            self._channel.close()


class PreparedElsewhere:
    """The elements of a plan that a service prepares, for any number of threads of this process."""

    def __init__(self, key: ServiceKey, plan: Node) -> None:
        self.key = key
        self.plan = plan
        self._lock = threading.RLock()
        self._idle: list[ServiceLine] = []
        self._lines: set[ServiceLine] = set()
        self._careful = 0  # requests that are still to be made alone
        self._service = 0  # the number of services that have ended
        self._told: list[tuple[weakref.ref[Run], set[str]]] = []  # runs, and what they were told
        self._logged: set[str] = set()
        weakref.finalize(self, _close, self._lines)  # which the lines outlive, also if this object is part of a cycle
        watch_over(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.key, self.plan)

    @property
    def name(self) -> str:
        """The name under which the elements are shared."""
        return self.key.name

    @property
    def run(self) -> Node:
        """The plan after rewrites, as the service runs it."""
        return as_served(self.plan)

    def fingerprint(self) -> tuple[str, ...]:
        """Return the fingerprint of the plan, for that of a plan which reads these elements."""
        return (self.key.fingerprint,)

    def open(self) -> None:
        """Connect to the service, which then lives as long as this object; start it if there is none."""
        with self._lock:
            if not self._lines:
                self._idle.append(self._connected())

    def rows(self, rows: Rows) -> Chunk:
        """Return the elements of these rows; if a service ends meanwhile, they are made one by one."""
        if len(rows) == 1:
            return self._answer(f"row {rows[0]}", "rows", rows)
        try:
            return self._answer(f"{len(rows)} rows", "rows", rows, most=1)
        except WorkerDiedError:
            self._warn()
        return concat([self.rows(rows[at : at + 1]) for at in range(len(rows))])

    def after(self, epoch: int, mark: Mark) -> Piece | None:
        """Return the piece that begins at a mark of epoch `epoch`; `None` at the end."""
        return self._answer(f"the elements after a mark of epoch {epoch}", "after", epoch, mark)

    def _answer(self, wanted: str, *request: Any, most: int = FAILED_SERVICES) -> Any:
        """Return what the service makes; if it ends, another one makes it, up to `most` in all."""
        for tried in range(1, most + 1):
            line = self._taken(is_last=tried == FAILED_SERVICES)
            is_over = was_open = True
            try:
                message = line.ask(*request, self._careful > 0)
                is_over = message is None
            finally:
                if is_over:  # also after an interrupt, with an answer on its way
                    was_open = self._forget(line)
            if message is not None:
                return self._given(message, line)
            if was_open and self._is_first_to_see_end(line) and tried < most:
                self._warn()
        remove_left(self.name)
        error = WorkerDiedError(
            f"share({self.name!r}): {most} processes in a row have ended that made {wanted}\n{ADVICE}"
        )
        error.by_service = True
        raise error

    def _given(self, message: Message, line: ServiceLine) -> Any:
        try:
            kind, *told = message.head
            if kind == "failed":
                error = unpickled_error(told[0])
                if isinstance(error, WorkerDiedError):
                    error.by_service = True
                raise error
            if kind != "made":
                return None
            if told[-1] > line.again:
                self._note(self._made_again())
            return line.opened(message)
        finally:
            with self._lock:
                self._idle.append(line)
                self._careful = max(self._careful - 1, 0)

    def _taken(self, *, is_last: bool) -> ServiceLine:
        with self._lock:
            if self._idle:
                return self._idle.pop(0)  # in turn, so that each tells what was returned
        return self._connected(is_last=is_last)

    def _forget(self, line: ServiceLine) -> bool:
        """Close a connection; return whether it was open: not if this object was closed meanwhile."""
        with self._lock:
            was_open = line in self._lines
            self._lines.discard(line)
        line.close()
        return was_open

    def _is_first_to_see_end(self, line: ServiceLine) -> bool:
        """Return whether the end of a service is news; if so, close the connections that are not in use.

        They have ended with the service; threads with other connections find out themselves.
        """
        with self._lock:
            if line.service != self._service:
                return False
            self._service += 1
            self._careful = CAREFUL
            idle, self._idle = self._idle, []
            self._lines.difference_update(idle)
        for each in idle:
            each.close()
        return True

    # What is told

    def tell(self, run: Run) -> None:
        """Add to the events of a run what happens to the service, each once."""
        with self._lock:
            self._told = [each for each in self._told if each[0]() is not None]
            self._told.append((weakref.ref(run), set[str]()))

    def _note(self, words: str) -> None:
        """Log a fact, and tell it to the runs that have not been told."""
        with self._lock:
            is_new = words not in self._logged
            self._logged.add(words)
            for found, told in self._told:
                run = found()
                if run is not None and words not in told:
                    told.add(words)
                    run.session.events.append(RunEvent(time(), "degraded", f"share({self.name!r})", None, words))
        if is_new:
            logging.getLogger("penstock").warning("%s", words)

    def _warn(self) -> None:
        self._note(f"the process that prepares share({self.name!r}) has ended; another one makes the same elements")

    def _made_again(self) -> str:
        kept = settings_of(self.plan).memory_budget // KEPT_PART
        return (
            f"share({self.name!r}) makes elements again, since a reader asks for them after they have made room for "
            f"others: it keeps those made last, up to {kept / 1e6:,.1f} MB, half of its memory budget. Let it keep "
            "more, with ps.Options(memory_budget=) before share(), or let all jobs go on at one pace"
        )

    # Connecting

    def _connected(self, *, is_last: bool = False) -> ServiceLine:
        """Return a new connection to a service that prepares these elements, the last one that is asked for some."""
        failed = 0
        while failed < FAILED_SERVICES:
            end = connected(self.name, self.plan)
            line = ServiceLine(Channel(end, waits=True), self._service)
            is_welcome = False
            try:
                message = line.ask("hello", versions(), *self.key)
                if message is not None and message.head[0] == "wanted":
                    # elements that have ended services are handled, or named, where worker processes make them
                    spares = is_last or (self._service > 0 and handles_errors(self.plan))
                    message = line.ask("load", self.key, self.plan.label(), self._pickled_plan(), spares)
                if message is not None and message.head[0] == "welcome":
                    line.welcomed(message)
                    is_welcome = True
            finally:
                if not is_welcome:
                    line.close()
            if is_welcome:
                with self._lock:
                    self._lines.add(line)
                return line
            if message is None:
                failed += 1
            elif message.head[0] != "leaving":
                raise self._refused(*message.head)
        wrote = last_words(self.name)
        remove_left(self.name)
        raise WorkerError(
            f"share({self.name!r}): {FAILED_SERVICES} processes in a row have ended before they could serve:\n{wrote}"
        )

    def _pickled_plan(self) -> bytes:
        try:
            state = program_state(self.plan, ProcessSettings.here())
            return dumps((state, self.plan), references=state.references)
        except Exception as error:
            add_note(
                error, f"share({self.name!r}) sends the pipeline to another process: make this inside the function"
            )
            raise

    def _refused(self, why: str, told: Any) -> BaseException:
        if why == "failed":
            error = unpickled_error(told)
            add_note(error, f"while the process that prepares share({self.name!r}) loaded the pipeline")
            return error
        if why == "versions":
            return WorkerError(
                f"share({self.name!r}): the process that prepares this name has {told}, and this one has {versions()}; "
                "use the same versions in all jobs, or another name"
            )
        label, shared = told
        return PlanError(
            f"share({self.name!r}): other elements are shared under this name, by a pipeline that ends in {label}; "
            f"here, {self.key.difference(shared)}; all datasets of a name must have the same pipeline before share() "
            f"(this one ends in {self.plan.label()}), functions that read the same values, and the same seeds: set "
            "ps.Options(seed=), shard after share(), or share under another name"
        )

    # Ends

    def close(self) -> None:
        """Close the connections; later requests make others."""
        with self._lock:
            self._idle.clear()
            _close(self._lines)

    def after_fork(self) -> None:
        """Leave the connections to the parent, in a forked child, which makes others."""
        self._lock = threading.RLock()
        self.close()


def _close(lines: set[ServiceLine]) -> None:
    while lines:
        lines.pop().close()


def as_served(plan: Node) -> Node:
    """Return the plan after rewrites, which follow from its own options alone."""
    return rewritten(plan, PLAIN if options_of(plan).rewrite is False else PASSES).plan
