"""tf.data with a Python function and two parallel calls. Tried: prefetch of 2, 4, 8 and AUTOTUNE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.contenders.waiting import Prepare, train
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    prepare = Prepare(options)
    ds = tf.data.Dataset.range(options["steps"])
    ds = ds.map(lambda i: tf.numpy_function(prepare, [i], tf.int64), num_parallel_calls=options["parallel"])
    ds = ds.prefetch(options.get("prefetch", 8))

    def run(tally: Tally, number: int) -> None:
        train(ds.as_numpy_iterator(), options, tally)

    return run
