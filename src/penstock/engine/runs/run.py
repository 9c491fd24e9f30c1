"""One pass over one epoch: its position, its counters, and the four ways it can end."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.core.errors import ClosedError, WorkerError
from penstock.elements.footprint import memory_of
from penstock.engine import runs, workers
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.cursors.position import Position, RowPosition, StreamPosition
from penstock.engine.runs.feeds import RowFeed
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.runs.stage import Stage, Stretch
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.slots import StreamSlots
from penstock.engine.tuning.settings import Settings
from penstock.engine.tuning.tuner import LOOKS, THREAD_PAYS, Tuner
from penstock.engine.workers.lifetime import watch_over
from penstock.engine.workers.native_thread import Gathered
from penstock.engine.workers.window import WHILE_WAITING
from penstock.ops.group.batching import batching_of, rows_in_all
from penstock.plan.flow import Flow, Piece, close
from penstock.plan.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.core.budget import Budget
    from penstock.core.tunings import Tuning
    from penstock.engine.runs.scope import Scope
    from penstock.engine.workers.following import Following
    from penstock.engine.workers.producer import Producer

AHEAD = 4  # elements of a stream that are kept ready by default
OTHER_CORES = "the tuning was found on {:g} cores, and is used on {:g}: it.tuning() of a run without it may be better"
MOVE_KINDS = ("moved", "stayed")  # kinds of events of a stage that processes make, or would make if they could
AGAIN = "a new iterator: load_state_dict() of the failed iterator's state_dict(), then next()"
"""The way to make a failed element of a stream again, without the elements before it."""


Isolate: TypeAlias = "Callable[[Session, Node, CarryOver, Callable[[], Cursor], str], Flow | None]"
"""Returns the pieces of a plan as another process makes them; `None`, with an event, if none can.

