"""The works of a task: rows of an indexed plan, batches in their slot, and pieces of a stream."""

from __future__ import annotations

import pickle
import threading
from itertools import chain, pairwise

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.slots import Slots
from penstock.engine.tasks.task import NOTHING, Task
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.memory.pool import each_alone
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece
from penstock.testing.laws import same

D = ps.Dataset
ROWS_OF_THREE = D.from_tensor_slices(np.arange(78).reshape(26, 3))
RAGGED = ps.Ragged(ps.Ragged.from_rows([[1], [], [2, 3], [4]]), [0, 1, 3, 3, 4])


def work_of(ds, work=RowWork):
    return work(ds._plan if isinstance(ds, D) else ds, np.empty, Unobserved())


def rows(*numbers, **told):
    return Task(0, len(numbers), Piece(NOTHING, np.array(numbers, np.int64)), **told)


def given(*values):
    return Task(0, len(values), Piece(Items(list(values)), 100 + np.arange(len(values))))


def made(ds, *numbers, **told):
    return work_of(ds).make(rows(*numbers, **told)).piece.chunk


# Rows


def test_rows_are_made_into_elements_in_their_order():
    result = work_of(D.range(9).map(lambda x: 10 * x)).make(rows(4, 2))
    assert result.piece.chunk.elements() == [40, 20]
    assert result.piece.ids.tolist() == [4, 2]
    assert result.cost.wall > 0


@pytest.mark.parametrize("numbers", [(), (4,), (4, 5)])
def test_containers_of_elements_are_copies(numbers):
    work = work_of(D.from_source([{"x": [row]} for row in range(9)]))
    for _ in range(2):
        elements = work.make(rows(*numbers)).piece.chunk.elements()
        assert elements == [{"x": [row]} for row in numbers]
        for element in elements:
            element["x"].append("written")


class Listening:
    """A source of numbers that records requests."""

    def __init__(self):
        self.events = []

    def __len__(self):
        return 9

    def read_many(self, rows):
        self.events.append(("read", rows.tolist()))
        return np.asarray(rows)

    def advise(self, rows):
        self.events.append(("told", rows.tolist()))


@pytest.mark.parametrize("work", [RowWork, PieceWork])
def test_upcoming_rows_are_announced_before_the_source_reads(work):
    source = Listening()
    work_of(D.from_source(source), work).make(rows(4, upcoming=np.array([7, 8])))
    assert source.events == [("told", [7, 8]), ("read", [4])]


def test_a_failed_task_raises_the_error_of_its_function():
    with pytest.raises(ElementError, match="returned None"):
        work_of(D.range(3).map(lambda x: None)).make(rows(1))


def test_a_task_is_made_in_the_calling_thread():
    threads = []
    ds = D.range(9).map(lambda x: threads.append(threading.current_thread()) or x, vectorized=False)
    assert work_of(ds).tried(rows(4, 2)).piece.chunk.elements() == [4, 2]
    assert set(threads) == {threading.current_thread()}


def test_an_exception_is_kept_as_the_result():
    def fails(x):
        raise LookupError(x)

    assert isinstance(work_of(D.range(9).map(fails, vectorized=False)).tried(rows(4)), LookupError)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_reaches_the_consumer_at_once(error):
    def fails(x):
        raise error

    with pytest.raises(error):
        work_of(D.range(9).map(fails, vectorized=False)).tried(rows(4))


# Batches


def test_batches_are_written_into_their_slot():
    ds = D.from_tensor_slices({"x": np.ones((9, 4), np.float32), "y": np.arange(9)}).batch(3)
    slot = Slots(ds._plan, each_alone(np.empty)).take(2, last=False)
    first, second = made(ds, 0, 1, slot=slot).elements()
    for name, memory in zip("xy", slot, strict=True):
        assert np.shares_memory(first[name], memory)
        assert np.shares_memory(second[name], memory)
    assert slot[1].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert second["y"].tolist() == [3, 4, 5]


BATCHINGS = {
    "batch": lambda ds: ds.batch(4),
    "of dicts": lambda ds: ds.map(lambda x: {"a": x, "b": np.full((2, 3), x)}).batch(4),
    "padded_batch": lambda ds: ROWS_OF_THREE.padded_batch(4, [5]),
    "mapped as a whole": lambda ds: ds.batch(4).map(lambda b: b * 2.0, vectorized=True),
    "mapped one by one": lambda ds: ds.batch(4).map(lambda b: b * 2.0, vectorized=False),
    "moved about": lambda ds: ds.batch(4).shuffle(seed=1).shard(2, 1).repeat(2),
    "with flags": lambda ds: ds.batch(4, remainder="pad"),
    "padded_batch with flags": lambda ds: ROWS_OF_THREE.padded_batch(4, [5], remainder="pad"),
}


