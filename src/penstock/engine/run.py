"""One pass over one epoch: parcels of items made inline or by a crew, handed out in order or as they finish."""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns, process_time_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from penstock.core.errors import BudgetError, ClosedError, WorkerError
from penstock.core.frames import is_ours
from penstock.engine.advice import Advisor, spacing
from penstock.engine.compile import compiled
from penstock.engine.cursor import Cursor
from penstock.engine.job import Job
from penstock.engine.legacy import Legacy
from penstock.engine.lifetime import watch_over
from penstock.engine.maker import Maker
from penstock.engine.observer import Observer
from penstock.engine.parcel import Parcel
from penstock.engine.settings import Settings
from penstock.engine.task import Cost, Listed, Stacked
from penstock.engine.window import Window
from penstock.ops.group.grouping import Grouping
from penstock.plan.node import Rows

if TYPE_CHECKING:
    from penstock.engine.crew import Crew


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
        self.settings = settings
        self.tuner = legacy.tuner(settings.workers)
        self.ended: str | None = None
        self.spent = Cost(0, 0)
        self.items_made = 0
        self.rows_made = 0
        self.bytes_made = 0
        self._observer = observer
        self._drawn_seed = drawn_seed
        self._epoch = cursor.epoch
        self._maker = Maker(job, compiled(job.source, legacy.memory.allocate, observer.wrap), legacy.memory)
        self._advisor = Advisor(
            heard=self._maker.advise is not None,
            size=job.size,
            spacing=partial(spacing, job.source, job.items, job.size),
        )
        self._next = cursor.row  # the first item that no parcel has been begun for
        self._received = list(cursor.ahead)  # spans after it that were received before
        self._failure: BaseException | None = None
        self._window = Window(ordered=settings.ordered)
        self._crew: Crew | None = None
        self._beside: Parcel | None = None  # the next one, where inline it is made beside the consumer
        begins_inline = settings.executor == "auto" and settings.workers is None and not self.tuner.threads
        if settings.executor != "inline" and not begins_inline:
            self._leave_inline()
        watch_over(self)

    @property
    def mode(self) -> str:
        """Where tasks run: `inline`, or by whom."""
        return "inline" if self._crew is None else self._crew.name

    @property
    def batch(self) -> Grouping | None:
        """The batch that the plan ends in, which tasks make without a program of its own."""
        return self.job.batch

    @property
    def unit(self) -> str:
        """What an item is."""
        return "element" if self.job.batch is None else "batch"

    @property
    def parcels_ahead(self) -> int:
        """Parcels begun and not handed out yet."""
        return len(self._window)

    def parcel(self) -> tuple[int, list[Any]] | None:
        """The next items and the position of the first; `None` when the epoch is over."""
        if self.ended is not None:
            if self.ended == "exhausted":
                return None
            raise ClosedError(f"this iterator was {self.ended}; make another, or load a saved state")
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
        self._beside = None
        self._maker.close()
        if self._crew is not None:
            self._crew.close()

    def after_fork(self) -> None:
        """In a forked child, where no thread of the parent lives on: begin again what was under way."""
        lost = self._window.after_fork()
        self._maker.memory.after_fork()
        if lost:
            self._received = _received_between(lost, self._next, self._received)
            self._next = lost[0].low
        if self._crew is not None and self.ended is None:
            self._crew = None
            if isinstance(self.settings.executor, str):
                self._leave_inline()
            # else inline: an executor that was handed in has no workers here, and its files are the parent's

    def _next_parcel(self) -> tuple[int, list[Any]] | None:
        if self._failure is not None:
            raise self._failure
        parcel = self._made_by(self._crew) if self._crew is not None and not self._beside else self._made_inline()
        if parcel is None:
            return None
        failure = parcel.failure()
        if failure is not None:
            return parcel.low, self._items_before(failure, parcel)
        self._observe(parcel)
        try:
            items = self._maker.items(parcel)
        except Exception as error:  # noqa: BLE001 - raised with its name
            self._failure = self._named(error, parcel.low)
            raise self._failure from error.__cause__
        if self._crew is None and self.settings.executor == "auto" and self.tuner.threads_pay():
            self._leave_inline()
        return parcel.low, items

    # Inline

    def _made_inline(self) -> Parcel | None:
        parcel, self._beside = self._beside, None
        if parcel is None:
            span = self._claim(max(self._group(), 1))
            parcel = None if span is None else self._begin(span, 1)
        if parcel is not None and self._crew is None:
            self._begin_beside(parcel)
        return None if parcel is None else self._make(parcel)

    def _begin_beside(self, now: Parcel) -> None:
        """Begin the parcel after `now` beside the consumer, where it is large enough and needs no GIL."""
        settings, group = self.settings, self._group(now.nbytes, beside=True)
        may = settings.executor == "auto" and settings.depth is None and not self._observer.looks_at_elements
        if not (may and self._maker.needs_no_gil and self.tuner.worth_beside(group)):
            return
        if (span := self._claim(group)) is not None:
            self._beside = self._begin(span, 1)
            self._maker.make_beside(self._beside)

    def _make(self, parcel: Parcel) -> Parcel:
        try:
            made = self._maker.make(parcel, 0)
            if parcel.begun is not None:
                nbytes = sum(array.nbytes for array in parcel.memory or ())
                self._observer.count(len(parcel.rows[0]), nbytes, made.cost.wall, made.cost.cpu)
            parcel.fill(0, made)
        except Exception as error:  # noqa: BLE001 - raised when it is the consumer's turn for it
            parcel.fill(0, error)
        return parcel

    # By a crew

    def _leave_inline(self) -> None:
        from penstock.engine.crew import crew_for  # a pipeline that stays inline never pays for concurrent.futures

        workers = self.tuner.start_threads()
        self._crew = crew_for(self.settings.executor, workers, self._maker, self._observer)

    def _made_by(self, crew: Crew) -> Parcel | None:
        if len(self._window) == 0:
            self._top_up(crew)
            if len(self._window) == 0:
                return None
        asked = perf_counter_ns()
        parcel = self._window.pop()
        now = perf_counter_ns()
        if crew.shares_gil and (threads := self.tuner.retuned(now, process_time_ns(), now - asked)) is not None:
            crew.resize(threads)
        self._top_up(crew)
        return parcel

    def _top_up(self, crew: Crew) -> None:
        """Fill the window, once there is room for two tasks: after a long step, the first finds all caches cold."""
        if self.settings.depth is None and self._window.tasks >= max(self.tuner.depth(), 1):
            return  # never where nothing is under way: that would end the epoch
        while (count := self._room()) > 0:
            span = self._claim(count)
            if span is None:
                return
            parcel = self._begin(span, self.tuner.split_item() if span.high - span.low == 1 else 1)
            self._window.push(parcel)
            for piece in range(len(parcel.rows)):
                crew.submit(parcel, piece, self._window)

    def _room(self) -> int:
        """How many items the next parcel may have, by the window's depth and the budget; 0 where it is full."""
        depth, parcels = self.settings.depth, len(self._window)
        if parcels > 0 and (self._window.tasks > self.tuner.depth() if depth is None else self._window.items >= depth):
            return 0
        if parcels > 0 and self.settings.budget_is_given and not self._maker.item_bytes:
            return 0  # what an item takes is known once the first is made
        group = self._group()
        if depth is not None:
            group = max(min(group, depth // 2), 1)
        return group if parcels > 0 else max(group, 1)

    def _group(self, held: int = 0, *, beside: bool = False) -> int:
        """How many items one task makes, by the tuner and the budget, of which `held` bytes are taken; 0: no room."""
        group = self.tuner.group_items(beside=beside)
        if self._maker.item_bytes:
            group = min(group, (self.settings.memory_budget - self._window.nbytes - held) // self._maker.item_bytes)
        return group

    # Items

    def _claim(self, count: int) -> Span | None:
        """Claim the next items, up to `count`; a short batch is claimed alone."""
        while self._received and self._received[0][0] <= self._next:
            self._next = max(self._next, self._received.pop(0)[1])
        low = self._next
        if low >= self.job.items:
            return None
        high = min(low + count, self._received[0][0] if self._received else self.job.items)
        rows, self._next = self.job.rows(self._epoch, low, high)
        return Span(low, self._next, rows)

    def _begin(self, span: Span, pieces: int) -> Parcel:
        needed = self._maker.item_bytes
        if self.settings.budget_is_given and needed > self.settings.memory_budget:
            raise BudgetError(
                f"one {'batch' if self.job.batch else 'element'} takes {needed:,} bytes and Options(memory_budget=) "
                f"allows {self.settings.memory_budget:,}: make it smaller or the budget larger"
            )
        parcel = self._maker.begin(*span, pieces)
        parcel.soon = self._advisor.after(span.high, self.job.items, partial(self.job.rows, self._epoch))
        return parcel

    def _items_before(self, failure: BaseException, parcel: Parcel) -> list[Any]:
        """The items of a failed parcel that come before the one at fault, which is found by making each alone.

        So what the consumer receives before an error does not depend on how items were grouped.
        """
        if isinstance(failure, WorkerError):  # what killed a worker would kill this process
            self._failure = failure
            raise failure
        items: list[Any] = []
        low = parcel.low
        if parcel.items > 1:
            for low in range(parcel.low, parcel.high):
                alone = self._make(self._maker.begin(low, low + 1, self.job.rows(self._epoch, low, low + 1)[0], 1))
                if (again := alone.failure()) is not None:
                    failure = again
                    break
                items += self._maker.items(alone)
            else:
                return items  # a failure that passed, such as of a disk
        self._failure = self._named(failure, low)
        if not items:
            raise self._failure
        return items

    def _named(self, failure: BaseException, item: int) -> BaseException:
        """The failure with the item it belongs to, and how to make that again alone."""
        where = f"{self._epoch}, {item}" if self._epoch else f"{item}"
        seeded = "ds" if self._drawn_seed is None else f"ds.with_options(ps.Options(seed={self._drawn_seed}))"
        return named_failure(failure, f"while making {self.unit} {item}", self._epoch, f"{seeded}[{where}]")

    def _observe(self, parcel: Parcel) -> None:
        self.tuner.item_bytes = self._maker.item_bytes
        self.items_made += parcel.items
        self.rows_made += sum(map(len, parcel.rows))
        results = cast("list[Stacked | Listed]", parcel.results)
        for result in results:
            if isinstance(result, Stacked):
                self.bytes_made += sum(array.nbytes for array in result.arrays)
            self.spent += result.cost
            self.tuner.observe(result.cost, parcel.items / len(results))
            self._advisor.observe(result.cost, parcel.items / len(results))


def named_failure(failure: BaseException, what: str, epoch: int, again: str | None) -> BaseException:
    """The failure with a note of what was being made and how to make it again, and its traceback from the user's on."""
    of_epoch = f" of epoch {epoch}" if epoch else ""
    failure.__traceback__ = _without_ours(failure.__traceback__)
    failure.add_note(f"{what}{of_epoch}" + (f"; make it again with {again}" if again else ""))
    if isinstance(failure, StopIteration | StopAsyncIteration):  # would end the consumer's loop without a word
        error = RuntimeError(f"a function of the pipeline raised {type(failure).__name__}")
        error.__cause__ = failure
        return error
    return failure


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not Penstock's on; all of it where there is none."""
    own = traceback
    while own is not None and is_ours(own.tb_frame.f_code.co_filename):
        own = own.tb_next
    return own or traceback


def _received_between(lost: list[Parcel], after: int, received: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans between lost parcels that were received, and those received before."""
    starts = [parcel.high for parcel in lost]
    ends = [*(parcel.low for parcel in lost[1:]), after]
    gaps = [(low, high) for low, high in zip(starts, ends, strict=True) if low < high]
    return sorted(gaps + received)
