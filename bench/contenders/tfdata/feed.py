"""tf.data over shuffled row numbers with a gather per batch, by NumPy into PyTorch or JAX.

Tried: a gather in 1 or 2 parallel calls or none, prefetching of 1 or 2 batches or as tf.data chooses, a thread pool of
one thread, and XLA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.contenders.stepping import MIDDLE, SCALE, Stepping, read
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    images, labels = map(tf.constant, read(options))

    @tf.function(jit_compile=options.get("xla", False))
    def normalized(image: tf.Tensor) -> tf.Tensor:
        return (tf.cast(image, tf.float32) - MIDDLE) / SCALE

    def made(rows: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"image": normalized(tf.gather(images, rows)), "label": tf.gather(labels, rows)}

    ds = tf.data.Dataset.range(len(images)).shuffle(len(images)).repeat().batch(options["batch"], drop_remainder=True)
    ds = ds.map(made, num_parallel_calls=options.get("calls")).prefetch(options.get("prefetch", tf.data.AUTOTUNE))
    settings = tf.data.Options()
    settings.deterministic = False
    if "threads" in options:
        settings.threading.private_threadpool_size = options["threads"]
    stepping = Stepping(options)
    return stepping.over(stepping.placed(ds.with_options(settings).as_numpy_iterator()))
