from __future__ import annotations

import numpy as np
import pytest
from penstock.engine.job import Job

import penstock as ps
from penstock.elements.nested.structure import flatten


def job(ds):
    return Job(ds._plan)


@pytest.mark.parametrize(
    ("ds", "size", "items"),
    [
        (ps.Dataset.range(10), 1, 10),
        (ps.Dataset.range(10).batch(4), 4, 3),
        (ps.Dataset.range(8).batch(4), 4, 2),
        (ps.Dataset.range(10).batch(4, drop_remainder=True), 4, 2),
        (ps.Dataset.range(0).batch(4), 4, 0),
        (ps.Dataset.range(3).batch(4, drop_remainder=True), 4, 0),
        (ps.Dataset.range(10).batch(4).map(len), 1, 3),
        (ps.Dataset.range(10).batch(4).repeat(2), 4, 6),
        (ps.Dataset.range(10).batch(4).skip(1).repeat(2).take(3), 4, 3),
    ],
)
def test_items_of_an_epoch(ds, size, items):
    made = job(ds)
    assert (made.size, made.items) == (size, items)


def test_rows_of_items_in_an_epoch():
    made = job(ps.Dataset.range(10).batch(4))
    assert made.rows(0, 0, 2)[0].tolist() == list(range(8))
    assert made.rows(0, 2, 3)[0].tolist() == [8, 9]
    assert made.rows(3, 2, 3)[0].tolist() == [38, 39]
    dropping = job(ps.Dataset.range(10).batch(4, drop_remainder=True))
    assert dropping.rows(1, 1, 2)[0].tolist() == [14, 15, 16, 17]


def test_rows_of_batches_that_were_moved():
    assert job(ps.Dataset.range(6).batch(4).repeat(2)).rows(0, 1, 3)[0].tolist() == [4, 5]
    assert job(ps.Dataset.range(12).batch(2).shard(3, 1)).rows(0, 0, 2)[0].tolist() == [2, 3, 8, 9]
    assert job(ps.Dataset.range(6).batch(2).repeat()).rows(1, 0, 1)[0][0] % 6 == 0


@pytest.mark.parametrize(
    ("ds", "low", "end"),
    [
        (ps.Dataset.range(10).batch(4), 0, 2),
        (ps.Dataset.range(10).batch(4), 2, 3),
        (ps.Dataset.range(10).batch(4).repeat(2), 0, 2),
        (ps.Dataset.range(10).batch(4).repeat(2), 3, 5),
        (ps.Dataset.range(8).batch(4).repeat(2), 0, 4),
        (ps.Dataset.range(10), 3, 10),
    ],
)
def test_only_batches_of_one_length_go_together(ds, low, end):
    made = job(ds)
    rows, stopped = made.rows(0, low, made.items)
    assert stopped == end
    assert rows.tolist() == [row for item in range(low, end) for row in made.rows(0, item, item + 1)[0].tolist()]


def test_batches_made_together_are_taken_apart():
    made = job(ps.Dataset.range(8).batch(4))
    structure = flatten({"x": 0})[1]
    first, second = made.delivered(structure, [np.arange(8)], 4, 2, np.empty)
    assert first["x"].tolist() == [0, 1, 2, 3]
    assert second["x"].tolist() == [4, 5, 6, 7]
    (alone,) = made.delivered(structure, [np.arange(3)], 3, 1, np.empty)
    assert alone["x"].tolist() == [0, 1, 2]


def test_batches_are_filled_up_and_flagged_when_they_are_handed_out():
    made = job(ps.Dataset.range(8).batch(4, remainder="pad"))
    structure = flatten(0)[1]
    for size, count in ((4, 2), (3, 1), (3, 2)):
        items = made.delivered(structure, [np.arange(size * count)], size, count, np.empty)
        assert [real.sum() for _, real in items] == [size] * count
        assert np.concatenate([batch[real] for batch, real in items]).tolist() == list(range(size * count))
        assert all(len(batch) == len(real) == 4 for batch, real in items)


def test_short_batches_that_share_a_parcel_come_apart():
    three = job(ps.Dataset.range(1).batch(3).repeat(3))
    made = three.delivered(flatten(0)[1], [np.array([7, 8, 9])], 1, 3, np.empty)
    assert [batch.tolist() for batch in made] == [[7], [8], [9]]
