"""Frozen orders of virtual streams and their random draws: saved cursors and published runs rely on these."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import Dataset, Options


def kept(x: int) -> bool:
    return x % 3 > 0


def draw(x: Any, *, rng: np.random.Generator) -> int:
    return int(rng.integers(1000))


STREAM = Dataset.range(40).filter(kept)
SEED = Options(seed=2)


def test_orders_in_streams() -> None:
    shuffled = STREAM.shuffle(6, seed=5).shard(2, 1, streams=4)
    assert list(shuffled.iterator(epoch=1)) == [5, 7, 17, 31, 37, 19, 13, 23, 25, 35, 29, 11, 1]
    mixed = Dataset.sample_from_datasets([STREAM, STREAM.map(lambda x: -x)], [2, 1], seed=3)
    assert list(mixed.shard(1, 0, streams=4).take(12)) == [-4, 1, 2, -7, 4, 5, 10, -11, 8, 13, 14, 7]


def test_draws_for_rows_and_for_counted_elements() -> None:
    rows = STREAM.map(draw).shard(2, 1, streams=4).with_options(SEED)
    assert list(rows) == [90, 147, 437, 56, 169, 379, 346, 471, 319, 777, 922, 199, 210]
    batches = STREAM.batch(3).shard(2, 1, streams=4).map(draw).with_options(SEED)
    assert list(batches) == [46, 491, 380, 410, 618]
