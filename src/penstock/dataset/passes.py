"""The passes of a dataset, shared by its iterators: the next epoch, its starting position, and its seed."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from penstock import dataset
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError
from penstock.core.options import Options
from penstock.engine.cursors.cursor import Cursor
from penstock.ops import buffer
from penstock.ops.buffer.options import options_of
from penstock.plan.node import Node
from penstock.rewrite.seeds import draw_for_good, take_over

if TYPE_CHECKING:
    from penstock.dataset.iterator import Iterator
    from penstock.dataset.states import States


class Passes:
    """The epoch, position and seed that one pass over a dataset leaves to the next.

    A pass takes its epoch with its first element, so an iterator that is never advanced takes none. The seed of
    unseeded operations is drawn once, and replaced by the seed of a loaded state.
    """

    def __init__(self, plan: Node, seed: int) -> None:
        self.plan = plan
        self._seed = seed
        self.lock = threading.RLock()  # reentrant: a signal handler may request the position meanwhile
        self.left = 0  # passes begun, if all were left early; 0 once one has reached the end
        self.ended = False
        self._epoch = 0
        self._loaded: Cursor | None = None  # where the next pass begins, if not at the beginning of its epoch
        self._last: weakref.ref[Iterator[Any]] | None = None  # the pass begun last

    @cached_property
    def options(self) -> Options:
        """Return the options of the dataset."""
        return options_of(self.plan)

    @cached_property
    def states(self) -> States:
        """Return the reader and writer of positions of the dataset."""
        return dataset.states.States(self.plan, self.options)

    def cursor_of(self, state: object) -> Cursor:
        """Return the cursor of a state; raise a `CursorError` for another plan.

        If the state was saved while a cache of a stream was still filled, its elements come in the order of the stream
        from now on, as they would have without the restart.
        """
        try:
            return self.states.cursor_of(state)
        except CursorError:
            plan = buffer.cached_stream.as_streams(self.plan)
            if plan is self.plan:
                raise
            states = dataset.states.States(plan, self.options)
            cursor = states.cursor_of(state)
            self.plan, self.states = plan, states
            return cursor

    @property
    def seed(self) -> int:
        """Return the seed that was set for the dataset, or else the one that was drawn."""
        return self._seed if self.options.seed is None else self.options.seed

    def beginning(self, epoch: int) -> Cursor:
        """Return the beginning of an epoch."""
        seed = self.seed
        drawn = draw_for_good(self.plan, seed) if self.options.seed is None else ()
        return Cursor(seed, epoch, 0, drawn=drawn)

    def upcoming(self) -> Cursor:
        """Return the position at which the next pass begins."""
        with self.lock:
            return self._loaded or self.beginning(self._epoch)

    def begin(self, iterator: Iterator[Any], cursor: Cursor) -> None:
        """Record that the iterator continues from a cursor; the pass after it is the next epoch."""
        with self.lock:
            self._epoch, self._loaded = cursor.epoch + 1, None
            self._last = weakref.ref(iterator)
            self.left += not self.ended

    def end(self) -> None:
        """Record that a pass has reached the end."""
        self.ended, self.left = True, 0

    def position(self) -> Cursor:
        """Return the position of the pass begun last; if it is closed, over or gone, the start of the next pass."""
        with self.lock:
            last = self._last() if self._last is not None else None
        if last is not None and not last._closed:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
            cursor = last._position()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the same
            if not self.states.is_over(cursor):
                return cursor
        return self.upcoming()

    def load(self, cursor: Cursor) -> None:
        """Begin the next pass at a cursor, or with the epoch after it if the cursor's epoch is over."""
        with self.lock:
            self.take_over(cursor)
            self._last = None
            over = self.states.is_over(cursor)
            self._epoch, self._loaded = cursor.epoch + over, None if over else cursor

    def take_over(self, cursor: Cursor) -> None:
        """Make later passes draw with the seeds of the run that the cursor comes from."""
        if self.options.seed is None:
            with self.lock:
                self._seed = cursor.seed
                take_over(self.plan, cursor.seed, cursor.drawn)

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass this epoch, or the rest of it if a position in this epoch was loaded."""
        with self.lock:
            if self._loaded is None or self._loaded.epoch != epoch:
                self._epoch, self._loaded = epoch, None
