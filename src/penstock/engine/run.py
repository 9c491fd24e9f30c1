"""One pass over one epoch: parcels of items made inline or by a crew, handed out in order or as they finish."""

from __future__ import annotations

import math
import sys
from functools import partial
from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.core.errors import BudgetError, ElementError, WorkerError
from penstock.engine.advice import Advisor, spacing
from penstock.engine.beside import Beside
from penstock.engine.compile import compiled_with_single
from penstock.engine.cursor import Cursor
from penstock.engine.failures import named_failure, over
from penstock.engine.first import is_costly
from penstock.engine.job import Job
from penstock.engine.ledger import Ledger, Made
from penstock.engine.legacy import Legacy
from penstock.engine.lifetime import watch_over
from penstock.engine.maker import Maker
from penstock.engine.observer import Observer
from penstock.engine.parcel import Parcel
from penstock.engine.progress import received_between
from penstock.engine.settings import Settings
from penstock.engine.task import Cost
from penstock.engine.window import Window
from penstock.plan.blame import blame_rows
from penstock.plan.node import Rows

if TYPE_CHECKING:
    from penstock.engine.crew import Crew
    from penstock.kernels import Ahead

ALWAYS = sys.maxsize


class Span(NamedTuple):
    """Items `low` to `high` of the epoch, and the rows that they are made of."""

    low: int
    high: int
    rows: Rows


