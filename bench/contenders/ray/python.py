"""Ray on this machine, with two CPUs: Ray Data over tasks, and two actors that are asked for batches by hand.

Tried for Ray Data: tasks or actors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import ray

from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally

WORKERS = 2


def version() -> str:
    return ray.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, object_store_memory=2 << 30)
    return by_hand(options) if options.get("by_hand") else with_data(options)


def by_hand(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    """Ask two actors for batches in turn, some of them ahead."""
    batch, ahead = options["batch"], 4
    actor = ray.remote(num_cpus=1)(Labor)
    actors = [actor.remote(options) for _ in range(WORKERS)]
    spans = [range(first, first + batch) for first in range(0, options["rows"] // batch * batch, batch)]

    def run(tally: Tally, number: int) -> None:
        waiting: deque[Any] = deque()
        for at, span in enumerate(spans):
            waiting.append(actors[at % WORKERS].batch.remote(span))
            if len(waiting) == WORKERS * ahead:
                deliver(waiting.popleft(), tally)
        while waiting:
            deliver(waiting.popleft(), tally)

    return run


def deliver(made: Any, tally: Tally) -> None:
    array = ray.get(made)
    tally.add(array, rows_of(array))


class Batches:
    """Make the batch of some row numbers: a function of Ray Data, and a class where it runs in actors."""

    def __init__(self, labor: Labor) -> None:
        self.labor = labor

    def __call__(self, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"data": self.labor.batch(rows["id"])}


def with_data(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    """Map batches with Ray Data, several of them in a block."""
    labor, rows, batch = Labor(options), options["rows"], options["batch"]
    ray.data.DataContext.get_current().enable_progress_bars = False
    ds = ray.data.range(rows, override_num_blocks=rows // (batch * 4))
    if options.get("actors"):
        pool = ray.data.ActorPoolStrategy(size=WORKERS)
        ds = ds.map_batches(Batches, batch_size=batch, compute=pool, fn_constructor_args=(labor,))
    else:
        ds = ds.map_batches(Batches(labor).__call__, batch_size=batch)

    def run(tally: Tally, number: int) -> None:
        for made in ds.iter_batches(batch_size=batch, batch_format="numpy", prefetch_batches=1, drop_last=True):
            tally.add(made["data"], rows_of(made["data"]))

    return run
