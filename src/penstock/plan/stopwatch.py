"""The times of single elements, taken while an operation calls its function for one after another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any


class Stopwatch(threading.local):
    """The list that receives the time of each element, in ns, of the next operation that this thread runs, if any."""

    times: list[int] | None = None


stopwatch_here = Stopwatch()
"""The stopwatch of the calling thread."""


def each_timed(made: Iterator[Any]) -> Iterator[Any]:
    """Return the elements that an operation makes, whose times go to the stopwatch of this thread.

    >>> stopwatch_here.times = times = []
    >>> list(each_timed(iter("abc"))), len(times), stopwatch_here.times
    (['a', 'b', 'c'], 3, None)
    """
    times, stopwatch_here.times = stopwatch_here.times, None  # not for what the function itself runs
    return made if times is None else _timed(made, times)


def _timed(made: Iterator[Any], times: list[int]) -> Iterator[Any]:
    began = perf_counter_ns()
    for element in made:
        times.append(perf_counter_ns() - began)
        yield element
        began = perf_counter_ns()