@pytest.mark.parametrize("batching", BATCHINGS.values(), ids=BATCHINGS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_batches_are_the_same_with_a_slot_and_without(batching, count):
    ds = batching(D.range(26))
    wanted, slots = made(ds, *range(count)).elements(), Slots(ds._plan, each_alone(np.empty))
    slots.learn(made(ds, *range(count)))
    slot = slots.take(count, last=False)
    for memory in slot or []:
        memory[...] = 77  # of the batches before
    assert all(map(same, made(ds, *range(count), slot=slot).elements(), wanted))


def are_there(columns, slot):
    return all(
        column is memory or np.shares_memory(column, memory) for column, memory in zip(columns, slot, strict=True)
    )


@pytest.mark.parametrize("name", ["batch", "of dicts", "padded_batch", "moved about"])
def test_batches_of_every_kind_are_written_into_their_slot(name):
    ds = BATCHINGS[name](D.range(26))
    slots = Slots(ds._plan, each_alone(np.empty))
    slots.learn(made(ds, 0))
    slot = slots.take(2, last=False)
    assert are_there(made(ds, 0, 1, slot=slot).columns, slot)


def test_batches_whose_elements_do_not_fit_their_slot_use_new_memory():
    slot = [np.zeros((1, 2), np.int32)]
    (batch,) = made(D.range(9).batch(2), 2, slot=slot).elements()
    assert batch.tolist() == [4, 5]
    assert slot[0].tolist() == [[0, 0]]


def test_short_batches_of_one_task_are_separate():
    batches = made(D.range(1).batch(3).repeat(3), 0, 1, 2).elements()
    assert [batch.tolist() for batch in batches] == [[0], [0], [0]]


def test_full_and_short_batches_of_one_task_are_separate():
    batches = made(D.range(10).batch(4).repeat(2), 1, 2, 3).elements()
    assert [batch.tolist() for batch in batches] == [[4, 5, 6, 7], [8, 9], [0, 1, 2, 3]]


@pytest.mark.parametrize("numbers", [(0, 1), (2,), (0, 1, 2)])
def test_batches_are_padded_and_flagged(numbers):
    for batch, real in made(D.range(11).batch(4, remainder="pad"), *numbers).elements():
        assert len(batch) == len(real) == 4
        assert real.sum() == (3 if batch[0] == 8 else 4)
        assert batch[real].tolist() == list(range(batch[0], batch[0] + real.sum()))


def test_several_ragged_batches_are_made_by_one_task():
    assert made(D.from_tensor_slices(RAGGED).batch(2), 0, 1).elements() == [RAGGED[:2], RAGGED[2:]]


@pytest.mark.parametrize(
    "function", [lambda x: np.zeros(1 + int(x >= 5)), lambda x: np.int8(1) if x < 5 else np.float32(1)]
)
def test_batches_of_different_shapes_and_dtypes_may_follow_each_other(function):
    batches = list(D.range(10).map(function).batch(5))
    assert batches[0].dtype == np.asarray(function(0)).dtype
    assert batches[1].dtype == np.asarray(function(9)).dtype
    assert batches[1].shape == (5, *np.shape(function(9)))


# Pieces


def big(x):
    return x > 12


ON_ROWS = D.range(10, 20).map(lambda x: x + 1).filter(big)._plan
ON_GIVEN = Filter(Map(Given(), lambda x: x * 10), big)


def test_rows_of_a_stream_are_made_into_elements_and_keep_their_ids():
    result = work_of(ON_ROWS, PieceWork).make(rows(0, 1, 2, 9))
    assert result.piece.chunk.elements() == [13, 20]
    assert result.piece.ids.tolist() == [2, 9]
    assert result.cost.wall > 0


def test_given_elements_keep_their_ids():
    result = work_of(ON_GIVEN, PieceWork).make(given(1, 2, 3))
    assert result.piece.chunk.elements() == [20, 30]
    assert result.piece.ids.tolist() == [101, 102]


@pytest.mark.parametrize(("plan", "task"), [(ON_ROWS, rows()), (ON_ROWS, rows(0, 1)), (ON_GIVEN, given())])
def test_a_task_may_result_in_no_elements(plan, task):
    piece = work_of(plan, PieceWork).make(task).piece
    assert len(piece) == len(piece.chunk) == len(piece.ids) == 0


@pytest.mark.parametrize(("plan", "task"), [(ON_ROWS, rows(0, 5, 9)), (ON_GIVEN, given(1, 2, 3))])
def test_a_piece_travels_to_another_process_and_back(plan, task):
    work = work_of(plan, PieceWork)
    here = work.make(task).piece
    there = pickle.loads(pickle.dumps(work.make(pickle.loads(pickle.dumps(task))))).piece
    assert there.chunk.elements() == here.chunk.elements()
    assert there.ids.tolist() == here.ids.tolist()


def test_an_error_in_a_piece_is_that_of_the_function():
    with pytest.raises(ElementError, match="returned None"):
        work_of(Map(Given(), lambda x: None), PieceWork).make(given(1))


def test_elements_of_a_stream_do_not_depend_on_the_pieces():
    work, values = work_of(ON_GIVEN, PieceWork), list(range(7))
    cuts = [0, 1, 1, 4, 7]
    parts = [work.make(given(*values[low:high])).piece.chunk.elements() for low, high in pairwise(cuts)]
    assert list(chain.from_iterable(parts)) == work.make(given(*values)).piece.chunk.elements()
