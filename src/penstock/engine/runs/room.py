"""The room of one loop: how many items its next job may have, by their sizes, the budget and the tuner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from penstock.core.budget import UNLIMITED
from penstock.elements.footprint import memory_of
from penstock.engine.tasks.slots import Slots
from penstock.engine.tasks.task import NOTHING, Job
from penstock.engine.tuning.tuner import LOOKS
from penstock.plan.flow import Piece

if TYPE_CHECKING:
    from penstock.engine.runs.stage import Stage
    from penstock.engine.workers.window import Window

LOOKED_AT = 8  # of the later jobs, one in this many is looked at for the sizes of items
IN_HAND = 2  # times the bytes of an item that a task takes: a batch beside its elements, an element beside its argument
IN_HAND_ELSEWHERE = 4  # the same in another process: the result is also beside its packed form, there and here
GIVEN_ELSEWHERE = 3  # times the bytes of given elements: here, on their way, and in the other process
SURPRISE = 4  # times the expected bytes, above which the items of a job are made one by one
STAYS_SHARE = 2  # what would take more than this part of the budget on its way to another process is made here
TASK_SHARE = 64  # a job may make this part of the budget, however small its items were before
UPROAR = 2  # times the largest size before
FORGET = 9  # a size larger than all later ones counts for half as much after 355 jobs: it shrinks by 1 / 2**9 each
CHOSEN_FOR = 16  # the most tasks for which sizes are kept, at first a quarter of those seen
UNASKED = 8  # of the items that a default budget has room for, one in this many may begin before it is looked at again


class Room:
    """The room for further jobs of a loop, in its window and in the budget of its run.

    Alternating stages share the budget in equal parts. `item_bytes` is the size of the largest item of late, `None`
    while unknown. A job reserves a multiple of that for each of its items until it is made.

    The loop begins tasks once there are fewer than `low`, up to `high` of them. These have `items` items each, or are
    one of `parts` of an item. Up to `together` small jobs that are done are taken out behind another. The tuner chooses
    these numbers now and then (`choose`).
    """

    def __init__(self, stage: Stage, slots: Slots | None) -> None:
        settings = stage.scope.settings
        self.depth = settings.depth if stage.top else None
        """The number of items to have under way, if it is not left to the tuner."""
        self.gathers = False
        """True while a native thread gathers batches, which are made in place."""
        self.given = settings.budget_is_given
        """True if the user has given the budget."""
        self._tuner = stage.tuner
        self._one_by_one = settings.one_by_one
        self.account = stage.session.account(stage.plan.label(), "ahead")
        self.item_bytes: int | None = (0 if slots is None else slots.item_bytes) or stage.tuner.item_bytes or None
        self.calm = 1 if self.given else UNLIMITED
        """The items made since one was much larger than all before: no more are under way, as others may follow it."""
        self.held = 0
        """The bytes of items taken out of the window that wait for the consumer."""
        self._turns = stage.turns
        self._slots = slots
        self._stage = stage
        self._is_hosted = settings.hosted
        self._in_hand, self._of_given = (IN_HAND_ELSEWHERE, GIVEN_ELSEWHERE) if settings.is_remote else (IN_HAND, 1)
        self._fetched_bytes = 0  # for one item, by the process that makes it
        if settings.is_remote:
            self._expect_fetching()
        self._given_bytes = 0  # of the largest element of late that a task was given
        self._unasked = 0  # items that may begin before the budget is looked at again
        self._each = 0  # that an item is expected to take
        self._taken = self._jobs = 0  # begun by workers, and done
        self._is_noted = False  # that one item exceeds the budget
        self._weigh()

    def choose(self) -> None:
        """Choose the numbers and sizes of the tasks of workers, as tasks cost now; called before workers begin."""
        self._weigh()
        tuner, spare = self._tuner, 0 if self._turns > 1 else self._tuner.spare()
        self.low = tuner.depth() + self._stage.top
        self.high = self.low + spare
        alone = self.gathers or self.depth is not None or not self._stage.top or self._stage.live
        self.together = 0 if alone else spare
        self.items = 1 if self._one_by_one else tuner.group_items(beside=self.gathers)
        self.parts = 1 if self.gathers else tuner.split_item(self._most_items)
        self._chosen_until = tuner.looks + min(tuner.looks // 4, CHOSEN_FOR)

    @property
    def _share(self) -> int:
        return self.account.budget.limit_ahead // self._turns

    def write_to(self, slots: Slots | None) -> None:
        """Continue with other slots, in memory that processes share."""
        self._slots = slots
        self._in_hand, self._of_given = IN_HAND_ELSEWHERE, GIVEN_ELSEWHERE
        self._expect_fetching()

    def _expect_fetching(self) -> None:
        """Count what other processes fetch ahead for the tasks that they have; here it is counted where it is."""
        self._fetched_bytes = int(self._stage.item_rows * self._stage.fetched_bytes())

    def _set_size(self, nbytes: int) -> None:
        if nbytes > UPROAR * (self.item_bytes or 0):
            self._unasked = 0
            if self.given:
                self.calm = 1
        self.item_bytes = nbytes
        self._weigh()
        self.account.least = self._each

    def hold(self, nbytes: int) -> None:
        """Count the bytes of items that wait for the consumer, instead of those before."""
        if nbytes != self.held:
            self.account.add(nbytes - self.held)
            self.held = nbytes

    def _weigh(self) -> None:
        """Note what an item is expected to take until it is made, with the element that its task is given."""
        made = (1 if self.gathers else self._in_hand) * (self.item_bytes or 0)
        self._each = made + self._of_given * self._given_bytes + self._fetched_bytes

    def reserve(self, job: Job) -> None:
        """Reserve what a job is expected to take while it is made, besides the elements that it is given.

        Of the jobs that have no budget given, most are taken to make items of the size known.
        """
        items, size, chunk = job.items, self.item_bytes or 0, job.task.given.chunk
        self._taken += 1
        if self.gathers or (size and not self.given and self._taken % LOOKED_AT):
            job.looked_at = False
            job.nbytes = items * (size + self._given_bytes)
            job.reserved = items * self._each - job.nbytes
            return
        if chunk is not NOTHING:
            job.nbytes = memory_of(chunk)
            self._given_bytes = max(job.nbytes // max(items, 1), self._given_bytes - (self._given_bytes >> FORGET))
            self._weigh()
        others = (self._of_given - 1) * job.nbytes
        job.reserved = items * (self._in_hand * size + self._fetched_bytes) + others

    def quota(self, job: Job) -> int | None:
        """Return the bytes that an operation may make in a job of several items before it ends; `None` if any.

        Items that are a few times as large as all before, or small, do not end it.
        """
        if not self.given or self.gathers or job.items <= 1:
            return None
        return max(SURPRISE * job.items * (self.item_bytes or 0), self._share // TASK_SHARE)

    def stays_here(self, job: Job) -> bool:
        """Return whether a job is given so much that its way to other processes would take half of a given budget."""
        if self._of_given == 1:
            return False
        return (self._of_given + 1) * job.nbytes > self.account.budget.limit // STAYS_SHARE

    def has_few(self, window: Window) -> bool:
        """Return whether there are so few tasks in the window that others are to be started."""
        return not window.tasks or window.tasks < self.low or self.depth is not None

    def job_here(self, *, beside: bool = False) -> int:
        """Return the number of items in the next job of the thread that asks for it, or of one `beside` it."""
        if self._one_by_one:
            return 1
        items = self._tuner.group_items(beside=beside)
        return min(items, self.for_items_here()) if self.item_bytes else items

    def next_job(self, window: Window) -> int:
        """Return the number of items in the next job of workers; 0 if the window, up to `high` tasks, has no room."""
        if self._tuner.looks >= self._chosen_until:
            self.choose()
        tasks, depth, items = window.tasks, self.depth, self.items
        if tasks and (self._is_full(window) or (self.item_bytes is None and self.given)):  # until the first is made
            return 0
        if depth is not None:
            items = min(max(min(items, depth // 2), 1), max(depth - window.items, 1))
        if not self.item_bytes:
            return items
        if items <= self._unasked:
            self._unasked -= items
            return items
        fitting = self.for_items(window)
        self._unasked = 0 if self.given else fitting // UNASKED
        return min(items, fitting) or (0 if tasks else 1)

    def _is_full(self, window: Window) -> bool:
        """Return whether the window has as many tasks as are to be under way."""
        tasks, high = window.tasks, self.high
        if self.depth is not None:
            return window.items >= self.depth
        if self._turns == 1 or tasks >= high:
            return self.gathers or tasks >= high
        # alternating stages share the items made ahead; the one that the consumer waits for may use idle workers
        return tasks > -(-high // self._turns) and not (window.waits and self._stage.session.unfinished < high)

    def for_items(self, window: Window) -> int:
        """Return the number of further items that the budget has room for, beside those of the jobs under way.

        Items count as large as the largest that was made, even if it waits behind others.
        """
        largest, window.largest = window.largest, 0
        if self.given and largest > (self.item_bytes or 0):
            self._set_size(largest)
        items, nbytes = window.items, window.nbytes
        left = min(self.account.left, self._share - nbytes - self.held)
        fitting = max(left, 0) // max(self._each, 1)
        if not fitting:
            self.account.budget.make_room()
        return min(fitting, max(self.calm - items, 0))

    def for_items_here(self) -> int:
        """Return the number of items that may be made in the thread that asks for them.

        Nothing else is under way then, unless a consumer in another process has not taken what was made before.
        """
        left = min(self._share, max(self.account.left, 0)) if self._is_hosted else self._share
        return min(left // max(self.item_bytes or 0, 1), self.calm)

    @property
    def _most_items(self) -> float:
        """The number of items that may be under way at a time, at least one."""
        return max(self._share // self._each, 1) if self._each else math.inf

    @property
    def exceeds_all(self) -> bool:
        """True if a single item exceeds the budget that the user has given."""
        return self.given and (self.item_bytes or 0) > self.account.budget.limit

    def _note_size(self) -> None:
        """Note it once if a single item exceeds the budget."""
        budget, nbytes = self.account.budget, self.item_bytes or 0
        if self._is_noted or not self.exceeds_all:
            return
        self._is_noted = True
        what = "batch" if self._stage.batching else "element"
        budget.note(
            f"one {what} of {self.account.name} takes about {nbytes:,} bytes, and Options(memory_budget=) allows "
            f"{budget.limit:,}: the next {what} is made only when it is asked for; make it smaller, or raise the budget"
        )

    @property
    def _is_sample(self) -> bool:
        if self._slots is None:
            return self._tuner.looks < LOOKS
        return self._jobs <= LOOKS or not self._jobs % LOOKED_AT

    def learn(self, piece: Piece, job: Job) -> None:
        """Note the size of the items of every job if there is a budget, else of the first and of a sample."""
        self._jobs += 1
        if not (self.given or self._is_sample):
            return
        nbytes = 0
        if self._slots is not None:
            self._slots.learn(piece.chunk, job.tasks[0].slot)
            self._tuner.slots = self._slots.after
            nbytes = self._slots.item_bytes
        if not nbytes and len(piece):
            nbytes = memory_of(piece.chunk) // len(job)  # of all elements made of one
        before = self.item_bytes or 0
        self._set_size(max(nbytes, before - (before >> FORGET)))
        self._tuner.item_bytes = self.item_bytes or 0
        self.calm += len(job)
        self._stage.session.tidy()
        self._note_size()
