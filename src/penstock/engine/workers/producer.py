"""Work in the background: a thread that takes items from an iterator ahead of the consumer."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, Self, TypeVar

from penstock.core.budget import Account, unlimited
from penstock.core.errors import ClosedError
from penstock.engine.workers.lifetime import worker_thread
from penstock.engine.workers.window import WHILE_WAITING
from penstock.plan.flow import close

T = TypeVar("T")


class Producer(Generic[T]):
    """An iterator over items that a thread takes ahead, as long as `has_room` is true of the items not consumed yet.

    The thread requests no more items than that, and every item can be consumed as soon as it is made. With a `size`,
    their bytes are counted in an `account`, and there must be room for another as large as the largest so far; one item
    always has room.
    """

    def __init__(
        self,
        items: Iterator[T],
        has_room: Callable[[deque[T]], bool],
        account: Account | None = None,
        size: Callable[[T], int] | None = None,
    ) -> None:
        self._items = items
        self._has_room = has_room
        self._account = account or unlimited()
        self._size = size
        self._sizes: deque[int] = deque()  # of the items not consumed yet
        self._largest = 0
        self._ready: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended = self._stopped = False
        self._failure: BaseException | None = None
        self._process = os.getpid()
        worker_thread(self._work).start()

    def __len__(self) -> int:
        return len(self._ready)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        """Wait for the next item. The iterator's exception is raised after earlier items."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended or self._stopped)
            if self._stopped:
                raise ClosedError(WHILE_WAITING)
            if not self._ready:
                raise StopIteration if self._failure is None else self._failure
            item = self._ready.popleft()
            if self._size is not None:
                self._account.add(-self._sizes.popleft())
            self._changed.notify_all()
            return item

    def look_again(self) -> None:
        """Make the thread check again for room."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Take no more items, and wake all waiting threads; the thread ends after the item that it waits for."""
        if self._process != os.getpid():  # the thread is in the parent process, perhaps with the lock
            return
        with self._changed:
            self._stopped = True
            self._ready.clear()
            self._account.close()
            self._changed.notify_all()

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            while self._waited_for_room() and (item := next(self._items, None)) is not None:
                self._hand_over(item)
                del item
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            failure = error
        try:
            with suppress(ValueError):  # the caller of `stop` is closing it
                close(self._items)
        except BaseException as error:  # noqa: BLE001 - the same
            failure = error if failure is None else failure
        with self._changed:
            self._ended, self._failure = True, failure
            self._changed.notify_all()

    def _waited_for_room(self) -> bool:
        """Return true once there is room for another item, false if the thread is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._may_go_on())
            return not self._stopped

    def _may_go_on(self) -> bool:
        if not self._has_room(self._ready):
            return False
        return self._size is None or not self._ready or self._account.left >= self._largest

    def _hand_over(self, item: T) -> None:
        nbytes = 0 if self._size is None else self._size(item)
        with self._changed:
            if not self._stopped:
                self._ready.append(item)
                if self._size is not None:
                    self._sizes.append(nbytes)
                    self._account.add(nbytes)
                    self._largest = self._account.least = max(nbytes, self._largest)
                self._changed.notify_all()
