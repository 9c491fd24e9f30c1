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
        self._rows_of = feed.rows_of
        self._slots = stage.slots()
        self._room = Room(stage, self._slots)
        listens = stage.work.tell is not None
        self._read_ahead = stage.read_ahead() if listens else None
        self._next_uses = stage.next_uses() if listens else None
        self._workers: Workers | None = None  # tasks run here
        self._gatherer = stage.native_thread(self._room.item_bytes)  # workers that may take over from this thread
        self._may_move = self._scope.may_move and stage.turns == 1
        stage.tuner.may_return = self._scope.may_return and stage.turns == 1 and not stage.live
        stage.tuner.is_hosted = self._scope.settings.hosted
        self._mover: Mover | None = None
        self._failure: Exception | None = None  # raised once the window is empty
        self._fed = False  # the feed has ended

    @cached_property
    def _window(self) -> Window:
        ordered = self._scope.settings.ordered or not self._stage.top
        return self._session.window(self._room.account, ordered=ordered)

    def pieces(self) -> AskedFlow:
        """Yield the results of the jobs as pieces with the mark after each."""
        session, tuner, room = self._session, self._tuner, self._room
        wanted: int | None = None
        try:
            while True:
                session.check_open()
                if self._workers is None or room.gathers or tuner.has_returned:
                    self._choose_workers()
                if self._workers is None:
                    jobs = self._made_inline(wanted)
                elif self._stage.live:
                    yield from self._live_pieces()
                    return
                else:
                    jobs = self._next_jobs(self._workers)
                if not jobs:
                    return
                if jobs[0].is_whole and not (jobs[0].announces or room.gathers):
                    piece = self._joined(jobs)
                    del jobs  # their memory is free for the next ones as soon as the consumer lets it go
                    wanted = yield piece
                    del piece
                else:
                    yield from self._pieces_of(jobs.pop())
        finally:
            with suppress(ValueError):  # a producer is running the feed, and closes it
                self._feed.close()
            if self._workers is not None:
                self._window.close()
            for each in (room.account, self._read_ahead, self._next_uses):
                if each is not None:
                    each.close()

    def _live_pieces(self) -> Flow:
        """Yield the results of jobs that a thread begins as soon as the user's code gives it their elements."""

        def begun() -> Iterator[Job]:
            while (job := self._feed.take(max(self._room.next_job(self._window), 1))) is not None:
                self._begin(job, cast("Workers", self._workers))
                yield job

        producer = self._session.producer(begun(), lambda _: self._room.next_job(self._window) > 0)
        try:
            while next(producer, None) is not None:
                self._session.check_open()
                (job,) = self._popped(cast("Workers", self._workers))
                producer.look_again()
                yield from self._pieces_of(job)
        finally:
            producer.close()

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
            self._room.choose()
            if self._may_move and (climb := self._tuner.climb) is not None and climb.elsewhere:
                self._consider(climb)  # the run before has moved
        elif gatherer is None:
            return
        elif self._room.gathers and not gatherer.gathers and not len(self._window):
            self._workers, self._gatherer, self._room.gathers = None, None, False
        elif current is None and self._tuner.worth_beside(self._room.job_here(beside=True)):
            self._session.at_close(gatherer.close)
            self._workers, self._room.gathers = gatherer, True
            self._room.choose()

    # Jobs

    def _made_inline(self, wanted: int | None) -> list[Job]:
        """Make the next job inline, unless its first elements show that threads pay; return none at the end."""
        job = self._feed.take(max(self._room.job_here(), 1), wanted)
        if job is None:
            return []
        asked = perf_counter_ns()
        self._prepare(job)
        if self._workers is not None:
            self._submit(job, self._workers)
            return self._next_jobs(self._workers)
        for number, result in enumerate(job.results):
            if result is None:
                job.finish(number, self._stage.work.tried(job.tasks[number]))
        if self._tuner.has_returned:
            self._retune(asked, [])
        return [job]

    def _next_jobs(self, workers: Workers) -> list[Job]:
        """Return the next job that is done, and small ones done behind it; begin others. Return none at the end."""
        room, window = self._room, self._window
        if room.held:
            room.hold(0)
        if not window.tasks:
            self._fill(workers)
            if not window.tasks:
                if self._failure is not None:
                    raise self._failure
                return []
        jobs = self._popped(workers)
        if window.tasks or not room.exceeds_all:  # else the next is made once this one is used
            self._fill(workers)
        return jobs

    def _popped(self, workers: Workers) -> list[Job]:
        room, asked = self._room, perf_counter_ns()
        if room.given:
            workers.admit()  # the oldest job waits no longer
        jobs = self._window.pop(room.together)
        first = jobs[0]
        if len(jobs) > 1 or first.items > 1:  # all but the first item wait for the consumer
            room.hold(sum([job.nbytes for job in jobs]) - first.nbytes // max(first.items, 1))
        if workers.is_tuned:
            self._retune(asked, jobs)
        climb = self._tuner.climb if self._may_move else None
        if climb is not None and (climb.holds_gil or climb.one_thread or climb.elsewhere):
            self._consider(climb, jobs[-1].task.high)
        return jobs

    def _retune(self, asked: int, popped: list[Job]) -> None:
        """Let the tuner look again, after jobs that were `asked` for at that time."""
        now = perf_counter_ns()
        if self._tuner.retuned(now, process_time_ns(), now - asked) is not None:
            self._tuner.settle(sum(len(job.tasks) for job in popped) + self._window.done)  # not observed yet
            self._session.resize()
            self._room.choose()

    def _consider(self, climb: HillClimb, done: int = 0) -> None:
        """Let processes make the next jobs, or threads again, if that is better."""
        mover = self._mover = self._mover or runs.moving.Mover(self._stage, climb)
        left = math.inf if self._feed.rows_of is None else self._feed.end - done
        if self._workers is not None and (coming := mover.look(self._workers, left, self._window.tasks)) is not None:
            self._workers = coming
            self._slots = self._stage.slots()
            self._room.write_to(self._slots)
        self._room.choose()
        self._may_move = not mover.has_ended

    def _fill(self, workers: Workers) -> None:
        """Begin jobs while there is room for them; several small ones at a time, once there are few."""
        room, window = self._room, self._window
        if self._fed or self._failure is not None or not room.has_few(window):
            return
        cannot_gather = room.gathers and self._gatherer is not None and not self._gatherer.gathers
        if cannot_gather or self._tuner.has_returned:
            return
        try:
            while count := room.next_job(window):
                job = self._feed.take(count)
                if job is None:
                    self._fed = True
                    return
                self._begin(job, workers)
        except Exception as error:  # noqa: BLE001 - raised after the items made before it
            self._failure = error

    def _begin(self, job: Job, workers: Workers) -> None:
        self._room.reserve(job)
        self._prepare(job)
        self._submit(job, workers)

    def _submit(self, job: Job, workers: Workers) -> None:
        room, window = self._room, self._window
        window.push(job)
        stays, may_begin = room.given and room.stays_here(job), partial(window.admits, job) if room.given else None
        for number, task in enumerate(job.tasks):
            if job.results[number] is not None:
                continue
            if stays:
                window.finish(job, number, self._stage.work.tried(task))
            else:
                workers.submit(job, number, partial(window.finish, job, number), may_begin)

    def _prepare(self, job: Job) -> None:
        """Give a job its task, or several if it is one expensive batch."""
        task, work, room = self._prepared(job), self._stage.work, self._room
        job.tasks[0] = task
        if self._stage.item_rows <= 1 or job.items > 1:
            return
        if self._workers is not None:
            if room.parts > 1 and (parts := work.parts) is not None:
                rows = parts.rows(task)
                job.set_tasks(parts.cut(task, rows, 0, len(rows), room.parts))
            return
        decides = not self._tuner.looks and self._scope.settings.executor == "auto" and self._gatherer is None
        if decides and (parts := work.parts) is not None:  # the first elements decide whether threads make the others
            self._begin_first(job, task, parts)

    def _prepared(self, job: Job) -> Task:
        """Return the task of a job with its slot and with the rows that later tasks read."""
        task, room, ahead = job.task, self._room, self._read_ahead
        given, quota = task.given, room.quota(job) if self._workers is not None and room.given else None
        if self._rows_of is None:  # of several elements, all may have to be made again
            if len(given) > 1:
                given = given.over(chunks.variants.duplicate(given.chunk))
            return Task(task.low, task.high, given, quota=quota)
        if self._next_uses is not None:
            self._next_uses.look(task.high, int(given.ids[0]) - task.low)
        if ahead is not None and ahead.fetches and self._leaves_process:
            ahead = None  # this process would fetch what others read
        upcoming = None if ahead is None else ahead.after(task.low, task.high, self._feed.end, self._rows_of)
        slot = None
        if self._slots is not None and not room.gathers:
            slot = self._slots.take(job.items, last=task.high >= self._feed.end)
        if upcoming is None and slot is None and quota is None:
            return task
        return Task(task.low, task.high, given, slot, upcoming, quota=quota)

    @property
    def _leaves_process(self) -> bool:
        """True if other processes make the tasks, or will make them once these processes have started."""
        workers = self._workers
        return self._scope.settings.executor == "processes" if workers is None else not workers.shares_gil

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
                self._room.choose()
            else:
                tuner.looks = 0  # a few elements say little about a whole batch
            done += parts.cut(task, rows, low, len(rows), tuner.threads if pays else 1)
        job.set_tasks(done)
        job.noted = len(results)
        for number, result in enumerate(results):
            job.nbytes += bytes_made(result)
            job.finish(number, result)

    # Results

    def _joined(self, jobs: list[Job]) -> Piece:
        """Return the items of jobs that are whole as one piece, which takes less time than one by one."""
        (first, *behind), last = [self._result(job) for job in jobs], jobs[-1]
        if not behind:
            return Piece(first.chunk, first.ids, last.mark_after(last.items), first.failed)
        elements, ids = [*first.chunk.elements()], [first.ids]
        for each in behind:
            elements += each.chunk.elements()
            ids.append(each.ids)
        return Piece(Fresh(elements), np.concatenate(ids), last.mark_after(last.items))

    def _result(self, job: Job) -> Piece:
        """Return the items of a job that is whole, and learn their cost and size."""
        made: Any = job.results[0]
        self._observe(made.cost, max(job.items, 1))
        self._room.learn(made.piece, job)
        return made.piece

    def _pieces_of(self, job: Job) -> Flow:
        """Yield the items of a job; if the job failed, yield the items before the one at fault, then raise."""
        if job.announces:
            yield empty_piece(job.mark_after(0))
        piece = None if job.failed else self._stage.work.joined(job)
        if piece is None:
            if isinstance(job.failure(), QuotaExceeded):
                self._tuner.alone_by_size = True
                self._room.choose()
            of_rows_below = not self._stage.top and self._rows_of is not None
            yield from runs.failures.replayed_and_raised(job, self._stage, lone_too=of_rows_below)
            return
        made = Piece(piece.chunk, piece.ids, job.mark_after(job.items), piece.failed)
        if type(piece.chunk) is Gathered:
            try:
                yield made
            finally:
                self._count_gathered(piece.chunk)
            return
        for task, result in islice(zip(job.tasks, job.results, strict=True), job.noted, None):
            self._observe(cast("Made", result).cost, job.share(task))
        self._room.learn(piece, job)
        yield made

    # Measures

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
