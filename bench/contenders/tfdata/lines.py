"""tf.data over files of lines; JSON is parsed by Python's module, a batch at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bench.looked import look_at_lines, look_at_objects
from bench.tally import Tally

FIELDS = ("id", "label", "score", "text")
TYPES = (tf.int64, tf.int64, tf.float64, tf.string)


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    is_json = options["kind"].startswith("json")
    ds = tf.data.TextLineDataset(options["json" if is_json else "text"])
    if "shuffled" in options["kind"]:
        ds = ds.shuffle(options["buffer"])
    ds = ds.batch(options["batch"], drop_remainder=True)
    if is_json:
        parsed = lambda lines: tf.numpy_function(parse, [lines], TYPES)  # noqa: E731
        ds = ds.map(parsed, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.prefetch(tf.data.AUTOTUNE)

    def run(tally: Tally, number: int) -> None:
        for batch in ds.as_numpy_iterator():
            if is_json:
                look_at_objects(tally, dict(zip(FIELDS, batch, strict=True)))
            else:
                look_at_lines(tally, batch)

    return run


def parse(lines: np.ndarray) -> tuple[np.ndarray, ...]:
    rows = [json.loads(line) for line in lines]
    columns = [[row[name] for row in rows] for name in FIELDS]
    return (*(np.array(column) for column in columns[:3]), np.array(columns[3], object))