class Run:
    """Makes the items of one epoch from a cursor on.

    It ends in one of four ways: *exhausted* (the epoch is over), *closed* (by the consumer), *failed* (a task raised)
    or *cancelled* (an interrupt reached the consumer while it waited). After any of them nothing of it is left running.
    """

    def __init__(
        self,
        job: Job,
        settings: Settings,
        observer: Observer,
        cursor: Cursor,
        legacy: Legacy,
        *,
        drawn_seed: int | None = None,
    ) -> None:
        """Begin at `cursor`; `drawn_seed` is what unseeded operations derive from, where the user did not give it."""
        self.job = job
        self.plan = job.plan
        self.batch = job.batch  # that the plan ends in, which tasks make without a program of its own
        self.settings = settings
        self.tuner = legacy.tuner(settings.workers)
        self.tuner.item_rows = job.size
        self.ended: str | None = None
        self._observer = observer
        self._drawn_seed = drawn_seed
        self._epoch = cursor.epoch
        self._end = job.items
        self._rows_of = partial(job.rows, cursor.epoch)
        self._maker = Maker(job, *compiled_with_single(job.source, legacy.memory.allocate, observer), legacy.memory)
        self._advisor = Advisor(
            heard=self._maker.advise is not None,
            size=job.size,
            spacing=partial(spacing, job.source, self._end, job.size),
        )
        self._ledger = Ledger(self.tuner, self._advisor)
        self._waited = 0  # ns, for parcels since the number of threads was considered
        self._next = cursor.row  # the first item that no parcel has been begun for
        self._received = list(cursor.ahead)  # spans after it that were received before
        self._failure: BaseException | None = None
        self._window = Window(ordered=settings.ordered)
        self._spare = 0  # tasks more than needed to have under way, so that several are begun and taken at once
        self._few = ALWAYS  # with so many tasks under way, or fewer, others are begun
        self._crew: Crew | None = None
        self._ahead: Beside | None = None  # what comes next, where inline it is made beside the consumer
        self._may_begin_beside = True
        self._served: Beside | None = None  # what the consumer takes from
        begins_inline = settings.executor == "auto" and settings.workers is None and not self.tuner.threads
        if settings.executor != "inline" and not begins_inline:
            self._leave_inline()
        watch_over(self)

    @property
    def made(self) -> Made:
        """How much has been made."""
        return self._ledger.made

    @property
    def spent(self) -> Cost:
        """What its tasks took."""
        return self._ledger.spent

    @property
    def mode(self) -> str:
        """Where tasks run: `inline`, or by whom."""
        return "inline" if self._crew is None else self._crew.name

    @property
    def is_parallel(self) -> bool:
        """True if several threads make the items, or would if every thread could call the functions."""
        has_threads = self._crew is not None and self._crew.shares_gil
        return self.settings.workers != 1 and (has_threads or self.settings.would_pay(self.tuner))

    @property
    def unit(self) -> str:
        """What an item is."""
        return "element" if self.job.batch is None else "batch"

    @property
    def parcels_ahead(self) -> int:
        """Parcels begun and not handed out yet."""
        return len(self._window)

    def parcel(self) -> tuple[int, list[Any] | Ahead] | None:
        """The next items and the position of the first; `None` when the epoch is over."""
        if self.ended is not None:
            if self.ended == "exhausted":
                return None
            raise over(self.ended)
        try:
            made = self._next_parcel()
        except Exception:
            self.close("failed")
            raise
        except BaseException:  # KeyboardInterrupt, SystemExit
            self.close("cancelled")
            raise
        if made is None:
            self.close("exhausted")
        return made

    def close(self, ended: str = "closed") -> None:
        """Stop at once: what waits is dropped, and a task asleep in a user's function is left to end by itself."""
        if self.ended is None:
            self.ended = ended
        self._window.close()
        self._count_served()
        self._ahead = None
        self._maker.close()
        if self._crew is not None:
            self._crew.close()

    def after_fork(self) -> None:
        """In a forked child, where no thread of the parent lives on: begin again what was under way."""
        lost = self._window.after_fork()
        self._maker.memory.after_fork()
        if lost:
            self._received = received_between(lost, self._next, self._received)
            self._next = lost[0].low
        if self._crew is not None and self.ended is None:
            self._crew = None
            if isinstance(self.settings.executor, str):
                self._leave_inline()
            # else inline: an executor that was handed in has no workers here, and its files are the parent's

    def _next_parcel(self) -> tuple[int, list[Any] | Ahead] | None:
        made = None
        self._count_served()
        if self._failure is None:
            crew = None if self._ahead else self._crew
            made = self._made_inline() if crew is None else self._made_by(crew)
        if self._failure is not None and not (made and made[1]):
            raise self._failure
        return made

    # Inline

    def _made_inline(self) -> tuple[int, list[Any] | Ahead] | None:
        made = self._served_beside() or self._made_here()
        self._ledger.settle(self._maker.item_bytes)
        if self._crew is None and self.settings.executor == "auto" and self.tuner.threads_pay():
            self._leave_inline()
        return made

    def _made_here(self) -> tuple[int, list[Any]] | None:
        span = self._claim(max(self._group(), 1))
        if span is None:
            return None
        parcel = self._begin(span, 1)
        self._begin_beside(parcel.nbytes)
        if self.settings.executor == "auto" and is_costly(parcel, self._maker, self._ledger, self.tuner):
            return self._split_first(parcel)
        return parcel.low, self._items_of(self._maker.fill(parcel))

    def _split_first(self, parcel: Parcel) -> tuple[int, list[Any]] | None:
        """Leave the inline start within the first batch: threads make the rest of it."""
        crew, made = self._leave_inline(), parcel.told
        parcel.split_last(self.tuner.threads)
        self._window.push(parcel)
        for piece in range(made, len(parcel.rows)):
            crew.submit(parcel, piece, self._window)
        self._top_up(crew)
        return self._made_by(crew)

    def _served_beside(self) -> tuple[int, Ahead] | None:
        self._served, self._ahead = self._ahead, None
        if self._served is None:
            return None
        if self._crew is None:
            self._begin_beside(self._served.nbytes)
        return self._served.low, self._served.left

    def _begin_beside(self, held: int) -> None:
        """Begin what comes next beside the consumer, where it is large enough and needs no GIL."""
        settings, group = self.settings, self._group(held, beside=True)
        may = settings.executor == "auto" and settings.depth is None and not self._observer.looks_at_elements
        if not (may and self._may_begin_beside and self._maker.needs_no_gil and self.tuner.worth_beside(group)):
            return
        if (span := self._claim(group)) is not None:
            self._ahead = self._maker.begin_beside(*span)
            if self._ahead is None:  # it is no gather, and what comes later is none
                self._next, self._may_begin_beside = span.low, False

    def _count_served(self) -> None:
        """Count what was made beside the consumer and taken."""
        served, self._served = self._served, None
        if served is not None:
            items, rows, nbytes, cost = served.taken()
            self._observer.count(rows, nbytes, cost.wall, cost.cpu)
            self._ledger.note_beside(items, rows, nbytes, cost)

    # By a crew

    def _leave_inline(self) -> Crew:
        from penstock.engine.crew import crew_for  # a pipeline that stays inline never pays for concurrent.futures

        workers = self.tuner.start_threads()
        self._crew = crew = crew_for(self.settings.executor, workers, self._maker, self._observer)
        return crew

    def _made_by(self, crew: Crew) -> tuple[int, list[Any]] | None:
        """The next parcel's items and, where they are small, those of parcels behind it that are made already.

        After a long step all caches are cold: what is dear the first time is done for several parcels at once.
        """
        window = self._window
        if not len(window):
            self._top_up(crew)
            if not len(window):
                return None
        asked = perf_counter_ns()
        parcel = last = window.pop()
        self._waited += perf_counter_ns() - asked
        items, held, nbytes = self._items_of(parcel), 0, 0
        while held < self._spare and self._failure is None and (behind := window.pop_behind(last)) is not None:
            items += self._items_of(behind)
            held += len(behind.rows)
            nbytes += behind.nbytes
            last = behind
        if window.tasks <= self._few and self._failure is None:
            self._retune(crew)
            try:
                self._top_up(crew, held, nbytes)
            except Exception as error:  # noqa: BLE001 - raised once these items are received
                self._failure = error
        return parcel.low, items

    def _retune(self, crew: Crew) -> None:
        """Go on with what is known of the tasks so far, perhaps with another number of threads."""
        self._ledger.settle(self._maker.item_bytes)
        if crew.shares_gil:
            threads = self.tuner.retuned(perf_counter_ns(), process_time_ns(), self._waited)
            if threads is not None:
                crew.resize(threads)
        self._waited = 0

    def _top_up(self, crew: Crew, held: int = 0, nbytes: int = 0) -> None:
        """Fill the window, where what `held` tasks have made, of so many bytes, waits for the consumer already.

        Where nothing is under way, one parcel is begun whatever the budget: else the epoch would end.
        """
        window, depth = self._window, self.settings.depth
        self._spare = self.tuner.spare() if depth is None else 0
        most = max(self.tuner.depth(), 1) + self._spare - held
        self._few = most + held + 1 - max(self._spare, 2) if depth is None else ALWAYS
        unknown = self.settings.budget_is_given and not self._maker.item_bytes  # until the first is made
        group = self.tuner.group_items() if depth is None else max(min(self.tuner.group_items(), depth // 2), 1)
        pieces = min(self.tuner.split_item(), self.job.size) if group == 1 else 1
        while window.tasks <= most if depth is None else window.items < depth:
            groups = most + 1 - window.tasks if depth is None else math.ceil((depth - window.items) / group)
            count = self._within_budget(group * (1 if unknown or pieces > 1 else groups), nbytes)
            if len(window) and (unknown or not count):
                return
            span = self._claim(max(count, 1))
            if span is None:
                return
            self._submit(crew, span, group, pieces)

    def _submit(self, crew: Crew, span: Span, group: int, pieces: int) -> None:
        """Begin the parcels of a span, of so many items each, in so many pieces where that is one."""
        low, high, rows = span
        size = len(rows) // (high - low)
        for first in range(low, high, group):
            last = min(first + group, high)
            part = Span(first, last, rows[size * (first - low) : size * (last - low)])
            parcel = self._begin(part, pieces)
            self._window.push(parcel)
            for piece in range(len(parcel.rows)):
                crew.submit(parcel, piece, self._window)

    def _group(self, held: int = 0, *, beside: bool = False) -> int:
        """How many items one task makes, by the tuner and the budget, of which `held` bytes are taken; 0: no room."""
        return self._within_budget(self.tuner.group_items(beside=beside), held)

    def _within_budget(self, items: int, held: int) -> int:
        """So many items, or those that there is memory for beside the window and the `held` bytes."""
        if not self._maker.item_bytes:
            return items
        room = self.settings.memory_budget - self._window.nbytes - held
        return min(items, max(room, 0) // self._maker.item_bytes)

    # Items

    def _claim(self, count: int) -> Span | None:
        """Claim the next items, up to `count`; a short batch is claimed alone."""
        while self._received and self._received[0][0] <= self._next:
            self._next = max(self._next, self._received.pop(0)[1])
        low = self._next
        if low >= self._end:
            return None
        high = min(low + count, self._received[0][0] if self._received else self._end)
        rows, self._next = self._rows_of(low, high)
        return Span(low, self._next, rows)

    def _begin(self, span: Span, pieces: int) -> Parcel:
        needed = self._maker.item_bytes
        if self.settings.budget_is_given and needed > self.settings.memory_budget:
            raise BudgetError(
                f"one {'batch' if self.job.batch else 'element'} takes {needed:,} bytes and Options(memory_budget=) "
                f"allows {self.settings.memory_budget:,}: make it smaller or the budget larger"
            )
        parcel = self._maker.begin(*span, pieces)
        parcel.soon = self._advisor.after(span.high, self._end, self._rows_of)
        return parcel

    def _items_of(self, parcel: Parcel) -> list[Any]:
        """The items of a finished parcel; where one failed those before it, and the failure is kept for their end."""
        failure = parcel.failure() if parcel.fails else None
        if len(parcel.rows) > 1 and isinstance(failure, ElementError):  # what does not fit is told of the whole
            return self._items_of(self._maker.again(parcel))
        if failure is not None:
            return self._items_before(failure, parcel)
        self._ledger.note(parcel)
        try:
            return self._maker.items(parcel)
        except Exception as error:  # noqa: BLE001 - raised with its name
            if len(parcel.rows) > 1:  # its pieces do not fit together: how they were cut must not show
                return self._items_of(self._maker.again(parcel))
            self._failure = self._named(error, parcel.low)
            return []

    def _items_before(self, failure: BaseException, parcel: Parcel) -> list[Any]:
        """The items of a failed parcel that come before the one at fault, which is found by making each alone.

        So what the consumer receives before an error does not depend on how items were grouped.
        """
        if isinstance(failure, WorkerError):  # what killed a worker would kill this process
            self._failure = failure
            return []
        items: list[Any] = []
        low = parcel.low
        if parcel.items > 1:
            for low in range(parcel.low, parcel.high):
                alone = self._maker.fill(self._maker.begin(low, low + 1, self._rows_of(low, low + 1)[0], 1))
                if (again := alone.failure()) is not None:
                    failure = again
                    break
                items += self._maker.items(alone)
            else:
                return items  # a failure that passed, such as of a disk
        self._failure = self._named(failure, low)
        return items

    def _named(self, failure: BaseException, item: int) -> BaseException:
        """The failure with the item it belongs to, and how to make that again alone."""
        where = f"{self._epoch}, {item}" if self._epoch else f"{item}"
        blame_rows(failure, self.job.source)  # of the last batch, which has no program of its own
        seeded = "ds" if self._drawn_seed is None else f"ds.with_options(ps.Options(seed={self._drawn_seed}))"
        return named_failure(failure, f"while making {self.unit} {item}", self._epoch, f"{seeded}[{where}]")
