"""A job of several ranks that are threads of this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from penstock.dataset.ranks.stores import ThreadStore

SECONDS = 10


class Job:
    """The ranks of one start of a job: each has the dataset that `make()` returns, and they share a store."""

    def __init__(self, make, world, *, alone=False, timeout=SECONDS, **arguments: Any) -> None:
        self.store = None if alone else ThreadStore()
        self.world = world
        self.datasets = [
            make().shard_by_rank(rank=rank, world=world, group=self.store, timeout=timeout, **arguments)
            for rank in range(world)
        ]
        self.iterators = [ds.iterator() for ds in self.datasets]

    def on_all(self, call):
        """Call a function of the rank on all ranks at the same time; return the results."""
        with ThreadPoolExecutor(self.world) as pool:
            return list(pool.map(call, range(self.world)))

    def load(self, state) -> Job:
        for it in self.iterators:
            it.load_state_dict(state)
        return self

    def steps(self, most=None):
        """The next steps: for each one, the batches of all ranks."""
        received = self.on_all(lambda rank: taken(self.iterators[rank], most))
        assert len({len(each) for each in received}) == 1, [len(each) for each in received]
        return list(zip(*received, strict=True))

    def states(self):
        return [it.state_dict() for it in self.iterators]

    def close(self):
        for it in self.iterators:
            it.close()


def taken(it, most=None):
    found = []
    while most is None or len(found) < most:
        try:
            found.append(next(it))
        except StopIteration:
            break
    return found


def rows_of(step):
    """The rows of a step on all ranks, in an order that does not depend on the number of ranks."""
    return sorted(row for batch in step for row in np.asarray(batch).tolist())
