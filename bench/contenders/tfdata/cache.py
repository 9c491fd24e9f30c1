"""tf.data over images in a cache file, which the warm-up fills, shuffled with a buffer; a run is several epochs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bench.tally import Tally, record_ids


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    folder = tempfile.TemporaryDirectory(dir=options["data"].rpartition("/")[0])
    data = np.load(options["data"], mmap_mode="r")
    spec = tf.TensorSpec(data.shape[1:], data.dtype)
    kept = tf.data.Dataset.from_generator(lambda: iter(data), output_signature=spec).cache(f"{folder.name}/kept")
    for _ in kept:
        pass
    ds = kept.shuffle(1000).batch(options["batch"], drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    def run(tally: Tally, number: int, kept_until_the_end: object = folder) -> None:
        for _ in range(1 if tally.thorough else 4):
            for batch in ds.as_numpy_iterator():
                tally.add(batch, record_ids(batch) if tally.thorough else batch)

    return run
