"""The iterator of a dataset: items, position, counters and verdict of one pass."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, cast

from penstock import dataset, engine, feed, watch
from penstock import plan as plans
from penstock.core.blame import note_blames
from penstock.core.closing import Closing
from penstock.core.errors import PlanError
from penstock.core.shown import displayable
from penstock.dataset.watching import Watching
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.runs.run import Run
from penstock.engine.runs.scope import CarryOver
from penstock.ops import read
from penstock.plan.graph import post_order, rank_rows
from penstock.plan.node import Node
from penstock.rewrite.seeds import needs_seed
from penstock.watch.counters import Counters
from penstock.watch.steps import StepClock

if TYPE_CHECKING:
    from penstock.dataset.passes import Passes
    from penstock.engine.tuning.settings import Settings
    from penstock.kernels import Ahead

T = TypeVar("T")

LOOK_AFTER = 100_000_000  # ns until a run first looks at what holds memory; shorter runs never do


class Iterator(Watching, Closing, Generic[T]):
    """One pass over a dataset.

    To stop early, use the iterator in a `with` block or `close()` it; the end of the epoch also closes it. Several
    threads may use the iterator; each item goes to one of them.

    >>> def first_of(it: ps.Iterator[int]) -> int:
    ...     with it:
    ...         return next(it)
    >>> first_of(Dataset.range(5, 9).iterator())
    5
    """

    def __init__(
        self,
        passes: Passes,
        carry_over: CarryOver,
        epoch: int | None = None,
        *,
        warn: Callable[..., None] | None = None,
        plan: Node | None = None,
    ) -> None:
        """Begin with the upcoming epoch, or with `epoch`; `warn` receives facts that only a run shows.

        `plan` makes other elements for the rows of the dataset, whose passes and states the iterator has.
        """
        self._plan = plan or passes.plan
        self._warn = warn
        self._passes, self._carry_over = passes, carry_over
        self._options = passes.options
        self._lock = threading.RLock()  # a signal handler may request the position during `next`
        plans.fingerprint.settle(passes.plan)
        self._viewers: watch.viewers.Viewers | None = None
        self._waits = epoch is None  # until its first `next`, which begins the pass
        self._start(passes.upcoming() if epoch is None else passes.beginning(epoch))

    def _start(self, cursor: Cursor) -> None:
        _check_epoch(self._plan, cursor.epoch)
        self._cursor = self._began = cursor
        self._items: deque[T] | Ahead = deque()
        self._dropped = 0  # items of the run that will not be received
        self._counters = Counters() if self._viewers is None else self._viewers.counters()
        self._run: Run | None = None  # begun by the first `next`
        self._watched: watch.stuck.Watched | None = None
        self._published: watch.top.published.Published | None = None
        self._stop: weakref.finalize[..., Any] | None = None
        self._closed, self._failure = False, ""  # the error that ended the run, in words
        self._reported: Cursor | None = None  # the position to tell, of a consumer that takes items ahead
        self._received = self._waited = self._first = self._last = 0
        self._steps = StepClock()
        self._growth: watch.leaks.MemoryGrowth | None = None
        self._look_at = 0  # time of the next look at what holds memory
        self._left = self._plan.length - cursor.row - sum(high - low for low, high in cursor.ahead)

    def __repr__(self) -> str:
        label, epoch = displayable(self._plan.label()), self._cursor.epoch
        return f"<Iterator over {label}: epoch {epoch}, {self._received:,} received>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an iterator cannot be pickled or copied: pickle the dataset and state_dict(), and load the state into an "
            "iterator of the dataset"
        )

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        left = received = 0
        try:
            with self._lock:
                received, left = self._received, len(self._items)
                if not left:
                    self._refill()
                    left = len(self._items)
                item = self._items.popleft()
                self._received += 1
                if self._received == self._left:
                    self._passes.end()
                return item
        except BaseException as error:
            if left:  # out of memory, or an interrupt, perhaps after an item was taken
                self._received = received
                self._drop(left)
                self._end(error)
            raise

    def _refill(self) -> None:
        asked, watched = perf_counter_ns(), self._watched
        if watched is None or self._run is None:
            watched = self._begin_run(asked)
        elif self._run.session.controls.asked:
            self._first += self._run.session.heed()  # a pause is neither a wait nor a step
            self._steps.skip()
            asked = perf_counter_ns()
        steps = self._steps
        watched.consumer, watched.asked = threading.get_ident(), asked
        if steps.measures:
            steps.asked(asked)
        if watch.stuck.watchdog.thread is None:  # ended by a fork
            watch.stuck.watchdog.watch(watched)
        items: Any = None
        try:
            items = self._taken()
        except BaseException as error:
            self._end(error)
            note_blames(error)
            self._failure = watch.stats.failure_text(error)
            raise
        finally:
            watched.asked = 0
            self._last = perf_counter_ns()
            self._waited += self._last - asked
            steps.left -= 1
            if steps.left <= 0 or items is None:
                steps.handed_out(asked, self._last, cast("Run", self._run))
            if (viewers := self._viewers) is not None and (items is None or self._last >= viewers.due):
                self._let_look(viewers, asked)
        if items is None:
            self._end_pass()
            raise StopIteration
        run = cast("Run", self._run)
        if self._last >= self._look_at or run.session.budget.unsaid:
            self._look(run)
        if self._warn is not None and run.is_parallel and self._received > 1:  # two calls were compared
            self._warn_of_threads(self._warn)

    def _taken(self) -> Any:
        """Take the next items, and in the same statement count them as received, except those that are left."""
        if (items := self._next_items()) is not None:
            ready, position = deque(items) if isinstance(items, list) else items, cast("Run", self._run).position
            self._items, position.unreceived = ready, 0
        return items

    def _end_pass(self) -> None:
        self._passes.end()
        if self._warn and self._received and cast("Run", self._run).is_parallel:
            self._warn_of_threads(self._warn)
        elif self._warn and self._received == self._cursor.row == 0:
            self._warn(empty=True, failed=any(each.failed for each in self.stats().operations))

    def _begin_run(self, asked: int) -> watch.stuck.Watched:
        if self._closed:
            raise engine.runs.failures.over("closed")
        if "tensorflow" in sys.modules:
            feed.tensorflow.refuse_in_function("the first next() of an iterator over arrays")
        self._begin_pass()
        if self._cursor.ended:
            raise StopIteration
        self._run = run = self._begun()
        self._stop = weakref.finalize(self, run.close)
        if self._closed:  # meanwhile, from another thread
            self._stop()
        self._watched = watched = watch.stuck.Watched(run, self._counters)
        watch.stuck.watchdog.watch(watched)
        self._published = watch.top.published.publisher.publish(run, self._weak_glance())
        self._first = asked
        self._look_at = asked + LOOK_AFTER
        return watched

    def _look(self, run: Run) -> None:
        """Note what holds memory now, and warn of what the run could not do within its budget."""
        if self._last >= self._look_at:
            if self._growth is None:
                self._growth = watch.leaks.MemoryGrowth(self._plan, self._counters)
            self._growth.look(self._last, self._received, run, self._carry_over.memory)
            self._look_at = self._growth.next
            if self._last - self._first > watch.top.published.SERVED_AFTER:
                watch.top.published.publisher.serve()
        if run.session.budget.unsaid:
            dataset.handle.warn_of_budget(run.budget.said())

    def _next_items(self) -> Any:
        return cast("Run", self._run).items()

    def _warn_of_threads(self, warn: Callable[..., None]) -> None:
        self._warn = None
        try:
            warn(threads=True)
        except (KeyboardInterrupt, SystemExit):  # after any other error, as of a warning, the item made comes next
            self._drop(len(self._items))
            cast("Run", self._run).close("cancelled")
            raise

    def _begin_pass(self) -> None:
        """Take the next epoch, unless one was requested."""
        if self._waits:
            with self._passes.lock:
                is_reported = self._reported is not None
                self._start(self._passes.upcoming())
                self._reported = self._cursor if is_reported else None
                self._waits = False
                self._passes.begin(self, self._cursor)

    def _drop(self, left: int) -> None:
        """Forget the `left` items that were not received."""
        self._dropped += left
        self._items = deque()

    def _begun(self) -> Run:
        read.source.refuse_faults(self._plan)
        cursor = self._cursor
        is_derived = needs_seed(self._plan) and cursor.seed != self._options.seed and not cursor.drawn
        states = self._passes.states
        plan, settings = states.as_run(self._plan, cursor), states.settings(self._plan, cursor)
        if not self._plan.indexed:  # the plan as written: rewrites must not change cursors
            self._cursor = cursor.in_form(engine.runs.lowering.form_of(plan, self._options.rewrite))
        drawn_seed = cursor.seed if is_derived else None
        if all(node.name != "share" for node in post_order(plan)):
            return self._run_of(plan, settings, self._cursor, drawn_seed)
        from penstock.service.sharing import open_services, tell_of_services

        open_services(plan)
        run = self._run_of(plan, settings, self._cursor, drawn_seed)
        tell_of_services(plan, run)
        return run

    def _run_of(self, plan: Node, settings: Settings, cursor: Cursor, drawn_seed: int | None = None) -> Run:
        isolate = None
        if settings.isolate:
            from penstock.isolation.elsewhere import isolated as isolate

        return Run(plan, settings, self._counters, cursor, self._carry_over, drawn_seed=drawn_seed, isolate=isolate)

    def state_dict(self) -> dict[str, Any]:
        """Return the position as plain JSON data: exact regardless of work done ahead, and cheap enough for every step.

        The state holds a version, the plan's fingerprint and lines, the seed, epoch and row. A stream adds a mark of
        its position, which is packed as text if many inputs are open. The size is 250 to 600 bytes, plus one to seven
        bytes for each open input. Load the state into an iterator of the same pipeline, or into the dataset, with any
        executor and number of workers.

        >>> it = iter(Dataset.range(9))
        >>> next(it), next(it)
        (0, 1)
        >>> it.state_dict()["row"]
        2
        """
        return self._passes.states.state_of(self._position())

    def ledger(self) -> dict[str, Any]:
        """Return what was delivered since the iterator was made or a state was loaded, as small plain JSON data.

        The ledger holds spans of steps, with the rank that received its part of each. Ledgers of all ranks, restarts
        and epochs together show whether each record was delivered exactly once: see `ps.testing.audit`. Save the
        ledger together with the state, so that steps repeated after a restart do not count twice.

        >>> it = Dataset.range(9).batch(2).iterator()
        >>> _ = next(it), next(it)
        >>> it.ledger()["spans"]
        [[0, 0, 2, 0, 1]]
        """
        with self._lock:
            reached = self._position()
            exhausted = self._run is not None and self._run.ended == "exhausted" and not self._items
            ended = (exhausted and self._reported is None) or self._passes.states.is_over(reached)
            rows = rank_rows(self._plan)
            start = self._began if self._began.epoch == reached.epoch else replace(reached, row=0, ahead=())
            plan = self._passes.states.fingerprint
            start, reached = (each if needs_seed(self._plan) else replace(each, seed=0) for each in (start, reached))
            return dataset.ranks.ledger.ledger_of(plan, start, reached, rows, ended=ended)

    @property
    def goes_on(self) -> bool:
        """Return whether more of the epoch may come: the iterator was neither closed nor exhausted."""
        return not self._closed and not self._passes.states.is_over(self._position())

    def _position(self) -> Cursor:
        with self._lock:
            if self._reported is not None:
                return self._reported
            if self._waits:
                return self._passes.upcoming()
            if self._run is None:
                return self._cursor
            cursor = self._run.cursor(len(self._items) + self._dropped)
            ended = not self._plan.indexed and self._run.ended == "exhausted" and not self._items
            return replace(cursor, ended=ended)

    def position(self) -> Cursor:
        """Return the position after the item received last, as a value for `report_position`."""
        with self._lock:
            reported, self._reported = self._reported, None
            try:
                return self._position()
            finally:
                self._reported = reported

    def report_position(self, position: Cursor | None) -> None:
        """Make later states, also of the dataset, hold this position: for a consumer that takes items in advance.

        With `None`, states hold the position after the item received last again.

        >>> it = Dataset.range(9).iterator()
        >>> x, after_x = next(it), it.position()
        >>> ahead = next(it)
        >>> it.report_position(after_x)
        >>> it.state_dict()["row"]
        1
        """
        self._reported = position

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Continue from a saved position, and end the present run; a state of another plan raises a `CursorError`.

        The next pass over the dataset is the next epoch, drawn with the seed in the state. To continue with `for batch
        in ds`, load the state into the dataset: `Dataset.load_state_dict`.

        A list of the states of all shards of a run, saved at the same step, loads into any shard of the same pipeline,
        even if there are more or fewer shards, with smaller or larger batches: all shards together continue with the
        next elements. After `shard()`, only maps, `enumerate()`, batches and `prefetch()` may come; the shards of a
        stream must have the same `streams=`, a multiple of both numbers of shards.

        >>> def of_shard(index, shards):
        ...     return Dataset.range(100).filter(lambda x: x % 3 > 0).shard(shards, index, streams=4).batch(8 // shards)
        >>> before = [of_shard(index, 4).iterator() for index in range(4)]
        >>> received = [[int(x) for x in next(it)] for it in before]
        >>> after = [of_shard(index, 2).iterator() for index in range(2)]
        >>> for it in after:
        ...     it.load_state_dict([one.state_dict() for one in before])
        >>> received, [[int(x) for x in next(it)] for it in after]
        ([[4, 8], [1, 5], [2, 10], [7, 11]], [[16, 14, 20, 22], [13, 19, 17, 23]])
        """
        before = self._passes.plan
        cursor = self._passes.cursor_of(state)
        with self._lock:
            self._end()
            if self._plan is before:
                self._plan = self._passes.plan
            with self._passes.lock:
                self._start(cursor)
                self._waits = False
                self._passes.take_over(cursor)
                self._passes.begin(self, cursor)

    def close(self) -> None:
        """Stop at once. Closing again does nothing; `state_dict()` still returns the position."""
        if self._run is not None and self._run.ended is None:
            self._last = perf_counter_ns()  # the steps since the last items were asked for count
            self._steps.stop()
        self._closed = True
        self._end()  # without the lock, which a `next` that waits holds
        with self._lock:
            self._drop(len(self._items))
        if self._viewers is not None:
            self._viewers.close(self.stats())

    def _end(self, error: BaseException | None = None) -> None:
        """End the run, and free its finalizer: after an error, that would hold the frames which hold this iterator."""
        if self._run is not None and error is not None:
            self._run.close("failed" if isinstance(error, Exception) else "cancelled")
        if self._stop is not None:
            self._stop()


def _check_epoch(plan: Node, epoch: int) -> None:
    """Refuse an epoch whose rows exceed an `int64`, such as the 32,768th of a dataset without end."""
    longest = max((node.stride for node in post_order(plan) if node.indexed), default=0)
    if (epoch + 1) * longest > 1 << 63:
        raise PlanError(f"epoch {epoch} lies beyond row 2**63 - 1: an epoch of this dataset counts {longest} rows")
