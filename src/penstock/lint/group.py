"""Rules about batches and groups that are probably unintended."""

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

UNBOUNDED = (1 << 31) - 1  # elements of a window: sizes from here on mean "all"


def batch_without_drop_remainder(written: Written) -> Iterator[Found]:
    """The last batch of an epoch is shorter than the others.

    A compiled step (`jax.jit`, `torch.compile`, `tf.function`, Keras) is compiled again for its shape, in each program
    that meets it, and a mean over a short batch gives its elements more weight. For training, drop it with
    `drop_remainder=True`: each shuffled epoch drops other elements. For evaluation every element counts: fill it up
    with `remainder="pad"`, which flags the real elements, or silence this code. The same applies to the last of several
    sizes that `rebatch` takes in turn, and to the incomplete batch of each bucket.
    """
    batch = _last_batch(written.plan)
    if batch is None or batch.drop_remainder or batch.pads or batch.length in (INFINITE, 0, 1):
        return
    shorter, size = _shorter(batch)
    if shorter:
        yield Found(
            batch,
            f"{batch.label()}: {shorter}, and a compiled step is compiled again for it",
            f'to train, write {batch.name}({size}, drop_remainder=True), to evaluate remainder="pad"',
        )


def batch_larger_than_the_data(written: Written) -> Iterator[Found]:
    """A batch with `drop_remainder` is larger than the dataset, so an epoch has no batch at all.

    A training loop then ends at once, without an error. Make the batch smaller, repeat the data before it, or keep the
    remainder. If the number of elements is unknown, an epoch that ends without a batch shows the mistake.
    """
    for batch in post_order(written.plan):
        if not isinstance(batch, Grouping) or not batch.drop_remainder:
            continue
        length = batch.input.length
        if 0 < length < batch.size or (written.empty and length == UNKNOWN):
            given = "fewer than that" if length == UNKNOWN else f"{length:,}"
            yield Found(
                batch,
                f"{batch.label()} of {given} elements leaves out all of them, so there is no batch",
                "write a smaller batch, repeat() before it, or omit drop_remainder",
            )


def unbounded_group_by_window(written: Written) -> Iterator[Found]:
    """A window that is never full holds all the elements of its key until the epoch ends.

    With a size such as `sys.maxsize` the whole dataset waits in memory, and an endless one never yields anything. If
    each key should become one result, `group_by_reducer` holds a state for each key instead of its elements; otherwise
    use windows of the size that the results need.
    """
    for node in post_order(written.plan):
        if isinstance(node, GroupByWindow) and isinstance(node.size, int) and node.size >= UNBOUNDED:
            yield Found(
                node,
                f"group_by_window() has windows of {node.size:,} elements, so all its input waits in memory until "
                "the epoch ends",
                "write a smaller window_size, or group_by_reducer()",
            )


def _last_batch(plan: Node) -> Grouping | Rebatch | BucketBySequenceLength | None:
    """Return the batching whose batches the consumer receives, if any."""
    node = plan
    while isinstance(node, RowMap | Map):
        node = node.input
    return node if isinstance(node, Grouping | Rebatch | BucketBySequenceLength) else None


def _shorter(batch: Grouping | Rebatch | BucketBySequenceLength) -> tuple[str, str]:
    """Return a description of the batch that is shorter than the others, if any, and the sizes as written."""
    if isinstance(batch, BucketBySequenceLength):
        return "the last batch of each bucket in an epoch may be shorter", "..."
    sizes = batch.sizes if isinstance(batch, Rebatch) else (batch.size,)
    written = str(list(sizes)) if isinstance(batch, Rebatch) else str(batch.size)
    if batch.length == UNKNOWN:
        return "the last batch of an epoch may be shorter", written
    ends = [0, *accumulate(sizes)]
    rest = batch.input.length % ends[-1]
    left = rest - max(end for end in ends if end <= rest)
    return (f"the last batch of an epoch has {left} elements" if left else ""), written
