"""Items of an iterator, made ahead of demand in a separate thread."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class ItemsAhead(Generic[T]):
    """The items of `begin()`, in order, with up to `most` made ahead; an error is raised after the items before it.

    The thread begins at once, and ends with the items or with `close`, which waits for the current item.

    >>> list(ItemsAhead(lambda: iter("abc"), most=2))
    ['a', 'b', 'c']
    """

    def __init__(self, begin: Callable[[], Iterator[T]], most: int) -> None:
        self._begin = begin
        self._most = most
        self._ready: deque[T] = deque()
        self._changed = threading.Condition()
        self._over = False
        self._stopped = False
        self._failure: BaseException | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="penstock-read-ahead", daemon=True)
        self._thread.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._over)
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """End the thread and drop the items made ahead."""
        if self._process != os.getpid():  # the thread is in the parent process
            return
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()
        self._ready.clear()

    def _run(self) -> None:
        try:
            items = self._begin()
            try:
                for item in items:
                    if not self._put(item):
                        break
            finally:
                stop = getattr(items, "close", None)
                if stop is not None:
                    stop()
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            self._failure = error
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _put(self, item: T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or len(self._ready) < self._most)
            if not self._stopped:
                self._ready.append(item)
                self._changed.notify_all()
            return not self._stopped
