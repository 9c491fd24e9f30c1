"""tf.data over a range; the lambda is traced into the graph, so no Python runs for an element.

`synchronous` keeps tf.data from running the map in parallel, which costs more than the map itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, columns, calls = options["batch"], options.get("columns", False), options.get("calls")
    ds = tf.data.Dataset.range(options["rows"])
    if columns:
        ds = ds.shuffle(10_000).batch(batch, drop_remainder=True)
    for _ in range(options["maps"]):
        ds = ds.map(lambda x: x + 1, num_parallel_calls=calls, synchronous=options.get("synchronous", True))
    if not columns:
        ds = ds.shuffle(10_000).batch(batch, drop_remainder=True)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.deterministic = False
    settings.experimental_optimization.map_fusion = True
    ds = ds.with_options(settings)

    def run(tally: Tally, number: int) -> None:
        for values in ds.as_numpy_iterator():
            tally.add(values, values)

    return run
