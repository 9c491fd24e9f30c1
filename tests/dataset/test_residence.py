"""Datasets taken apart into elements and orders."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import PlanError
from penstock.dataset.residence import rows_of_batches
from penstock.feed.arrangement import BatchRows


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.range(10, 30).map(lambda x: x * 2).shuffle(seed=3).batch(4),
        Dataset.range(10, 30).shuffle(seed=3).map(lambda x: x * 2).shuffle(seed=4).batch(4).shuffle(seed=5),
        Dataset.range(10, 30).shuffle().map(lambda x: x * 2).skip(3).repeat(3).batch(4, drop_remainder=True),
    ],
    ids=str,
)
def test_the_elements_in_the_order_of_an_epoch_are_the_dataset(ds):
    elements, order = ds._residence()
    values = np.array(list(elements.iterator(epoch=0)))
    for epoch in range(2):
        wanted = [batch.tolist() for batch in ds.iterator(epoch=epoch)]
        assert [values[rows].tolist() for rows in order.iterator(epoch=epoch)] == wanted
    assert len(order) == len(ds)


def test_the_order_has_the_positions_of_the_dataset():
    ds = Dataset.range(20).shuffle(seed=0).batch(4)
    order = ds._residence().order
    it = order.iterator()
    rows = [next(it), next(it)]
    assert order.state_dict() == ds.state_dict() == it.state_dict()
    order.load_state_dict(it.state_dict())
    assert [batch.tolist() for batch in ds] == [batch.tolist() for batch in ds.iterator(epoch=0)][2:]
    assert order.epoch == ds.epoch == 1
    order.set_epoch(0)
    assert [batch.tolist() for batch in ds][:2] == [its.tolist() for its in rows]


def test_maps_that_draw_are_not_moved_before_the_order():
    ds = Dataset.range(20).map(lambda x, *, rng: x + rng.integers(3)).batch(4)
    with pytest.raises(PlanError, match=r"resident\(\): .* but map\(lambda\) draws anew in each epoch"):
        ds._residence()


@pytest.mark.parametrize(
    ("ds", "rows"),
    [
        (Dataset.range(30).batch(8), (8, 6, 4)),
        (Dataset.range(32).batch(8), (8, 8, 4)),
        (Dataset.range(30).batch(8).repeat(2), (8, 6, 4, True)),
        (Dataset.range(30).batch(8).repeat(1), (8, 6, 4)),
        (Dataset.range(6).batch(8), (6, 6, 1)),
        (Dataset.range(30).batch(8, drop_remainder=True).prefetch(2).repeat(), (8, 8, 3, True)),
        (Dataset.range(6).batch(8, drop_remainder=True), None),
        (Dataset.range(30).batch(8, remainder="pad"), (8, 8, 4)),
        (Dataset.range(30).padded_batch(8), (8, 6, 4)),
        (Dataset.range(30).batch(8).take(3), None),
        (Dataset.range(30).filter(lambda x: True).batch(8), None),
        (Dataset.range(0).batch(8), None),
        (Dataset.range(30), None),
    ],
    ids=str,
)
def test_sizes_are_those_of_batches_that_are_sure_to_come(ds, rows):
    told = rows_of_batches(ds._plan)
    assert told == (None if rows is None else BatchRows(*rows))
    if told:
        assert {len(batch[0] if isinstance(batch, tuple) else batch) for batch in ds.take(9)} == {told.size, told.last}
