"""Descriptors that one thread waits for, and errands that other threads leave for it."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable
from contextlib import suppress


class Errands:
    """Calls that one thread is to make: of the source of a descriptor that is ready, and those left by other threads.

    To leave one takes no lock, so that neither an interrupt nor a finalizer can find anything half changed. After the
    end, whoever leaves an errand runs it.
    """

    def __init__(self) -> None:
        self.wakes = True
        """True if the thread is to be woken for errands that are not urgent; set before `run`."""
        self._left: deque[Callable[[], object]] = deque()
        self._sources: dict[int, Callable[[], None]] = {}
        self._is_over = False
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._bell, select.EPOLLIN)

    def leave(self, errand: Callable[[], object], *, urgent: bool = True) -> None:
        """Let the thread make a call; for any thread, also during garbage collection.

        One that is not `urgent` may wait until the thread wakes up anyway.
        """
        self._left.append(errand)
        if self._is_over:
            self.run()
        elif urgent or self.wakes:
            with suppress(OSError):  # the thread has just ended, and runs its last errands
                os.eventfd_write(self._bell, 1)

    def run(self) -> None:
        """Make the calls that were left."""
        with suppress(IndexError):  # none is left
            while True:
                self._left.popleft()()

    def wait(self, seconds: float | None) -> None:
        """Wait until a descriptor is ready or an errand is left, and call the sources of those that are ready."""
        for descriptor, _ in self._epoll.poll(seconds):
            if descriptor == self._bell:
                os.eventfd_read(self._bell)
            elif (source := self._sources.get(descriptor)) is not None:
                source()

    def listen(self, descriptor: int, source: Callable[[], None]) -> None:
        """Call `source` whenever there is something to read."""
        self._sources[descriptor] = source
        self._epoll.register(descriptor, select.EPOLLIN)

    def await_room(self, descriptor: int, *, awaited: bool) -> None:
        """Call the source, or no longer, also once there is room to write."""
        self._epoll.modify(descriptor, select.EPOLLIN | select.EPOLLOUT if awaited else select.EPOLLIN)

    def ignore(self, descriptor: int) -> None:
        """Wait for a descriptor no longer."""
        if self._sources.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def end(self) -> None:
        """Run what was left; only the thread itself calls this."""
        self._is_over = True
        self.run()
        self._close()

    def after_fork(self) -> None:
        """Close the descriptors in a forked child, which has no thread to run errands, and forget those left."""
        self._sources = {}
        self._left.clear()
        self._is_over = True
        self._close()

    def _close(self) -> None:
        self._epoll.close()
        bell, self._bell = self._bell, -1
        if bell >= 0:  # else it was closed at the end, before a child was forked
            os.close(bell)
