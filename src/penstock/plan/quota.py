"""The bytes that an operation may make in a task of several elements, which are made one by one if they are more."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from penstock.core.contexts import contextmanager
from penstock.elements.footprint import memory_of_value


class QuotaExceeded(BaseException):
    """An operation has made more bytes than its task of several elements may, and not all elements yet."""


class _QuotaOfThread(threading.local):
    nbytes: int | None = None


of_thread = _QuotaOfThread()
"""The quota of the task that the calling thread makes."""


@contextmanager
def under_quota(nbytes: int | None) -> Generator[None]:
    """Let the calling thread make a task, each operation of which may make this many bytes before its last element."""
    before, of_thread.nbytes = of_thread.nbytes, nbytes
    try:
        yield
    finally:
        of_thread.nbytes = before


def within_quota(made: Iterator[Any], count: int) -> Iterable[Any]:
    """Return `count` elements that an operation makes; the iterator raises `QuotaExceeded` before it makes too much.

    >>> with under_quota(100):
    ...     list(within_quota(iter([b"x" * 90] * 3), 3))
    Traceback (most recent call last):
    ...
    penstock.plan.quota.QuotaExceeded
    """
    return made if of_thread.nbytes is None else _counted(made, count, of_thread.nbytes)


def _counted(made: Iterator[Any], count: int, most: int) -> Iterator[Any]:
    nbytes = 0
    for number, element in enumerate(made, 1):
        yield element
        nbytes += memory_of_value(element)
        if nbytes > most and number < count:
            raise QuotaExceeded
