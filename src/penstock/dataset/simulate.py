"""A prediction for a cluster from the costs of a pipeline on one machine."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from itertools import count
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from penstock.core.checks import check_count, check_flag, check_list, check_number
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.memory.limits import available_cores
from penstock.ops.buffer.options import options_of
from penstock.watch.queueing import ClusterModel, ItemCost
from penstock.watch.stats import PLURALS, rate

AHEAD_OF_WORKERS = 2  # items that are ready or under way, for each worker
LITTLE_WAITING = 0.02  # of a step
NEARLY_ALL = 0.95  # of a limit


@frozen()
class StorageModel:
    """A store that all ranks read from.

    - `latency`: seconds until the first byte of an item, or a list of measured ones, from which each is drawn at
      random.
    - `bandwidth`, `node_bandwidth`: bytes per second of the store for all nodes together, and of one node's network.
    - `item_bytes`: bytes that an item reads; by default the bytes that its sources have yielded.

    >>> StorageModel(latency=[0.02, 0.02, 0.4], bandwidth=20e9)
    StorageModel(latency=[0.02, 0.02, 0.4], bandwidth=20000000000.0, node_bandwidth=inf, item_bytes=None)
    """

    latency: float | Sequence[float] = 0.0
    bandwidth: float = math.inf
    node_bandwidth: float = math.inf
    item_bytes: float | None = None

    def latencies(self) -> np.ndarray:
        """Return the latencies to draw from, `float64[k]`; raise an error for a field of another kind or range."""
        call = "StorageModel"
        given: Any = self.latency
        is_one = hasattr(given, "__float__") and not getattr(given, "ndim", 0)
        values = [given] if is_one else check_list(call, "latency", given, "seconds")
        found = np.array([check_number(call, "latency", each) for each in values], np.float64)
        if not found.size or not (found >= 0).all() or not np.isfinite(found).all():
            raise ValueError(f"{call}(latency={given!r:.80}): expected one or more non-negative numbers of seconds")
        for name in ("bandwidth", "node_bandwidth"):
            if not check_number(call, name, value := getattr(self, name)) > 0:
                raise ValueError(f"{call}({name}={value!r}): expected a number above 0")
        read = self.item_bytes
        if read is not None and not 0 <= check_number(call, "item_bytes", read) < math.inf:
            raise ValueError(f"{call}(item_bytes={read!r}): expected a number of bytes, not below 0")
        return found


@frozen()
class Simulation:
    """The predicted run of a job.

    - `waiting`: the share of the time in which ranks wait for data; `step`: seconds from one step to the next.
    - `rate`: items per second of all ranks together; `unit`: what an item is.
    - `node_bytes`, `bytes`: bytes per second that a node, and all nodes, read from storage.
    - `node_memory`: bytes of the items that a node holds at a time.
    - `node_cores`: the cores of a node that would be busy at the pace of the step alone; `workers`: the workers of a
      rank that this pace takes, waiting included.
    - `change`: what to change next, in words.

    >>> print(simulate(Dataset.range(64).batch(4), world=16, step=0.25, seconds=0.05))
    16 ranks on 2 nodes: 0 % of the time is waiting for data; 64 batches/s, 250... ms a step
    storage: ... MB/s a node, ... MB/s in all
    a node: ... MB of items ahead; the step alone takes 0.0 cores and 1 worker a rank
    The step is the limit: nothing to change.
    """

    world: int
    nodes: int
    unit: str
    waiting: float
    step: float
    rate: float
    node_bytes: float
    bytes: float
    node_memory: float
    node_cores: float
    workers: int
    change: str

    def __str__(self) -> str:
        nodes = f"{self.nodes:,} node{'s' if self.nodes > 1 else ''}"
        workers = f"{self.workers:,} worker{'s' if self.workers > 1 else ''}"
        items = f"{rate(self.rate)} {PLURALS[self.unit]}/s, {self.step * 1e3:,.1f} ms a step"
        needs = f"the step alone takes {self.node_cores:,.1f} cores and {workers} a rank"
        lines = [
            f"{self.world:,} ranks on {nodes}: {100 * self.waiting:.0f} % of the time is waiting for data; {items}",
            f"storage: {self.node_bytes / 1e6:,.1f} MB/s a node, {self.bytes / 1e6:,.1f} MB/s in all",
            f"a node: {self.node_memory / 1e6:,.1f} MB of items ahead; {needs}",
            self.change,
        ]
        return "\n".join(lines)


def simulate(  # noqa: PLR0913 - the parts of a cluster
    ds: Dataset[Any],
    *,
    world: int,
    step: float,
    ranks_per_node: int = 8,
    workers: int | None = None,
    cores: float | None = None,
    storage: StorageModel | None = None,
    synchronous: bool = True,
    seconds: float = 10.0,
    steps: int = 400,
    seed: int = 0,
) -> Simulation:
    """Predict how `world` ranks would train with a pipeline, from its costs measured here for some `seconds`.

    `ds` is the pipeline of one rank, of which each step takes an item; `step` is the time of a step without waiting, in
    seconds. Items are made one by one in this thread, over epoch 0 again and again, to measure their costs; then
    `steps` steps of all ranks are simulated, each item with the cost of one that was measured, drawn with `seed`. Each
    rank has that many `workers` (by default `Options(workers=)`, or the rank's share of the cores), which make items
    ahead; the workers of a node share its `cores` (by default those of this machine). In a `synchronous` job a step
    begins when every rank has its item, so that the slowest one counts.

    The model has no caches, and no other jobs that slow down workers or the store: docs/watching.md has an example.

    >>> found = simulate(Dataset.range(64).batch(4), world=512, step=0.25, seconds=0.05)
    >>> found.waiting < 0.01, found.nodes, round(found.rate)
    (True, 64, 2048)
    """
    if not isinstance(ds, Dataset):
        raise TypeError(f"simulate(): expected a Dataset, not {type(ds).__name__}")
    world = check_count("simulate", "world", world, least=1)
    per_node = min(check_count("simulate", "ranks_per_node", ranks_per_node, least=1), world)
    many = check_count("simulate", "steps", steps, least=10)
    for name, value in (("step", step), ("seconds", seconds), ("cores", 1 if cores is None else cores)):
        if not 0 < check_number("simulate", name, value) < math.inf:
            raise ValueError(f"simulate({name}={value}): expected a finite number above 0")
    if storage is not None and not isinstance(storage, StorageModel):
        raise TypeError(f"simulate(storage=): expected a ps.StorageModel, not {type(storage).__name__}")
    store, waits = storage or StorageModel(), check_flag("simulate", "synchronous", synchronous)
    latencies, drawn = store.latencies(), check_count("simulate", "seed", seed, least=0)
    options = options_of(ds._plan)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
    all_cores = available_cores() if cores is None else cores
    asked = options.workers if workers is None else check_count("simulate", "workers", workers, least=1)
    each = asked or max(int(min(all_cores / per_node, options.cores or math.inf)), 1)
    cost, sizes = _measured_costs(ds, seconds)
    read = sizes.read if store.item_bytes is None else store.item_bytes
    model = ClusterModel(
        world=world,
        ranks_per_node=per_node,
        workers=each,
        cores=all_cores,
        ahead=AHEAD_OF_WORKERS * each,
        step=step,
        nbytes=read,
        latencies=latencies,
        bandwidth=min(store.bandwidth / world, store.node_bandwidth / per_node),
        synchronous=waits,
    )
    return _told(model, cost, sizes, many, drawn)


@frozen()
class ItemSizes:
    """The unit of items, and the mean bytes of one and of what its sources have yielded for it."""

    unit: str
    item: float
    read: float


def _measured_costs(ds: Dataset[Any], seconds: float) -> tuple[ItemCost, ItemSizes]:
    """Make items one by one for some seconds, at least one; return their costs and sizes."""
    alone = ds.prefetch(0).with_options(Options(executor="inline"))
    costs: list[tuple[float, float]] = []
    until = perf_counter() + seconds
    while True:
        with alone.iterator(epoch=0) as it:
            found = list(_costs_of(it, until))
            stats = it.stats()
        if not found:
            raise PlanError("simulate(): this dataset has no element to measure")
        costs += found[1:] or found  # the first one has the start of the pass
        if perf_counter() >= until:
            break
    wall, cpu = np.array(costs).T
    made = (stats.operations[-1].rows if stats.operations else 0) or stats.items  # also those not received yet
    read = sum(each.bytes for each in stats.operations if each.reads) / made
    item = stats.operations[-1].bytes / made if stats.operations else 0.0
    return ItemCost(wall, np.minimum(cpu, wall)), ItemSizes(stats.unit, item, read)


def _costs_of(it: Iterator[Any], until: float) -> Generator[tuple[float, float]]:
    """Yield the seconds, and CPU seconds, of each item up to some moment, and of two at least, if there are as many."""
    for number in count():
        began, worked = perf_counter(), thread_time()
        try:
            next(it)
        except StopIteration:
            return
        yield perf_counter() - began, thread_time() - worked
        if number and perf_counter() >= until:
            return


def _told(model: ClusterModel, cost: ItemCost, sizes: ItemSizes, steps: int, seed: int) -> Simulation:
    run = model.run(cost, steps, seed)
    nodes = -(-model.world // model.ranks_per_node)
    waiting = run.waited / run.step
    per_item = float(cost.wall.mean() + model.latencies.mean())
    workers = max(math.ceil(per_item / model.step), 1)
    node_cores = model.ranks_per_node * cost.mean_cpu / model.step
    per_node = model.ranks_per_node * model.nbytes / run.step
    return Simulation(
        world=model.world,
        nodes=nodes,
        unit=sizes.unit,
        waiting=waiting,
        step=run.step,
        rate=model.world / run.step,
        node_bytes=per_node,
        bytes=model.world * model.nbytes / run.step,
        node_memory=model.ranks_per_node * (model.ahead + 1) * sizes.item,
        node_cores=node_cores,
        workers=workers,
        change=_next_change(model, waiting, node_cores, workers),
    )


def _next_change(model: ClusterModel, waiting: float, node_cores: float, workers: int) -> str:
    """Return what limits the job, and the change that helps."""
    if waiting < LITTLE_WAITING:
        return "The step is the limit: nothing to change."
    needed = model.nbytes / model.step
    if needed > NEARLY_ALL * model.bandwidth:
        return (
            f"The storage is the limit: a rank needs {needed / 1e6:,.1f} MB/s, and gets {model.bandwidth / 1e6:,.1f}; "
            "read less, cache it, or use more bandwidth."
        )
    if node_cores > NEARLY_ALL * model.cores:
        return (
            f"The cores are the limit: a node has {model.cores:,.1f}, and the step needs {node_cores:,.1f}; make items "
            "cheaper, share them, cache them, or prepare them on more machines."
        )
    if workers > model.workers:
        return f"The workers are the limit: a rank has {model.workers}, and the step needs {workers}; use more workers."
    return (
        "Slow items are the limit: in most steps some rank waits for one; use more workers, which make more items "
        "ahead, or even out the cost of items."
    )
