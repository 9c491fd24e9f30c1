"""Batches of rows in memory, gathered by a native thread that never takes the GIL, next to the consumer."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Job, Made, Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.native_thread import Gathered, native_thread_for
from penstock.engine.workers.window import Window
from penstock.memory.pool import Memory
from penstock.plan.flow import Piece
from penstock.testing.laws import same

D = ps.Dataset
RAGGED = ps.Ragged.from_rows([[1], [], [2, 3], [4]])
SHUFFLED = D.from_tensor_slices(np.arange(20) % 7).shuffle(seed=1).batch(5)


def native(ds):
    return native_thread_for(RowWork(ds._plan, np.empty, Unobserved()), Memory())


def begun(ds, low, high):
    found = native(ds)
    return found and found.begin(task_of(low, high))


def task_of(low, high):
    return Task(low, high, Piece(Items([]), np.arange(low, high)))


def submitted(workers, low, high):
    """Return the result of a task, available as soon as the task is submitted."""
    window, job = Window(ordered=True), Job(task_of(low, high), int)
    window.push(job)
    workers.submit(job, 0, partial(window.finish, job, 0))
    assert not window.waits
    return window.pop()[0].results[0]


def test_batches_that_are_only_read_are_gathered_by_native_code():
    data = {"x": np.arange(40.0).reshape(20, 2), "y": np.arange(20)}
    ds = D.from_tensor_slices(data).shuffle(seed=1).batch(5)
    gathered = begun(ds, 0, 3)
    assert (len(gathered), gathered.batch_rows) == (3, 5)
    queue = gathered.elements()
    for taken, wanted in enumerate(list(ds)[:3]):
        assert gathered.taken()[0] == taken
        assert same(queue.popleft(), wanted)
    assert gathered.taken()[1].wall > 0
    with pytest.raises(IndexError, match="no batch left"):
        queue.popleft()


def test_batches_with_flags_are_gathered_too():
    ds = D.from_tensor_slices(np.arange(20) % 7).shuffle(seed=1).batch(5, remainder="pad")
    queue = begun(ds, 0, 4).elements()
    assert all(same(queue.popleft(), ds[row]) for row in range(4))


def test_the_parts_of_a_rank_are_gathered_too():
    whole = D.from_tensor_slices(np.arange(40)).shuffle(seed=1).batch(10)
    for remainder in ("drop", "wrap", "uneven"):
        ds = whole.shard_by_rank(rank=1, world=2, remainder=remainder)
        queue = begun(ds, 0, 4).elements()
        assert all(same(queue.popleft(), ds[row]) for row in range(4))


def test_batches_of_different_sizes_are_not_gathered_together():
    ds = D.from_tensor_slices(np.arange(13) % 7).shuffle(seed=0).batch(5)
    assert begun(ds, 0, 3) is None
    alone = begun(ds, 2, 3)
    assert (len(alone), alone.batch_rows) == (1, 3)
    assert same(alone.elements().popleft(), ds[2])


@pytest.mark.parametrize(
    "ds",
    [
        D.from_tensor_slices(np.arange(20)).map(lambda x: x + 1).batch(5),
        D.from_tensor_slices(np.arange(20)).enumerate().batch(5),
        D.from_tensor_slices(np.arange(20)).cache().batch(5),
        D.from_source(list(range(20))).batch(5),
        D.from_tensor_slices(np.arange(20)).shuffle(seed=0),
        D.from_tensor_slices(np.arange(20)).padded_batch(5),
    ],
)
def test_batches_that_need_python_are_not_gathered(ds):
    assert native(ds) is None


@pytest.mark.parametrize("data", [[b"a", b"b", b"c", b"d"], np.arange(4)], ids=["objects", "consecutive rows"])
def test_objects_and_consecutive_rows_are_not_gathered(data):
    assert begun(D.from_tensor_slices(data).batch(2), 0, 2) is None


def test_ragged_batches_are_not_gathered():
    assert native(D.from_tensor_slices(RAGGED).batch(2)) is None


def test_batches_are_gathered_next_to_the_consumer():
    workers = native(SHUFFLED)
    result = submitted(workers, 0, 2)
    assert type(result.piece.chunk) is Gathered
    queue = result.piece.chunk.elements()
    assert [queue.popleft().tolist(), queue.popleft().tolist()] == [SHUFFLED[0].tolist(), SHUFFLED[1].tolist()]
    assert workers.gathers
    workers.close()


def test_batches_that_cannot_be_gathered_are_made_at_once():
    of_text = D.from_tensor_slices([str(row) for row in range(20)]).shuffle(seed=1).batch(5)
    workers = native(of_text)
    result = submitted(workers, 0, 2)
    assert isinstance(result, Made)
    assert [batch.tolist() for batch in result.piece.chunk.elements()] == [of_text[0].tolist(), of_text[1].tolist()]
    assert not workers.gathers
    workers.close()
