from __future__ import annotations

import numpy as np
import pytest
from penstock.engine.compile import compiled_with_single
from penstock.engine.job import Job
from penstock.engine.maker import Maker
from penstock.engine.memory import Memory
from penstock.engine.observer import Unobserved

import penstock as ps
from penstock.core.errors import ElementError
from penstock.testing.laws import same

D = ps.Dataset
RAGGED = ps.Ragged(ps.Ragged.from_rows([[1], [], [2, 3], [4]]), [0, 1, 3, 3, 4])


def maker_of(ds):
    job, memory = Job(ds._plan), Memory()
    return Maker(job, *compiled_with_single(job.source, memory.allocate, Unobserved()), memory)


def begun(maker, low, high, pieces=1):
    return maker.begin(low, high, maker.job.rows(0, low, high)[0], pieces)


def begun_beside(maker, low, high):
    return maker.begin_beside(low, high, maker.job.rows(0, low, high)[0])


def made(maker, low, high, pieces):
    parcel = begun(maker, low, high, pieces)
    for piece in range(len(parcel.rows)):
        parcel.fill(piece, maker.make(parcel, piece))
    return parcel, maker.items(parcel)


def negative(ds):
    """A maker that makes the negative of a row where it makes that alone, so that it shows where it does."""
    job, memory = Job(ds._plan), Memory()
    program, _ = compiled_with_single(job.source, memory.allocate, Unobserved())
    return Maker(job, program, lambda row: -row, memory)


def test_an_item_that_is_a_task_of_its_own_is_made_without_the_program():
    maker = negative(D.range(9))
    assert made(maker, 4, 5, 1)[1] == [-4]
    assert made(maker, 4, 6, 1)[1] == [4, 5]
    assert made(maker, 4, 6, 2)[1] == [-4, -5]
    ((only,),) = made(negative(D.range(9).batch(1)), 4, 5, 1)[1]
    assert only == 4


def test_what_comes_soon_is_told_by_the_program():
    maker = negative(D.range(9))
    parcel = begun(maker, 4, 5)
    parcel.soon = np.array([7])
    assert maker.make(parcel, 0).elements == [4]


def test_the_plan_says_what_a_batch_takes():
    maker = maker_of(D.from_tensor_slices({"x": np.zeros((9, 4), np.float32), "y": np.arange(9)}).batch(3))
    assert maker.item_bytes == 3 * (16 + 8)
    parcel, (first, second) = made(maker, 0, 2, 1)
    assert first["x"].base is not None
    assert np.shares_memory(first["x"], parcel.memory[0])
    assert second["y"].tolist() == [3, 4, 5]


def test_else_the_batch_before_says_it():
    maker = maker_of(D.range(9).map(lambda x: np.full(5, x)).batch(3))
    assert maker.item_bytes == 0
    made(maker, 0, 1, 1)
    assert maker.item_bytes == 3 * 40


@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_several_tasks_fill_one_batch(pieces):
    maker = maker_of(D.range(20).map(lambda x: (x, str(x))).batch(10))
    for low in (0, 1):  # before, and after it knows the shapes
        parcel, ((numbers, texts),) = made(maker, low, low + 1, pieces)
        assert len(parcel.rows) == pieces
        assert numbers.tolist() == list(range(10 * low, 10 * low + 10))
        assert texts.tolist() == [str(x) for x in range(10 * low, 10 * low + 10)]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: np.zeros(1 + int(x >= 5)), r"rows 0 and 5 differ: shape \(1,\) against \(2,\)"),
        (lambda x: {"x": x if x < 5 else float(x)}, r'rows 0 and 5 differ at \["x"\]: dtype int64 against float64'),
        (lambda x: (x, x) if x < 5 else [x, x], "rows 0 and 5 differ in structure"),
    ],
)
def test_pieces_that_do_not_fit_are_refused_by_rows(function, says):
    with pytest.raises(ElementError, match=says):
        made(maker_of(D.range(10).map(function).batch(10)), 0, 1, 2)


@pytest.mark.parametrize(
    "function", [lambda x: np.zeros(1 + int(x >= 5)), lambda x: np.int8(1) if x < 5 else np.float32(1)]
)
def test_batches_of_different_shapes_may_follow_each_other(function):
    batches = list(D.range(10).map(function).batch(5))
    assert batches[0].dtype == np.asarray(function(0)).dtype
    assert batches[1].dtype == np.asarray(function(9)).dtype
    assert batches[1].shape == (5, *np.shape(function(9)))


