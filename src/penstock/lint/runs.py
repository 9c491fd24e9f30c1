"""Rules about iteration that yields elements several times, or the same epoch again and again."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from penstock.core.surroundings import joined_ranks, torch_ranks, torch_worker
from penstock.lint.written import Found, Written
from penstock.ops.order.every import Every
from penstock.ops.order.shard import Shard
from penstock.ops.order.streams import VirtualStreams
from penstock.plan.draws import varies
from penstock.plan.graph import post_order, rank_rows
from penstock.plan.node import Node
from penstock.plan.safety.calls import all_alone

INSTEAD = "write `for batch in ds.to_torch()`, or DataLoader(ds.to_torch(), batch_size=None)"


def dataset_in_a_dataloader_worker(written: Written) -> Iterator[Found]:
    """A worker process of a `torch` DataLoader iterates a copy of the dataset, and so does every other worker.

    Every element thus comes once for each worker; `shard_by_rank()` divides among ranks, not among their workers. The
    copy begins with epoch 0 in each pass, unless workers are persistent, so nothing is reshuffled, and the position of
    the dataset itself does not move. Penstock has its own workers, which share the work: iterate `ds.to_torch()`
    itself, or pass it to a DataLoader without workers and with `batch_size=None`.
    """
    worker = torch_worker()
    if worker is None or written.by_row or (worker.num_workers > 1 and _is_cut_for_workers(written.plan, worker)):
        return
    if worker.num_workers == 1:
        where, times = "the worker of a DataLoader", ""
    else:
        where = f"worker {worker.id} of the {worker.num_workers} of a DataLoader"
        times = f"each worker makes all elements, so that they come {worker.num_workers} times, and "
    yield Found(
        written.plan,
        f"the dataset is iterated in {where}: {times}each pass begins with a copy of the dataset, so that it is epoch "
        "0 again unless workers are persistent, and state_dict() of the dataset itself does not move",
        f"{INSTEAD} with num_workers=0; Options(workers=) sets the number of threads of Penstock",
    )


def rows_read_by_a_dataloader(written: Written) -> Iterator[Found]:
    """A `torch` DataLoader over the dataset itself, perhaps with a sampler, reads it row by row as `ds[i]`.

    Rows are always those of epoch 0: nothing is reshuffled and random functions draw the same in every epoch. Each row
    is made alone, which takes many times as long. Iterate `ds.to_torch()`; replace a `DistributedSampler` by
    `shard_by_rank()`.
    """
    if written.by_row:
        yield Found(
            written.plan,
            "a DataLoader reads the dataset row by row as ds[i], which is epoch 0 in every epoch, and makes each row "
            "alone",
            f"{INSTEAD}, and shard_by_rank() instead of a DistributedSampler",
        )


def whole_dataset_on_every_rank(written: Written) -> Iterator[Found]:
    """Ranks of `torch.distributed`, or processes of JAX, make the same dataset, although each could take a part.

    Every rank then trains on all elements, with one seed in the same order, and an epoch takes as long as without the
    other ranks; a global array of JAX has every row once for each process. Sharding is never automatic:
    `accelerate.prepare` and `to_jax(sharding)` do not change the dataset. Write `shard_by_rank()` after the batch,
    whose size is then that of all ranks together. If every rank needs all elements, as for evaluation, or if each
    process reads data of its own, silence this code.
    """
    ranks = torch_ranks()
    if written.by_row or max(ranks, written.processes) == 1 or _cut_by_hand(written.plan) * _ranks(written.plan) > 1:
        return
    if written.processes > 1:
        who = f"to_jax(sharding) joins the batches of {written.processes} processes, each of which makes all of it"
    else:
        who = f"torch.distributed has {ranks} ranks, each of which iterates all of it"
    if rank_rows(written.plan) is None:
        how = "write .shard_by_rank() after the batch, with the batch size of all ranks together"
    else:
        how = "shard_by_rank() was given, or found, a single rank: call it after the ranks have been initialized"
    yield Found(written.plan, f"the dataset is not sharded, and {who}", how)


def rank_unlike_the_group(written: Written) -> Iterator[Found]:
    """The rank of `shard_by_rank(rank=, world=)` is not that of the initialized process group.

    With as many ranks as processes, some part goes to two processes and another to none, unless the ranks are the same
    in another order. If their number does not divide that of the processes, some parts go to fewer processes than
    others, or to none. A smaller number that divides it is not found: the processes of one model share its data, and
    take the same rank. Leave out `rank=` and `world=`, or pass a process group.
    """
    rows, joined = rank_rows(written.plan), joined_ranks()
    if rows is None or joined is None or rows.group is not None or rows.world == 1:
        return
    if joined.world % rows.world == 0 and (rows.rank == joined.rank or rows.world < joined.world):
        return
    yield Found(
        rows,
        f"shard_by_rank() divides the dataset for rank {rows.rank} of {rows.world}, and {joined.source} says that this "
        f"is rank {joined.rank} of {joined.world}, so parts may be missing, or be made twice",
        "leave out rank= and world=, or pass group= if other processes share the data",
    )


def pass_left_early(written: Written) -> Iterator[Found]:
    """A pass was begun but did not reach the end, and still counts as an epoch.

    After `next(iter(ds))`, to look at an element, training begins with epoch 1: another order than without the look. To
    peek, write `next(ds.iterator(epoch=0))`, which does not count, or `ds[0]`. If every epoch ends after a number of
    steps, write `take(steps)`: the dataset then has a length, and a state saved at its end belongs to the next epoch.
    """
    if written.left and any(varies(node) for node in post_order(written.plan)):
        passes = "a pass over this dataset was" if written.left == 1 else f"{written.left} passes over it were"
        yield Found(
            written.plan,
            f"{passes} begun and did not reach the end, and each counts as an epoch",
            "to peek at an element write next(ds.iterator(epoch=0)) or ds[0], to end every epoch after some steps "
            "take(steps)",
        )


def function_called_by_one_thread(written: Written) -> Iterator[Found]:
    """Several threads make the elements, but only one at a time may call some function, or read some object.

    The function keeps something that its calls change, such as an attribute of its object, or uses an open file, a
    connection, an iterator or a random generator: calls by two threads at once could mix up elements. The other threads
    wait for their turn, so more of them do not help. Rows come in any order: a function that keeps state from row to
    row needs `scan` or `Options(executor="inline")`. Give each thread its own object in a `threading.local()`, or state
    with `thread_safe=` whether several threads may call the function.
    """
    if not written.threads:
        return
    alone = [each for each in all_alone(post_order(written.plan)) if not each.is_declared]
    here = [each for each in alone if each.here]  # these keep the whole pipeline in one thread
    for each in here or alone:
        if each.here:
            effect = "so the whole pipeline runs in that thread"
            change = "give each thread its own object (threading.local())"
        else:
            effect = "so the threads take turns, with rows in any order"
            change = (
                "keep state from row to row by scan(), give each call or thread its own object (threading.local()), "
                "or pass thread_safe=True if several threads are safe, thread_safe=False if one at a time is intended"
            )
        yield Found(each.node, f"{each}; {effect}", change, each.called)


def _is_cut_for_workers(plan: Node, worker: Any) -> bool:
    """Return whether the elements are cut into enough parts for every worker, of every rank, to have one of its own."""
    ranks = 1 if rank_rows(plan) is not None else torch_ranks()
    return _cut_by_hand(plan) % (worker.num_workers * ranks) == 0


def _cut_by_hand(plan: Node) -> int:
    """Return the number of parts that `shard` and slices cut the elements into, one of which the plan yields."""
    nodes = list(post_order(plan))
    slices = prod(abs(node.step) for node in nodes if isinstance(node, Every))
    return slices * prod(node.num_shards for node in nodes if isinstance(node, Shard | VirtualStreams))


def _ranks(plan: Node) -> int:
    """Return the number of ranks that `shard_by_rank` divides the elements among."""
    rows = rank_rows(plan)
    return 1 if rows is None else rows.world