The arguments are the session, the plan, what runs pass on to the next, a function that returns the cursor from which
the next pieces count, and the unit of the items in words.
"""


@dataclass(slots=True, eq=False)
class Totals:
    """The items that a run has made so far, and the rows that they hold."""

    items: int = 0
    rows: int = 0


class Run:
    """A pass that makes the items of one epoch from a cursor on.

    A run ends in one of four ways: *exhausted* (the epoch is over), *closed* (by the consumer), *failed* (an exception
    was raised) or *cancelled* (an interrupt reached the consumer while it waited). Afterwards no worker is left.
    """

    def __init__(
        self,
        plan: Node,
        settings: Settings,
        observer: Observer,
        cursor: Cursor,
        carry_over: CarryOver,
        *,
        drawn_seed: int | None = None,
        isolate: Isolate | None = None,
    ) -> None:
        """Begin at `cursor`; `drawn_seed` is the seed of unseeded operations, if the user did not set one.

        If `isolate` is given, another process makes the run, if one can.
        """
        self.plan = plan
        self.ended: str | None = None
        self.made = Totals()
        self.unit = "element" if batching_of(plan) is None else "batch"
        self.epoch = cursor.epoch
        self.position: Position = RowPosition(cursor) if plan.indexed else StreamPosition(cursor)
        self._observer = observer
        self._drawn_seed = drawn_seed
        self._carry_over = carry_over
        self._pause = _Pause()
        self._stage: Stage | None = None
        self._isolate = isolate
        self._producer: Producer[Piece] | None = None
        self._following: Following | None = None
        self._flow: Flow = iter(())
        self.session = Session(settings, carry_over, observer)
        """The workers and tuners of the run, and what it tells of itself; another one in a forked child."""
        self._is_begun = False  # set by the first request for items, so that an interrupt finds all that has begun
        watch_over(self)

    def count_on(self, before: Run) -> None:
        """Add to the counts of a run that has stopped where this one begins."""
        self.made, self.session.spent = before.made, before.session.spent

    @property
    def tuner(self) -> Tuner:
        """The tuner of the stage that took the most time."""
        tuners = self.session.tuners
        return max(tuners, key=lambda tuner: tuner.item_wall) if tuners else Tuner(None)

    @property
    def settings(self) -> Settings:
        """The settings of the run, which may change while it is under way."""
        return self.session.settings

    @property
    def budget(self) -> Budget:
        """The memory budget, and what each part of the run holds of it."""
        return self.session.budget

    def tuning(self, operations: tuple[str, ...]) -> Tuning:
        """Return the settings found so far, and why, for a pipeline with these operations as it was written."""
        from penstock.core.tunings import Tuning  # for reports, and takes a millisecond to load

        session, settings, budget = self.session, self.settings, self.budget
        threads = max((tuner.threads for tuner in session.tuners), default=0)
        in_threads = session.has_threads and threads > 0
        executor = "processes" if session.made_elsewhere else "threads" if in_threads else "inline"
        known = session.tuners if session.isolated is None or self.plan.indexed else []  # one of them is told
        why = [reason for tuner in session.tuners for reason in tuner.reasons()]
        why += [event.words for event in session.events if event.kind in MOVE_KINDS]
        if executor == "inline" and settings.executor == "inline":
            required = "a function that one thread only may call" if settings.kept_here else "the options"
            why.append(f"inline, as required by {required}")
        if budget.given and budget.short:
            why.append(f"Options(memory_budget={budget.limit:,}) leaves no room for more items ahead")
        workers, tasks = 1 if executor == "inline" else threads, tuple(tuner.tasks() for tuner in known)
        return Tuning(executor, workers, settings.available_cores, operations, tasks, tuple(dict.fromkeys(why)))

    @property
    def live_bytes(self) -> int:
        """The bytes of batches that are in use."""
        return self._carry_over.memory.live_bytes

    @property
    def is_watched_elsewhere(self) -> bool:
        """True if the process that makes the run tells when nothing moves."""
        return self.session.isolated is not None and self.session.isolated.is_begun

    @property
    def failed_at(self) -> int:
        """The number of the item that failed."""
        if not self.plan.indexed:
            return self.position.cursor().row
        made_by = self.session.isolated or self._stage
        return 0 if made_by is None else made_by.failed_at

    @property
    def is_parallel(self) -> bool:
        """True if several threads make the elements, or would if every thread could call the functions."""
        settings = self.session.settings
        if settings.workers == 1:
            return False
        return self.session.has_threads or (settings.kept_here and settings.would_pay(self.tuner))

    @property
    def pieces_ahead(self) -> int:
        """The number of jobs or pieces begun and not handed out yet."""
        return self.session.jobs_ahead + (0 if self._producer is None else len(self._producer))

    def cursor(self, left: int) -> Cursor:
        """Return the cursor to continue from, if `left` of the items handed out last were not received."""
        return self.position.cursor(left)

    def items(self) -> list[Any] | Any | None:
        """Return a list or a queue of the next items; `None` when the epoch is over.

        The position counts them once the caller, which has them, sets its `unreceived` to 0.
        """
        if self.ended is not None:
            if self.ended == "exhausted":
                return None
            raise runs.failures.over(self.ended)
        try:
            if not self._is_begun:
                self.begin()
            items = self._items() if self._following is None else self._following.around(self._items)
        except Exception as error:
            self._check_open()
            self.close("failed")
            named = self._named(error)
            if named is error:
                raise
            raise named from error
        except BaseException:  # KeyboardInterrupt, SystemExit
            self.close("cancelled")
            raise
        if items is None:
            self._check_open()
            self.close("exhausted")
        return items

    def _check_open(self) -> None:
        """Raise a `ClosedError` if another thread has closed the run."""
        if self.ended is not None:
            raise ClosedError(WHILE_WAITING) from None

    def close(self, ended: str = "closed") -> None:
        """Stop at once and drop all waiting work; a task asleep in a user's function is left to end by itself."""
        if self.ended is None:
            self.ended = ended
        self.session.controls.resume()
        self.session.close()
        if self._producer is not None:  # closed with the session
            return
        with suppress(ValueError):  # the flow is running in another thread, which the closed session wakes
            close(self._flow)

    def after_fork(self) -> None:
        """Begin again in a forked child, after the items handed out, at the next request.

        The parent's threads do not exist in the child. A user's executor has no workers there, so the run is inline.
        """
        settings, controls = self.settings, self.session.controls
        self.session.after_fork()
        controls.after_fork()
        self._carry_over.memory.after_fork()
        self._producer, self._following, self._stage, self._flow = None, None, None, iter(())
        self._is_begun = False
        if not isinstance(settings.executor, str):
            settings = replace(settings, executor="inline")
        self.session = Session(settings, self._carry_over, self._observer, controls)

    def begin(self) -> None:
        """Begin, unless the run is under way."""
        if self._is_begun:
            return
        self._is_begun = True
        session, settings, cursor = self.session, self.settings, self.position.cursor()
        if self._isolate is not None and self._begin_elsewhere(session, self._isolate):
            return
        if settings.tuning is not None and settings.tuning.cores != (cores := settings.available_cores):
            session.note_once(OTHER_CORES.format(settings.tuning.cores, cores))
        if settings.follows_executor:
            following = workers.following.Following(settings.executor, session.spent, session.follow)
            session.at_close(following.end)
            self._following = following
        session.keep_within_budget(self.plan)
        self._carry_over.memory.within(session.budget)
        scope = session.scope()
        if self.plan.indexed:
            feed = partial(RowFeed, self.plan, received=cursor.ahead)
            self._stage = Stage(Stretch(self.plan, self.plan), feed, scope, top=True)
            self._flow = self._stage.open(cursor.epoch, cursor.row)
            return
        self.position = StreamPosition(cursor)
        self._flow = self._opened(scope, cursor)
        asked_for = settings.workers is not None or settings.depth is not None
        if settings.executor not in ("auto", "inline") or (settings.executor == "auto" and asked_for):
            self._produce_ahead()

    def _begin_elsewhere(self, session: Session, isolate: Isolate) -> bool:
        """Let another process make the run, if that is possible; return whether it is."""
        flow = isolate(session, self.plan, self._carry_over, self._continued, self.unit)
        if flow is None:
            return False
        slots = self._stream_slots(session.scope())
        self._flow = flow if slots is None else slots.placed(flow)
        return True

    def _continued(self) -> Cursor:
        """Return the cursor after the items handed out, from which the position counts other pieces from now on."""
        cursor = self.position.cursor()
        self.position = RowPosition(cursor) if self.plan.indexed else StreamPosition(cursor)
        return cursor

    def _opened(self, scope: Scope, cursor: Cursor) -> Flow:
        """Return the pieces of a stream from a cursor on."""
        slots = self._stream_slots(scope)
        opened = runs.lowering.opened(self.plan, scope, None if slots is None else slots.allocate)
        flow = opened(cursor.epoch, cursor.mark)
        return flow if slots is None else slots.placed(flow)

    def _stream_slots(self, scope: Scope) -> StreamSlots | None:
        """Return the slots of batches in the caller's memory, if there is some."""
        if not scope.has_given_slots or self.unit != "batch":
            return None
        return StreamSlots(self.plan, scope.allocate_slot, scope.allocate)

    def _items(self) -> list[Any] | Any | None:
        while (piece := self._piece()) is not None:
            self.session.tidy()
            left_out = self.position.hand_out(piece)
            if self.position.unreceived:
                items = piece.chunk.elements()
                items = items[left_out:] if left_out else items
                self._count(piece, items)
                return items
        self.position.end()
        return None

    def hand_over(self) -> Piece | None:
        """Return the next items with the mark after them, for a consumer in another process; `None` at the end."""
        piece = self._piece() if self._following is None else self._following.around(self._piece)
        if piece is not None:
            self.position.hand_out(piece)
            self.position.unreceived = 0
        return piece

    def _piece(self) -> Piece | None:
        if self._producer is not None:
            return next(self._producer, None)
        session = self.session
        if self._stage is not None or session.isolated is not None or session.settings.executor != "auto":
            return next(self._flow, None)
        began = perf_counter_ns()
        piece = next(self._flow, None)
        if piece is not None and self._pause.is_long(perf_counter_ns() - began, len(piece)):
            self._produce_ahead()
        return piece

    def _produce_ahead(self) -> None:
        """Run the sequential part of a stream in the background, so that it overlaps with the consumer's step."""
        depth = self.settings.depth or AHEAD

        def has_room(pieces: deque[Piece]) -> bool:
            waiting = sum(map(len, pieces))
            return not waiting or waiting + len(pieces[-1]) <= depth

        self._producer = self.session.producer(self._flow, has_room, lambda piece: memory_of(piece.chunk))

    def _count(self, piece: Piece, items: Any) -> None:
        made, count = self.made, len(items)
        made.items += count
        if isinstance(piece.chunk, Gathered):
            made.rows += count * piece.chunk.batch_rows
            return
        made.rows += rows_in_all(piece.chunk, items) if self.unit == "batch" else count

    def _named(self, failure: BaseException) -> BaseException:
        """Return the failure with the item it belongs to, and the way to make that item again."""
        item, again = self.failed_at, None
        if isinstance(failure, WorkerError):  # what kills workers kills us
            pass
        elif not self.plan.indexed:
            again = AGAIN
        else:
            where = f"{self.epoch}, {item}" if self.epoch else f"{item}"
            seeded = "ds" if self._drawn_seed is None else f"ds.with_options(ps.Options(seed={self._drawn_seed}))"
            again = f"{seeded}[{where}]"
        return runs.failures.named_failure(failure, f"while making {self.unit} {item}", self.epoch, again)


class _Pause:
    """The time between the elements of a stream, while the consumer's thread makes them.

    The first measurement does not count, nor the most expensive one: a stage may have made many later items in it.
    """

    def __init__(self) -> None:
        self._looks = self._items = self._took = 0
        self._dearest = (0, 0)

    def is_long(self, took: int, items: int) -> bool:
        """Return whether an element costs more than its transfer from another thread."""
        self._looks += 1
        if self._looks > 1:
            self._items += items
            self._took += took
            self._dearest = max(self._dearest, (took, items))
        dearest, its_items = self._dearest
        return self._looks > LOOKS and self._took - dearest > THREAD_PAYS * max(self._items - its_items, 1)
