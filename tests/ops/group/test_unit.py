from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF
from penstock.ops.group.batch import Batch
from penstock.ops.group.unit import batching_of, rows_in, rows_in_all

D = Dataset.range(10)


@pytest.mark.parametrize(
    ("ds", "items"),
    [
        (D.batch(4), 3),
        (D.batch(4, drop_remainder=True), 2),
        (Dataset.range(0).batch(4), 0),
        (D.batch(4).repeat(2), 6),
        (D.batch(4).skip(1).repeat(2).take(3), 3),
        (D.batch(4).shuffle().shard(2, 1), 1),
        (D.batch(4).map(np.sort), 3),
        (D.batch(4).map(np.sort, vectorized=True).prefetch(2), 3),
        (D.padded_batch(4), 3),
        (D.ragged_batch(4), 3),
    ],
)
def test_the_batching_operation_at_the_end_of_a_plan_is_found(ds, items):
    assert batching_of(ds._plan).size == 4
    assert ds._plan.stride == len(ds) == items


@pytest.mark.parametrize(
    "ds", [D, D.map(abs), D.batch(4).unbatch(), D.batch(4).flat_map(lambda x: x), Dataset.zip(D.batch(4), D.batch(4))]
)
def test_a_plan_that_does_not_end_in_batches_has_no_batching_operation(ds):
    assert batching_of(ds._plan) is None


def test_batches_of_a_stream_are_batches():
    assert type(batching_of(D.filter(lambda x: x > 3).batch(4).map(np.sort)._plan)) is Batch


@pytest.mark.parametrize(
    ("ds", "unit", "rows"),
    [
        (D, "element", 10),
        (D.batch(4), "batch", 10),
        (D.batch(4).map(lambda b: {"doubled": b * 2}), "batch", 10),
        (D.batch(4).repeat(2), "batch", 20),
        (D.batch(4, remainder="pad"), "batch", 12),
        (D.map(np.arange).ragged_batch(4), "batch", 10),
        (D.map(np.arange).padded_batch(4), "batch", 10),
        (D.filter(lambda x: x % 2 == 0).batch(4), "batch", 5),
        (D.batch(4).unbatch(), "element", 10),
    ],
)
@pytest.mark.parametrize("options", [ps.Options(), ps.Options(executor="inline"), ps.Options(workers=2)])
def test_stats_count_items_and_the_rows_in_them(ds, unit, rows, options):
    with ds.with_options(options).iterator() as it:
        made = len(list(it))
        stats = it.stats()
    assert (stats.unit, stats.items, stats.rows) == (unit, made, rows)


@pytest.mark.parametrize(
    ("batch", "rows"),
    [
        (np.zeros((3, 2)), 3),
        (np.zeros(0), 0),
        (np.float64(3), 1),
        ({"name": "text", "x": np.zeros((3, 2))}, 3),
        ((7, [np.zeros(2), np.zeros(5)]), 2),
        ({"r": ps.Ragged.from_rows([[1], [], [2]])}, 3),
        (ps.Sparse.from_dense(np.eye(4)), 4),
        ((), 1),
        ("text", 1),
    ],
)
def test_a_batch_has_the_rows_of_its_first_array(batch, rows):
    assert rows_in(batch) == rows
    assert rows_in_all(Items([batch, batch]), [batch, batch]) == 2 * rows


@pytest.mark.parametrize("shape", [(4, 3, 2), (4, 3)])
def test_batches_in_columns_are_counted_at_once(shape):
    chunk = Columns(LEAF, [np.zeros(shape)], 4)
    assert rows_in_all(chunk, chunk.elements()[1:]) == 9
