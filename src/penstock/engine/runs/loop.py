"""The only loop of the engine: a feed gives jobs, a window holds them, workers make them, results come in order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from penstock.core.cached import cached_property
from penstock.elements import chunks
from penstock.elements.chunks.chunk import Fresh
from penstock.engine import runs
from penstock.engine.runs.room import Room
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.task import Job, Made, Result, Task, bytes_made
from penstock.engine.tuning.tuner import LONG_LOOK
from penstock.engine.workers.native_thread import Gathered
from penstock.plan.flow import AskedFlow, Flow, Piece, empty_piece
from penstock.plan.quota import QuotaExceeded

if TYPE_CHECKING:
    from penstock.engine.runs.feeds import Feed
    from penstock.engine.runs.moving import Mover
    from penstock.engine.runs.stage import Stage
    from penstock.engine.tasks.parts import Parts
    from penstock.engine.tuning.hill_climb import HillClimb
    from penstock.engine.workers.executors import Workers
    from penstock.engine.workers.producer import Producer
    from penstock.engine.workers.window import Window


class Loop:
    """The loop over one epoch of a stage, which yields pieces.

    At first the loop makes jobs itself. Once workers make them, the loop fills the window up to its high watermark
    whenever it takes a job out, within the budget. An exception of the feed is raised after everything before it.
    """

    def __init__(self, stage: Stage, feed: Feed) -> None:
        self._stage = stage
        self._scope, self._session = stage.scope, stage.session
        self._tuner = stage.tuner
        self._feed = feed
        self._slots = stage.slots()
        self._room = Room(stage, self._slots)
        listens = stage.work.tell is not None
        self._read_ahead = stage.read_ahead() if listens else None
        self._next_uses = stage.next_uses() if listens else None
        self._workers: Workers | None = None  # tasks run here
        self._gatherer = stage.native_thread(self._room.item_bytes)  # workers that may take over from this thread
        self._may_move = self._scope.may_move and stage.turns == 1
        stage.tuner.may_return = self._may_move and not stage.live
        self._mover: Mover | None = None
        self._failure: Exception | None = None  # raised once the window is empty
        self._fed = False  # the feed has ended

    @cached_property
    def _window(self) -> Window:
        ordered = self._scope.settings.ordered or not self._stage.top
        return self._session.window(self._room.account, ordered=ordered)

    def pieces(self) -> AskedFlow:
        """Yield the results of the jobs as pieces with the mark after each."""
        wanted: int | None = None
        producer: Producer[Job] | None = None
        try:
            while producer is None:
                self._session.check_open()
                self._choose_workers()
                if self._stage.live and self._workers is not None:
                    producer = self._session.producer(self._begun(), lambda _: self._room.next_job(self._window) > 0)
                    break
                job = self._made_inline(wanted) if self._workers is None else self._next_job(self._workers)
                if job is None:
                    return
                pieces = self._finished(job)
                del job  # its memory is free for the next one as soon as the consumer lets it go
                for piece in pieces:
                    wanted = yield piece
                    del piece
            while next(producer, None) is not None:
                self._session.check_open()
                job = self._popped(self._workers)
                producer.look_again()
                yield from self._finished(job)
        finally:
            if producer is not None:
                producer.close()
            with suppress(ValueError):  # a producer is running the feed, and closes it
                self._feed.close()
            if self._workers is not None:
                self._window.close()
            for each in (self._room.account, self._read_ahead, self._next_uses):
                if each is not None:
                    each.close()

    # Workers

    def _choose_workers(self) -> None:
        """Replace the inline start by threads, or by a native thread, once they pay."""
        current = self._workers
        if current is not None and not self._room.gathers:
            if self._tuner.has_returned and not len(self._window) and self._failure is None:
                self._workers = None
                self._room.hold(0)
                self._session.return_inline()
            return
        # a native thread copies rows faster than threads that share the GIL
        gatherer = self._gatherer
        if gatherer is None and not self._scope.is_inline(self._tuner):
            coming = self._session.workers(self._stage.work, self._tuner, self._stage.observer)
            self._workers = coming if coming.ready else None
            if self._may_move and (climb := self._tuner.climb) is not None and climb.elsewhere:
                self._consider(climb)  # the run before has moved
        elif gatherer is None:
            return
        elif self._room.gathers and not gatherer.gathers and not len(self._window):
            self._workers, self._gatherer, self._room.gathers = None, None, False
        elif current is None and self._tuner.worth_beside(self._room.job_here(beside=True)):
            self._session.at_close(gatherer.close)
            self._workers, self._room.gathers = gatherer, True

    # Jobs

    def _made_inline(self, wanted: int | None) -> Job | None:
        """Make the next job inline, unless its first elements show that threads pay; return `None` at the end."""
        job = self._feed.take(max(self._room.job_here(), 1), wanted)
        if job is None:
            return None
        asked = perf_counter_ns()
        self._prepare(job)
        if self._workers is not None:
            self._submit(job, self._workers)
            return self._next_job(self._workers)
        for number, result in enumerate(job.results):
            if result is None:
                job.finish(number, self._stage.work.tried(job.tasks[number]))
        if self._tuner.has_returned:
            self._retune(asked, 0)
        return job

    def _next_job(self, current: Workers) -> Job | None:
        """Return the next job that is done, and begin others after it; `None` at the end."""
        self._room.hold(0)
        if not len(self._window):
            self._fill(current)
            if not len(self._window):
                if self._failure is not None:
                    raise self._failure
                return None
        job = self._popped(current)
        if len(self._window) or not self._room.exceeds_all:  # else the next is made once this one is used
            self._fill(current)
        return job

    def _popped(self, current: Workers | None) -> Job:
        asked = perf_counter_ns()
        if current is not None:
            current.admit()  # the oldest job waits no longer
        job = self._window.pop()
        self._room.hold(job.nbytes - job.nbytes // max(job.items, 1))  # all but the first
        if current is not None and current.is_tuned:
            self._retune(asked, len(job.tasks) + self._window.done)
        climb = self._tuner.climb if self._may_move else None
        if climb is not None and (climb.holds_gil or climb.one_thread or climb.elsewhere):
            self._consider(climb, job.task.high)
        return job

    def _retune(self, asked: int, done: int) -> None:
        """Let the tuner look again after a job that was `asked` for at that time; `done` tasks wait to be taken."""
        now = perf_counter_ns()
        if self._tuner.retuned(now, process_time_ns(), now - asked) is not None:
            self._tuner.settle(done)
            self._session.resize()

    def _consider(self, climb: HillClimb, done: int = 0) -> None:
        """Let processes make the next jobs, or threads again, if that is better."""
        mover = self._mover = self._mover or runs.moving.Mover(self._stage, climb)
        left = math.inf if self._feed.rows_of is None else self._feed.end - done
        if self._workers is not None and (coming := mover.look(self._workers, left, self._window.tasks)) is not None:
            self._workers = coming
            self._slots = self._stage.slots()
            self._room.write_to(self._slots)
        self._may_move = not mover.has_ended

    def _fill(self, current: Workers) -> None:
        """Begin jobs while there is room for them; several small ones at a time, once there are few."""
        cannot_gather = self._room.gathers and self._gatherer is not None and not self._gatherer.gathers
        if self._fed or self._failure is not None or cannot_gather or self._tuner.has_returned:
            return
        if not self._room.has_few(self._window):
            return
        high = self._room.high()
        try:
            while count := self._room.next_job(self._window, high):
                job = self._feed.take(count)
                if job is None:
                    self._fed = True
                    return
                self._prepare(job)
                self._submit(job, current)
        except Exception as error:  # noqa: BLE001 - raised after the items made before it
            self._failure = error

    def _begun(self) -> Iterator[Job]:
        """Begin one job after another, and yield it."""
        while (job := self._feed.take(max(self._room.next_job(self._window), 1))) is not None:
            self._prepare(job)
            self._submit(job, cast("Workers", self._workers))
            yield job

    def _submit(self, job: Job, current: Workers) -> None:
        self._window.push(job)
        stays, may_begin = self._room.stays_here(job), self._window.admission(job)
        for number in [number for number, result in enumerate(job.results) if result is None]:
            if stays:
                self._window.finish(job, number, self._stage.work.tried(job.tasks[number]))
            else:
                current.submit(job, number, partial(self._window.finish, job, number), may_begin)

    def _prepare(self, job: Job) -> None:
        """Give a job its tasks: several if it is one expensive batch."""
        if self._workers is not None:
            job.nbytes = self._room.taken(job)
            if not self._room.gathers and (quota := self._room.quota(job)) is not None:
                job.task = job.task._replace(quota=quota)
        task, parts = self._prepared(job.task), self._parts(job)
        if parts is None:
            job.tasks[0] = task
        elif self._workers is None:
            self._begin_first(job, task, parts)
        else:
            rows = parts.rows(task)
            job.set_tasks(parts.cut(task, rows, 0, len(rows), self._tuner.split_item(self._room.most_items)))

    def _prepared(self, task: Task) -> Task:
        """Return a task with its slot and with the rows that later tasks read."""
        rows_of, given = self._feed.rows_of, task.given
        if rows_of is None:  # of several elements, all may have to be made again
            return task if len(given) == 1 else task._replace(given=given.over(chunks.variants.duplicate(given.chunk)))
        if self._next_uses is not None:
            self._next_uses.look(task.high, int(given.ids[0]) - task.low)
        ahead, slot = self._read_ahead, None
        if ahead is not None and ahead.fetches and self._scope.settings.leaves_process(self._workers):
            ahead = None  # this process would fetch what others read
        upcoming = None if ahead is None else ahead.after(task.high, self._feed.end, rows_of)
        if self._slots is not None and not self._room.gathers:
            slot = self._slots.take(len(given), last=task.high >= self._feed.end)
        return task if upcoming is None and slot is None else task._replace(slot=slot, upcoming=upcoming)

    def _parts(self, job: Job) -> Parts | None:
        """Return the way to cut the batch of a job, if several tasks are to make it."""
        tuner, stage = self._tuner, self._stage
        if stage.item_rows <= 1 or job.items > 1:
            return None
        if self._workers is None:  # the first elements decide whether threads make the others
            pays = not tuner.looks and self._scope.settings.executor == "auto" and self._gatherer is None
        else:
            pays = not self._room.gathers and tuner.split_item(self._room.most_items) > 1
        return stage.work.parts if pays else None

    def _begin_first(self, job: Job, task: Task, parts: Parts) -> None:
        """Make a few elements of the first batch inline, until it is known whether threads pay for the others."""
        tuner, rows = self._tuner, parts.rows(task)
        done: list[Task] = []
        results: list[Result] = []
        low, count, pays = 0, 1, None
        while pays is None and low + count < len(rows):
            done += parts.cut(task, rows, low, low + count)
            results.append(result := self._stage.work.tried(done[-1]))
            if not isinstance(result, Made):
                break
            self._observe(cost := result.cost, count / len(rows))
            low += count
            pays = tuner.pays_to_split(cost, count, len(rows) - low)
            count = max(2 * LONG_LOOK * count // max(cost.wall, 1), 1)
        else:
            if pays:
                self._workers = self._session.workers(self._stage.work, tuner, self._stage.observer)
            else:
                tuner.looks = 0  # a few elements say little about a whole batch
            done += parts.cut(task, rows, low, len(rows), tuner.threads if pays else 1)
        job.set_tasks(done)
        job.noted = len(results)
        for number, result in enumerate(results):
            job.finish(number, result, bytes_made(result))

    # Results

    def _finished(self, job: Job) -> Flow:
        """Yield the items of a job; if the job failed, yield the items before the one at fault, then raise."""
        if job.announces:
            yield empty_piece(job.mark_after(0))
        piece = None if job.failed else self._stage.work.joined(job)
        if piece is None:
            if isinstance(job.failure(), QuotaExceeded):
                self._tuner.alone_by_size = True
            of_rows_below = not self._stage.top and self._feed.rows_of is not None
            yield from runs.replay.replayed_and_raised(job, self._stage, lone_too=of_rows_below)
            return
        made = Piece(piece.chunk, piece.ids, job.mark_after(job.items), piece.failed)
        if type(piece.chunk) is Gathered:
            try:
                yield made
            finally:
                self._count_gathered(piece.chunk)
            return
        self._note(job)
        self._room.learn(piece, job)
        yield made if self._workers is None else self._with_those_behind(made, job)

    def _with_those_behind(self, piece: Piece, job: Job) -> Piece:
        """Return a piece joined with small ones that are done behind it, which takes less time than one by one."""
        alone = self._room.depth is not None or not self._stage.top or self._room.gathers
        most = 0 if alone else self._tuner.spare()
        behind = self._window.pop_ready(most, job.task.high) if most else []
        if not behind:
            return piece
        self._room.hold(self._room.held + sum(each.nbytes for each in behind))
        elements, ids = [*piece.chunk.elements()], [piece.ids]
        for each in behind:
            made: Any = each.results[0]
            self._note(each)
            self._room.learn(made.piece, each)
            elements += made.piece.chunk.elements()
            ids.append(made.piece.ids)
        return Piece(Fresh(elements), np.concatenate(ids), behind[-1].mark_after(len(behind[-1])))

    # Measures

    def _note(self, job: Job) -> None:
        """Pass the cost of a job's tasks to the tuner, unless it has them already."""
        for task, result in islice(zip(job.tasks, job.results, strict=True), job.noted, None):
            if isinstance(result, Made):
                self._observe(result.cost, job.share(task))

    def _observe(self, cost: Cost, items: float) -> None:
        self._tuner.observe(cost, items)
        if self._read_ahead is not None:
            self._read_ahead.observe(cost, items)
        self._scope.spent += cost

    def _count_gathered(self, made: Gathered) -> None:
        """Count the batches taken and the time of the native thread."""
        taken, cost = made.taken()
        if self._gatherer is not None:
            rows = taken * made.batch_rows
            nbytes = rows * (self._room.item_bytes or 0) // self._stage.item_rows
            self._gatherer.count(taken, rows, nbytes, cost.wall, cost.cpu)
        if taken and cost.wall:
            self._observe(cost, taken)
