"""Batches and groups that are likely not the ones that were meant."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ops.elementwise.map import Map
from penstock.ops.group.grouping import Grouping
from penstock.plan.node import UNKNOWN, Node, Passing
from penstock.rewrite.lint.written import Found, Written


def batch_without_drop_remainder(written: Written) -> Iterator[Found]:
    """The last batch of an epoch is shorter than the others.

    A compiled step (`jax.jit`, `torch.compile`, `tf.function`, Keras) is compiled once more for its shape, in each
    program that meets it, and a mean over it weighs its elements more. For training, leave it out with
    `drop_remainder=True`: the elements left out are others in each shuffled epoch. For evaluation every element
    counts, so silence this.
    """
    batch = _last_batch(written.plan)
    if batch is None or batch.all_full or batch.length in (0, 1):
        return
    last = "may be shorter" if batch.length == UNKNOWN else f"has {batch.input.length % batch.size} elements"
    yield Found(
        batch,
        f"{batch.label()}: the last batch of an epoch {last}, and a compiled step is compiled once more for it; "
        f"to train, write {batch.name}({batch.size}, drop_remainder=True)",
    )


def _last_batch(plan: Node) -> Grouping | None:
    """The batches that the consumer gets, if it does."""
    node = plan
    while isinstance(node, Passing | Map):
        node = node.input
    return node if isinstance(node, Grouping) else None
