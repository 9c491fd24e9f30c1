"""Batches and groups that are likely not the ones that were meant."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ops.elementwise.map import Map
from penstock.ops.group.group_by_window import GroupByWindow
from penstock.ops.group.grouping import Grouping
from penstock.plan.graph import post_order
from penstock.plan.node import UNKNOWN, Node, Passing
from penstock.rewrite.lint.written import Found, Written

UNBOUNDED = (1 << 31) - 1  # elements of a window: what stands for "all" where there is no other word for it


def batch_without_drop_remainder(written: Written) -> Iterator[Found]:
    """The last batch of an epoch is shorter than the others.

    A compiled step (`jax.jit`, `torch.compile`, `tf.function`, Keras) is compiled once more for its shape, in each
    program that meets it, and a mean over it weighs its elements more. For training, leave it out with
    `drop_remainder=True`: the elements left out are others in each shuffled epoch. For evaluation every element
    counts: fill it up with `remainder="pad"`, which flags the elements that are real, or silence this.
    """
    batch = _last_batch(written.plan)
    if batch is None or batch.static_size is not None or batch.length in (0, 1):
        return
    last = "may be shorter" if batch.length == UNKNOWN else f"has {batch.input.length % batch.size} elements"
    yield Found(
        batch,
        f"{batch.label()}: the last batch of an epoch {last}, and a compiled step is compiled once more for it; "
        f'to train, write {batch.name}({batch.size}, drop_remainder=True), to evaluate remainder="pad"',
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


def _last_batch(plan: Node) -> Grouping | None:
    """The batches that the consumer gets, if it does."""
    node = plan
    while isinstance(node, Passing | Map):
        node = node.input
    return node if isinstance(node, Grouping) else None
