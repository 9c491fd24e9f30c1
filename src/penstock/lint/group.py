"""Batches and groups that are likely not the ones that were meant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from penstock.lint.written import Found, Written
from penstock.ops.elementwise.map import Map
from penstock.ops.group.bucket import BucketBySequenceLength
from penstock.ops.group.group_by_window import GroupByWindow
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.rebatch import Rebatch
from penstock.plan.graph import post_order
from penstock.plan.node import Node, RowMap
from penstock.plan.types import INFINITE, UNKNOWN

UNBOUNDED = (1 << 31) - 1  # elements of a window: what stands for "all" where there is no other word for it


def batch_without_drop_remainder(written: Written) -> Iterator[Found]:
    """The last batch of an epoch is shorter than the others.

    A compiled step (`jax.jit`, `torch.compile`, `tf.function`, Keras) is compiled once more for its shape, in each
    program that meets it, and a mean over it weighs its elements more. For training, leave it out with
    `drop_remainder=True`: the elements left out are others in each shuffled epoch. For evaluation every element
    counts: fill it up with `remainder="pad"`, which flags the elements that are real, or silence this. The same holds
    for the last of several sizes that `rebatch` takes in turn, and for what is left in each bucket.
    """
    batch = _last_batch(written.plan)
    if batch is None or batch.drop_remainder or batch.pads or batch.length in (INFINITE, 0, 1):
        return
    shorter, size = _shorter(batch)
    if shorter:
        yield Found(
            batch,
            f"{batch.label()}: {shorter}, and a compiled step is compiled once more for it; "
            f'to train, write {batch.name}({size}, drop_remainder=True), to evaluate remainder="pad"',
        )


def batch_larger_than_the_data(written: Written) -> Iterator[Found]:
    """A batch with `drop_remainder` has more elements than there are, so an epoch has no batch at all.

    A training loop then ends at once, without an error. Make the batch smaller, repeat the data before it, or keep the
    remainder. Where nothing tells how many elements there are, an epoch that ends without a batch does.
    """
    for batch in post_order(written.plan):
        if not isinstance(batch, Grouping) or not batch.drop_remainder:
            continue
        length = batch.input.length
        if 0 < length < batch.size or (written.empty and length == UNKNOWN):
            given = "fewer than that" if length == UNKNOWN else f"{length:,}"
            yield Found(
                batch,
                f"{batch.label()} of {given} elements leaves out all of them, so there is no batch; "
                "write a smaller batch, repeat() before it, or leave drop_remainder out",
            )


def unbounded_group_by_window(written: Written) -> Iterator[Found]:
    """A window that is never full holds all the elements of its key until the epoch ends.

    With a size such as `sys.maxsize` the whole dataset waits in memory, and of an endless one nothing ever comes. Where
    each key is to become one result, `group_by_reducer` holds a state for each key in place of its elements; else give
    windows the size of what is made of them.
    """
    for node in post_order(written.plan):
        if isinstance(node, GroupByWindow) and isinstance(node.size, int) and node.size >= UNBOUNDED:
            yield Found(
                node,
                f"group_by_window() has windows of {node.size:,} elements, so all that it reads waits in memory until "
                "the epoch ends; write a smaller window_size, or group_by_reducer()",
            )


def _last_batch(plan: Node) -> Grouping | Rebatch | BucketBySequenceLength | None:
    """The batches that the consumer gets, if it does."""
    node = plan
    while isinstance(node, RowMap | Map):
        node = node.input
    return node if isinstance(node, Grouping | Rebatch | BucketBySequenceLength) else None


def _shorter(batch: Grouping | Rebatch | BucketBySequenceLength) -> tuple[str, str]:
    """What is shorter than the rest, in words, if anything is, and the sizes as they were written."""
    if isinstance(batch, BucketBySequenceLength):
        return "what is left in a bucket at the end of an epoch is a shorter batch", "..."
    sizes = batch.sizes if isinstance(batch, Rebatch) else (batch.size,)
    written = str(list(sizes)) if isinstance(batch, Rebatch) else str(batch.size)
    if batch.length == UNKNOWN:
        return "the last batch of an epoch may be shorter", written
    ends = [0, *accumulate(sizes)]
    rest = batch.input.length % ends[-1]
    left = rest - max(end for end in ends if end <= rest)
    return (f"the last batch of an epoch has {left} elements" if left else ""), written
