"""tf.data over CSV: its native CsvDataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.looked import look_at_rows
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    names = ["id", "label", "kind", *(f"x{i:02d}" for i in range(options["features"]))]
    types = [tf.int64, tf.int64, tf.string] + [tf.float32] * options["features"]
    ds = tf.data.experimental.CsvDataset(options["csv"], types, header=True)
    if "shuffled" in options["kind"]:
        ds = ds.shuffle(options["buffer"])
    ds = ds.batch(options["batch"], drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    def run(tally: Tally, number: int) -> None:
        for batch in ds.as_numpy_iterator():
            look_at_rows(tally, dict(zip(names, batch, strict=True)))

    return run
