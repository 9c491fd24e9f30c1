"""tf.data's stream transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.tally import Tally

RANGE = 1_000


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = pipeline(options["kind"], options["rows"]).batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for values in ds.as_numpy_iterator():
            tally.add(values, values)

    return run


def pipeline(kind: str, rows: int) -> tf.data.Dataset:
    numbers = tf.data.Dataset.range(rows)
    if kind == "filter":
        return numbers.map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
    if kind == "flat_map":
        return tf.data.Dataset.range(rows // 4).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(4))
    if kind == "interleave":
        return tf.data.Dataset.range(rows // RANGE).interleave(
            lambda i: tf.data.Dataset.range(i * RANGE, i * RANGE + RANGE), cycle_length=8
        )
    if kind == "shuffle":
        return numbers.filter(lambda x: True).shuffle(10_000)
    return numbers.batch(256, drop_remainder=True).filter(lambda batch: True).unbatch()
