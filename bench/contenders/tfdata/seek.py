"""tf.data: `skip`, which makes and drops all elements before (a checkpoint would have to be taken there first)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.memory import peak_bytes, reset_peak
from bench.tally import Tally


def version() -> str:
    return tf.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, at = options["batch"], options["row"] // options["batch"]
    ds = tf.data.Dataset.range(options["rows"]).shuffle(10_000, seed=0).map(lambda x: x + 1)
    ds = ds.batch(batch, drop_remainder=True).skip(at)

    def run(tally: Tally, number: int) -> None:
        before = reset_peak()
        tally.start()
        values = next(ds.as_numpy_iterator())
        tally.rows = 1
        tally.extra["peak_bytes"] = peak_bytes() - before
        if tally.thorough:
            tally.add(values, values)

    return run