@pytest.mark.parametrize("element", [np.zeros((100, 4)), {"a": np.zeros(300), "b": b"x" * 800}])
def test_what_an_element_takes_is_learnt_from_the_last(element):
    maker = maker_of(D.from_source([element] * 4))
    assert maker.item_bytes == 0
    parcel = begun(maker, 0, 2)
    parcel.fill(0, maker.make(parcel, 0))
    maker.items(parcel)
    assert 3200 <= maker.item_bytes <= 3300
    assert begun(maker, 2, 4).nbytes == 2 * maker.item_bytes


def test_texts_count_with_what_they_hold():
    maker = maker_of(D.range(20).map(lambda x: "y" * 1000).batch(5))
    made(maker, 0, 2, 1)
    assert 5 * 1000 < maker.item_bytes < 5 * 1100


@pytest.mark.parametrize("pieces", [1, 3])
def test_ragged_and_sparse_batches_are_put_together_from_pieces(pieces):
    sparse = ps.Sparse.from_dense(np.eye(4))
    maker = maker_of(D.from_tensor_slices({"r": RAGGED, "s": sparse, "x": np.arange(4)}).batch(4))
    (batch,) = made(maker, 0, 1, pieces)[1]
    assert batch["r"] == RAGGED
    assert batch["s"] == sparse
    assert batch["x"].tolist() == [0, 1, 2, 3]
    assert batch["r"].writeable
    assert maker.item_bytes >= RAGGED.nbytes // 4 * 4
    assert made(maker, 0, 1, pieces)[1][0]["r"] == RAGGED


def test_several_ragged_batches_share_a_parcel():
    batches = made(maker_of(D.from_tensor_slices(RAGGED).batch(2)), 0, 2, 1)[1]
    assert batches == [RAGGED[:2], RAGGED[2:]]


def test_ragged_pieces_that_do_not_fit_together_are_refused():
    source = D.from_source([ps.Ragged([row], [0, 1]) if row < 2 else ps.Ragged([1.5], [0, 1]) for row in range(4)])
    with pytest.raises(ElementError, match="rows 0 and 2 differ: dtype int64 against float64"):
        made(maker_of(source.batch(4)), 0, 1, 2)


def test_what_is_only_read_is_made_beside_the_consumer_by_native_code():
    data = {"x": np.arange(40.0).reshape(20, 2), "y": np.arange(20)}
    ds = D.from_tensor_slices(data).shuffle(seed=1).batch(5)
    maker = maker_of(ds)
    beside = begun_beside(maker, 0, 3)
    assert maker.needs_no_gil
    assert beside is not None
    for taken, wanted in enumerate(list(ds)[:3]):
        assert beside.taken()[:3] == (taken, 5 * taken, 5 * 3 * 8 * taken)
        assert same(beside.left.popleft(), wanted)
    assert beside.taken()[3].wall > 0
    with pytest.raises(IndexError, match="no batch left"):
        beside.left.popleft()


@pytest.mark.parametrize(
    "ds",
    [
        D.from_tensor_slices(np.arange(20)).map(lambda x: x + 1).batch(5),
        D.from_tensor_slices(np.arange(20)).enumerate().batch(5),
        D.from_tensor_slices(np.arange(20)).cache().batch(5),
        D.from_source(list(range(20))).batch(5),
        D.from_tensor_slices(np.arange(20)).shuffle(seed=0),
    ],
)
def test_what_needs_python_is_not(ds):
    maker = maker_of(ds)
    assert begun_beside(maker, 0, 2) is None
    assert not maker.needs_no_gil


@pytest.mark.parametrize("data", [RAGGED, [b"a", b"b", b"c", b"d"], np.arange(4)], ids=["ragged", "objects", "a run"])
def test_what_is_no_gather_of_arrays_is_made_when_it_is_wanted(data):
    assert begun_beside(maker_of(D.from_tensor_slices(data).batch(2)), 0, 2) is None


def test_the_end_of_an_epoch_uses_memory_of_the_size_before():
    maker = maker_of(D.from_tensor_slices(np.zeros((90, 1000))).batch(10))
    parcel = begun(maker, 0, 8)
    before = maker.memory.live_bytes
    del parcel
    parcel = begun(maker, 8, 9)
    assert parcel.memory[0].shape == (10, 1000)
    assert maker.memory.live_bytes == before
