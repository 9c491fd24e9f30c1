"""An expensive batch that several tasks make, each some of its elements."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.parts import batch_parts
from penstock.engine.tasks.slots import NO_PLACE, Slots
from penstock.engine.tasks.task import Job, Task
from penstock.engine.tasks.works import RowWork
from penstock.memory.pool import each_alone
from penstock.plan.flow import Piece
from penstock.testing.laws import same

D = ps.Dataset
THREADS = ps.Options(executor="threads", workers=3)


def row_task(ds, low, high):
    rows = np.arange(low, high)
    return Task(low, high, Piece(Items([]), rows))


def rows_of(ds, low, high):
    return batch_parts(ds._plan, np.empty, Unobserved()).rows(row_task(ds, low, high))


def made_in(parts, ds, item=0, slot=None):
    """Return a batch made by at most this many tasks, and its job."""
    work = RowWork(ds._plan, np.empty, Unobserved())
    task = row_task(ds, item, item + 1)._replace(slot=slot)
    rows = work.parts.rows(task)
    job = Job(task, int)
    job.set_tasks(work.parts.cut(task, rows, 0, len(rows), parts))
    for number, each in enumerate(job.tasks):
        job.finish(number, work.make(each))
    return work.parts.joined(job), job


# Rows


def test_the_rows_of_batches_are_those_of_their_elements():
    ds = D.range(10).batch(4)
    assert rows_of(ds, 0, 2).tolist() == list(range(8))
    assert rows_of(ds, 2, 3).tolist() == [8, 9]
    assert rows_of(ds, 11, 12).tolist() == [38, 39]  # the last batch of epoch 3
    dropping = D.range(10).batch(4, drop_remainder=True)
    assert rows_of(dropping, 3, 4).tolist() == [14, 15, 16, 17]


def test_the_rows_of_batches_that_were_moved_are_those_of_their_elements():
    assert rows_of(D.range(6).batch(4).repeat(2), 1, 2).tolist() == [4, 5]
    assert rows_of(D.range(12).batch(2).shard(3, 1), 0, 2).tolist() == [2, 3, 8, 9]
    assert rows_of(D.range(6).batch(2).repeat(), 3, 4)[0] % 6 == 0


@pytest.mark.parametrize(
    "ds",
    [
        D.range(8),
        D.range(8).map(str),
        D.range(8).batch(4).map(len),
        D.range(8).map(np.arange).padded_batch(4),
        D.range(8).batch(2).unbatch(),
    ],
)
def test_only_plain_batches_are_made_in_parts(ds):
    assert batch_parts(ds._plan, np.empty, Unobserved()) is None


# Cutting


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_the_tasks_of_a_batch_share_its_rows(count):
    ds = D.range(27).batch(7)
    parts = batch_parts(ds._plan, np.empty, Unobserved())
    task = row_task(ds, 2, 3)._replace(upcoming=np.arange(3))
    rows = parts.rows(task)
    tasks = parts.cut(task, rows, 0, 7, count)
    assert len(tasks) == min(count, 7)
    assert np.concatenate([each.given.ids for each in tasks]).tolist() == list(range(14, 21))
    assert [each.part[0] for each in tasks] == [0, *(each.part[1] for each in tasks[:-1])]
    assert [each.upcoming is None for each in tasks] == [False] + [True] * (len(tasks) - 1)


# Joining


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("item", [0, 1])
def test_several_tasks_make_one_batch(parts, item):
    chunk, job = made_in(parts, D.range(20).map(lambda x: (x, str(x))).batch(10), item)
    ((numbers, texts),) = chunk.elements()
    assert len(job.tasks) == parts
    assert numbers.tolist() == list(range(10 * item, 10 * item + 10))
    assert texts.tolist() == [str(x) for x in range(10 * item, 10 * item + 10)]


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("remainder", ["keep", "pad"])
@pytest.mark.parametrize("item", [0, 1])
def test_parts_are_written_into_the_slot(parts, remainder, item):
    ds = D.from_tensor_slices({"x": np.arange(60.0).reshape(15, 4), "y": np.arange(15)}).batch(10, remainder=remainder)
    slot = Slots(ds._plan, each_alone(np.empty)).take(1, last=False)
    (batch,) = made_in(parts, ds, item, slot)[0].elements()
    assert same(batch, ds[item])
    assert np.shares_memory(batch["x"], slot[0]) or item == 1 or remainder == "pad"


def test_leaves_without_a_place_are_joined_beside_those_in_the_slot():
    ds = D.range(10).map(lambda x: (np.full(3, x), str(x), x), vectorized=False).batch(10)
    slot = [np.zeros((1, 10, 3), np.int64), NO_PLACE, np.zeros((1, 10), np.int32)]
    (batch,) = made_in(3, ds, 0, slot)[0].elements()
    assert same(batch, ds[0])
    assert np.shares_memory(batch[0], slot[0])
    assert not slot[2].any()


def test_parts_that_do_not_fit_the_slot_use_new_memory():
    slot = [np.zeros((1, 10), np.int32)]
    assert made_in(3, D.range(10).batch(10), 0, slot)[0].element(0).tolist() == list(range(10))
    assert not slot[0].any()


@pytest.mark.parametrize("parts", [1, 3])
def test_sparse_batches_are_joined_from_parts(parts):
    sparse = ps.Sparse.from_dense(np.eye(4))
    ds = D.from_tensor_slices({"s": sparse, "x": np.arange(4)}).batch(4)
    (batch,) = made_in(parts, ds)[0].elements()
    assert batch["s"] == sparse
    assert batch["x"].tolist() == [0, 1, 2, 3]


def test_parts_that_do_not_fit_together_make_no_batch():
    assert made_in(2, D.range(10).map(lambda x: np.zeros(1 + int(x >= 5))).batch(10))[0] is None
    assert made_in(2, D.range(10).map(lambda x: x if x < 5 else float(x)).batch(10))[0] is None
    assert made_in(2, D.range(10).map(lambda x: (x, x) if x < 5 else [x, x]).batch(10))[0] is None


@pytest.mark.parametrize("options", [ps.Options(executor="inline"), THREADS, ps.Options()])
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: np.zeros(1 + int(x >= 5)), r"rows 0 and 5 .*shape \(1,\) (and|against) \(2,\)"),
        (lambda x: {"x": x if x < 5 else "text"}, r"rows 0 and 5"),
        (lambda x: (x, x) if x < 5 else [x, x], "rows 0 and 5 .*structure"),
        (lambda x: ps.Ragged([1 if x < 5 else 1.5], [0, 1]), "rows 0 and 5 .*int64 (and|against) float64"),
    ],
)
def test_elements_that_do_not_fit_together_are_named_by_their_rows(function, says, options):
    with pytest.raises(ElementError, match=says):
        list(D.range(10).map(function, vectorized=False).batch(10).with_options(options))


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("remainder", ["keep", "drop", "pad"])
def test_batches_made_in_parts_equal_whole_batches(workers, remainder):
    ds = D.range(23).map(lambda x: {"x": np.full(3, x), "y": str(x)}, vectorized=False).batch(10, remainder=remainder)
    made = list(ds.with_options(ps.Options(executor="threads", workers=workers)))
    assert all(map(same, made, ds.with_options(ps.Options(executor="inline"))))
    assert len(made) == (2 if remainder == "drop" else 3)
