"""tf.data over arrays: as documented (slices, a shuffle buffer), or shuffled row numbers and a gather per batch.

For the slices, only the buffer can be chosen. It is smaller than the data, as in every tutorial; a full buffer is
slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bench.tally import Tally, record_ids


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data, batch = np.load(options["data"]), options["batch"]
    elements = (data, np.load(options["labels"])) if "labels" in options else (data,)
    if options.get("gather"):
        calls = {"num_parallel_calls": options.get("calls", 2), "synchronous": options.get("synchronous")}
        tensors = tuple(tf.constant(leaf) for leaf in elements)
        ds = tf.data.Dataset.range(len(data)).shuffle(len(data)).batch(batch, drop_remainder=True)
        ds = ds.map(lambda rows: tuple(tf.gather(tensor, rows) for tensor in tensors), **calls)
    else:
        ds = tf.data.Dataset.from_tensor_slices(elements).shuffle(10_000).batch(batch, drop_remainder=True)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.deterministic = False
    ds = ds.with_options(settings)

    def run(tally: Tally, number: int) -> None:
        for leaves in ds.as_numpy_iterator():
            tally.add(leaves[0], record_ids(leaves[0]) if tally.thorough else leaves[0])

    return run
