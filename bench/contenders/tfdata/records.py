"""tf.data: files interleaved, a shuffle buffer of 10,000 records, a batch parsed by one operation.

Tried: parsing each record before the batch (a sixth of the speed), more files at a time, fewer calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.clicks import FLOATS, LISTS, Look
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    features: dict[str, Any] = {name: tf.io.FixedLenFeature([], tf.float32) for name in FLOATS}
    features |= {name: tf.io.RaggedFeature(tf.int64) for name in LISTS}
    features["id"] = tf.io.FixedLenFeature([], tf.string)
    reading = options.get("reading", 8)
    ds = tf.data.Dataset.from_tensor_slices(options["files"]).shuffle(len(options["files"]))
    ds = ds.interleave(
        tf.data.TFRecordDataset, cycle_length=reading, block_length=16, num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=False,
    )  # fmt: skip
    ds = ds.shuffle(options["buffer"]).batch(options["batch"])
    calls = options.get("calls", tf.data.AUTOTUNE)
    ds = ds.map(lambda records: tf.io.parse_example(records, features), num_parallel_calls=calls, deterministic=False)
    ds = ds.prefetch(tf.data.AUTOTUNE)

    def run(tally: Tally, number: int) -> None:
        look = Look()
        for batch in ds:  # eager tensors, because `as_numpy_iterator` turns ragged tensors into Python lists
            lists = []
            if tally.thorough:
                lists = [(batch[name].flat_values.numpy(), batch[name].row_lengths().numpy()) for name in LISTS]
            look.batch(tally, [batch[name].numpy() for name in FLOATS], lists, batch["id"].numpy())

    return run
