"""The best possible results in `overlap`: ready batches, and bare threads with an event for each result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.contenders.waiting import Prepare, train
from bench.tally import Tally

AHEAD = 9  # batches, as many as Penstock has in progress


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    prepare, steps, parallel = Prepare(options), options["steps"], options["parallel"]
    ready = [np.full(1, i, dtype=np.int64) for i in range(steps)]

    def run(tally: Tally, number: int) -> None:
        train(ready if options.get("ready") else prepared(prepare, steps, parallel), options, tally)

    return run


def prepared(prepare: Prepare, steps: int, parallel: int) -> Iterator[np.ndarray]:
    """Yield batches in order, prepared by the given number of threads."""
    results: list[np.ndarray | None] = [None] * steps
    done = [threading.Event() for _ in range(steps)]
    room = threading.Semaphore(AHEAD)
    numbers, lock = iter(range(steps)), threading.Lock()

    def work() -> None:
        while True:
            room.acquire()
            with lock:
                i = next(numbers, None)
            if i is None:
                return
            results[i] = prepare(i)
            done[i].set()

    for _ in range(parallel):
        threading.Thread(target=work, daemon=True).start()
    for i in range(steps):
        done[i].wait()
        batch, results[i] = results[i], None
        assert batch is not None
        room.release()
        yield batch
