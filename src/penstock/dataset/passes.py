"""The passes of a dataset: which epoch comes next, from where, and with which seed; its iterators share them."""

from __future__ import annotations

import threading
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock import dataset
from penstock.core.options import Options
from penstock.engine.cursors.cursor import Cursor
from penstock.ops.buffer.options import options_of
from penstock.plan.node import Node
from penstock.rewrite.seeds import draw_for_good, take_over

if TYPE_CHECKING:
    from penstock.dataset.iterator import Iterator
    from penstock.dataset.states import States


class Passes:
    """The epoch, position and seed that one pass over a dataset leaves to the next.

    A pass takes its epoch with its first element, so that an iterator which is never advanced takes none. The seed of
    what has none is drawn once, and replaced by that of a state that is loaded.
    """

    def __init__(self, plan: Node, seed: int) -> None:
        self.plan = plan
        self._seed = seed
        self.lock = threading.RLock()  # a signal handler may ask for the position in the midst of it
        self.left = 0  # passes begun, all left early; 0 where one has reached the end
        self.ended = False
        self._epoch = 0
        self._loaded: Cursor | None = None  # where the next pass begins, if not at the beginning of its epoch
        self._last: weakref.ref[Iterator[Any]] | None = None  # the pass begun last

    @cached_property
    def options(self) -> Options:
        """The options of the dataset."""
        return options_of(self.plan)

    @cached_property
    def states(self) -> States:
        """The reader and writer of positions of the dataset."""
        return dataset.states.States(self.plan, self.options)

    @property
    def seed(self) -> int:
        """The seed that was set for the dataset, or else the one that was drawn."""
        return self._seed if self.options.seed is None else self.options.seed

    def beginning(self, epoch: int) -> Cursor:
        """The beginning of an epoch."""
        seed = self.seed
        drawn = draw_for_good(self.plan, seed) if self.options.seed is None else ()
        return Cursor(seed, epoch, 0, drawn=drawn)

    def upcoming(self) -> Cursor:
        """Where the next pass begins."""
        with self.lock:
            return self._loaded or self.beginning(self._epoch)

    def begin(self, iterator: Iterator[Any], cursor: Cursor) -> None:
        """Note that the iterator goes on from a cursor; the pass after it is the next epoch."""
        with self.lock:
            self._epoch, self._loaded = cursor.epoch + 1, None
            self._last = weakref.ref(iterator)
            self.left += not self.ended

    def end(self) -> None:
        """Note that a pass has reached the end."""
        self.ended, self.left = True, 0

    def position(self) -> Cursor:
        """Where the pass begun last stands; the beginning of the next one where that is closed, over or gone."""
        with self.lock:
            last = self._last() if self._last is not None else None
        if last is not None and not last._closed:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
            cursor = last._position()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the same
            if not self.states.is_over(cursor):
                return cursor
        return self.upcoming()

    def load(self, cursor: Cursor) -> None:
        """Begin the next pass at a cursor, or with the epoch after it where that is over."""
        with self.lock:
            self.take_over(cursor)
            self._last = None
            over = self.states.is_over(cursor)
            self._epoch, self._loaded = cursor.epoch + over, None if over else cursor

    def take_over(self, cursor: Cursor) -> None:
        """Draw in later passes as the run did that a cursor comes from."""
        if self.options.seed is None:
            with self.lock:
                self._seed = cursor.seed
                take_over(self.plan, cursor.seed, cursor.drawn)

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass be this epoch: what is left of it, where a position in it was loaded."""
        with self.lock:
            if self._loaded is None or self._loaded.epoch != epoch:
                self._epoch, self._loaded = epoch, None
