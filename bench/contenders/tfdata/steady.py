"""tf.data over arrays, for a long run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bench.contenders.watching import watch
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = tf.data.Dataset.from_tensor_slices(np.load(options["data"])).shuffle(10_000)
    ds = ds.batch(options["batch"], drop_remainder=True).repeat().prefetch(tf.data.AUTOTUNE)

    def run(tally: Tally, number: int) -> None:
        watch(ds.as_numpy_iterator(), options, tally)

    return run
