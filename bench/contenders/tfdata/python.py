"""tf.data, whose Python functions share one process and its GIL; and with a pool of processes that it calls.

Tried: a function for each element or for each batch, several calls at a time, a generator. With the pool, a call of the
graph waits for a batch that another process makes and pickles.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import tensorflow as tf

from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally

WORKERS = 2


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    labor, rows, batch = Labor(options), options["rows"], options["batch"]
    if options.get("generator"):
        spec = tf.TensorSpec((labor.nbytes,), tf.uint8)
        ds = tf.data.Dataset.from_generator(lambda: map(labor, range(rows)), output_signature=spec)
        ds = ds.batch(batch, drop_remainder=True)
    elif options.get("pool"):
        pool = ProcessPoolExecutor(WORKERS, get_context("spawn"))
        ds = calling(lambda first: pool.submit(labor.batch, range(first, first + batch)).result(), options)
    elif options.get("batched", True):
        ds = calling(lambda first: labor.batch(range(first, first + batch)), options)
    else:
        ds = calling(labor, options).batch(batch, drop_remainder=True)
    settings = tf.data.Options()
    settings.deterministic = False
    ds = ds.prefetch(tf.data.AUTOTUNE).with_options(settings)

    def run(tally: Tally, number: int) -> None:
        for made in ds.as_numpy_iterator():
            tally.add(made, rows_of(made))

    return run


def calling(function: Callable[[int], np.ndarray], options: dict[str, Any]) -> tf.data.Dataset:
    """Make the dataset that calls `function` with each row, or with the first row of each batch."""
    whole = options.get("pool") or options.get("batched", True)
    shape = (options["batch"], options["nbytes"]) if whole else (options["nbytes"],)

    def call(row: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.numpy_function(lambda row: function(int(row)), [row], tf.uint8), shape)

    calls = options.get("calls", WORKERS if options.get("pool") else None)
    return tf.data.Dataset.range(0, options["rows"], options["batch"] if whole else 1).map(call, calls)
