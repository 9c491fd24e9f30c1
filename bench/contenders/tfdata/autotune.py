"""tf.data with AUTOTUNE for the parallel calls and the prefetch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.contenders.tuned_work import tuned_work
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    work = tuned_work(options)
    ds = tf.data.Dataset.range(options["rows"])
    ds = ds.map(lambda row: tf.numpy_function(work, [row], tf.int64), num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    if options["memory_budget"] is not None:
        limits = tf.data.Options()
        limits.autotune.ram_budget = options["memory_budget"]
        ds = ds.with_options(limits)

    def run(tally: Tally, number: int) -> None:
        for made in ds.as_numpy_iterator():
            tally.add(made[:1], made[:1])

    return run
