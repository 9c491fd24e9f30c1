"""A model of the ranks of a training job: workers that make items ahead, and steps that all ranks take together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.core.frozen import frozen

FIRST_PART = 5  # one of this many steps is left out of the figures: the first items find no work ahead


class ItemCost(NamedTuple):
    """The seconds that one worker takes for each of some measured items: in all, and of CPU time (`float64[k]`)."""

    wall: np.ndarray
    cpu: np.ndarray

    @property
    def mean_cpu(self) -> float:
        """The mean CPU seconds of an item."""
        return float(self.cpu.mean())


@frozen()
class ClusterModel:
    """A job of `world` ranks, each with `workers` that make up to `ahead` items before the step that needs them.

    The workers of all ranks of a node share its cores. An item is first read: `latencies` are the seconds until its
    first byte, drawn at random; then its `nbytes` follow at the rank's share of the bandwidth, those of one rank one
    after another. If `synchronous`, a step begins when all ranks have an item.
    """

    world: int
    ranks_per_node: int
    workers: int
    cores: float
    ahead: int
    step: float
    nbytes: float
    latencies: np.ndarray
    bandwidth: float  # bytes per second of a rank
    synchronous: bool

    def slowdown(self, cost: ItemCost) -> float:
        """Return the factor by which CPU work takes longer because the workers of a node share its cores.

        Of P workers, each of which waits for w seconds and works for c, cores are busy for P * c of w + d * c seconds;
        d is the least factor from 1 on for which that is no more than there are.
        """
        cpu, wait = cost.mean_cpu, float((cost.wall - cost.cpu).mean() + self.latencies.mean())
        if cpu <= 0:
            return 1.0
        return max(1.0, self.workers * self.ranks_per_node / self.cores - wait / cpu)

    def run(self, cost: ItemCost, steps: int, seed: int) -> SimulatedRun:
        """Return the times of a run of some steps whose items cost as much as measured ones drawn at random."""
        rng = np.random.default_rng(seed)
        ranks = np.arange(self.world)
        slowdown, transfer = self.slowdown(cost), self.nbytes / self.bandwidth
        free = np.zeros((self.world, self.workers))  # when each worker ends its item, (ranks, workers)
        read = np.zeros(self.world)  # when the last transfer of each rank ends
        taken = np.zeros((steps, self.world))  # when each item is taken
        waited = np.zeros((steps, self.world))
        done = np.zeros(self.world)  # when each rank ends its step
        for number in range(steps):
            worker = free.argmin(axis=1)
            room = taken[number - self.ahead] if number >= self.ahead else 0.0
            begin = np.maximum(free[ranks, worker], room)
            arrived = begin + rng.choice(self.latencies, self.world)
            read = np.maximum(arrived, read) + transfer
            drawn = rng.integers(len(cost.wall), size=self.world)
            work = cost.wall[drawn] + (slowdown - 1) * cost.cpu[drawn]
            free[ranks, worker] = ready = read + work
            begins = np.maximum(ready, done)
            if self.synchronous:
                begins = np.full(self.world, begins.max())
            taken[number], waited[number] = begins, begins - done
            done = begins + self.step
        return _steady(taken, waited, self.step)


class SimulatedRun(NamedTuple):
    """The mean seconds of a step in a simulated run: from one to the next, and the part that is waiting."""

    step: float
    waited: float


def _steady(taken: np.ndarray, waited: np.ndarray, step: float) -> SimulatedRun:
    """Return the figures without the first steps."""
    first = len(taken) // FIRST_PART
    waiting = float(waited[first:].mean())
    return SimulatedRun(step + waiting, waiting)
