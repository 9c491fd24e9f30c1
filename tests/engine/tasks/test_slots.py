"""The memory of batches, as the plan or the batch before tells it."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.slots import NO_PLACE, Slots, moved_into
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import RowWork
from penstock.memory.pool import Memory, each_alone
from penstock.plan.flow import Piece
from penstock.testing.laws import same

D = ps.Dataset


def slots_of(ds, allocate=np.empty):
    return Slots(ds._plan, each_alone(allocate))


def learnt(ds, *rows):
    """The slots of a dataset that know the shapes of some batches."""
    slots = slots_of(ds)
    task = Task(0, len(rows), Piece(Items([]), np.array(rows)))
    slots.learn(RowWork(ds._plan, np.empty, Unobserved()).make(task).piece.chunk)
    return slots


def shapes(slot):
    return [(memory.shape, memory.dtype) for memory in slot]


def test_the_plan_determines_the_shape_and_bytes_of_a_batch():
    slots = slots_of(D.from_tensor_slices({"x": np.zeros((9, 4), np.float32), "y": np.arange(9)}).batch(3))
    assert slots.item_bytes == 3 * (16 + 8)
    assert shapes(slots.take(2, last=False)) == [((2, 3, 4), np.float32), ((2, 3), np.int64)]


def test_leaves_of_objects_have_no_place():
    ragged = ps.Ragged.from_rows([[1.0] * 4, [], [2.0], [3.0]])
    ds = D.from_tensor_slices({"r": ragged, "s": ["a", "b", "c", "d"], "x": np.zeros((4, 99))}).ragged_batch(2)
    asked = []
    slots = Slots(ds._plan, lambda kinds: asked.extend(kinds) or [np.empty(*kind) for kind in kinds])
    slots.learn(RowWork(ds._plan, np.empty, Unobserved()).make(Task(0, 1, Piece(Items([]), np.arange(1)))).piece.chunk)
    r, s, x = slots.take(3, last=False)
    assert r is s is NO_PLACE
    assert asked == [((3, 2, 99), np.float64)]
    assert x.shape == (3, 2, 99)
    assert [same(made, made) for i, made in enumerate(ds)] == [True, True]


def test_a_number_of_a_batch_has_no_place_where_its_type_would_be_lost():
    numbers = D.range(40).batch(5).map(lambda b: {"batch": b, "sum": b.sum()})
    batch, total = learnt(numbers, 0).take(3, last=False)
    assert batch.shape == (3, 5)
    assert total is NO_PLACE
    assert learnt(D.range(40).batch(5).map(lambda b: b.sum()), 0).take(3, last=False) is None


def test_batches_that_are_mostly_outside_take_no_slot():
    ragged = ps.Ragged.from_rows([[1.0] * 40, [], [2.0], [3.0]])
    slots = learnt(D.from_tensor_slices({"r": ragged, "x": np.arange(4)}).ragged_batch(2), 0)
    assert slots.take(3, last=False) is None


def test_shapes_unknown_to_the_plan_are_learned_from_the_batch_before():
    ds = D.range(9).map(lambda x: np.full(5, x)).batch(3)
    slots = slots_of(ds)
    assert (slots.item_bytes, slots.take(2, last=False)) == (0, None)
    slots = learnt(ds, 0)
    assert slots.item_bytes == 3 * 40
    assert shapes(slots.take(2, last=False)) == [((2, 3, 5), np.int64)]


def test_a_short_last_batch_does_not_change_the_learned_shapes():
    ds = D.range(10).map(lambda x: np.full(5, x)).batch(3)
    slots = learnt(ds, 0)
    slots.learn(Columns(LEAF, [np.zeros((1, 1, 5), np.int64)], 1))
    assert slots.item_bytes == 3 * 40


@pytest.mark.parametrize("first", [np.zeros((1, 3, 5)), np.zeros((1, 3, 2))])
def test_batches_of_different_shapes_get_no_slot(first):
    slots = slots_of(D.range(9).map(np.zeros).batch(3))
    slots.learn(Columns(LEAF, [first], 1))
    slots.learn(Columns(LEAF, [np.zeros((1, 3, 4))], 1))
    assert slots.take(1, last=False) is None
    assert slots.item_bytes == 3 * 4 * 8


def test_text_counts_by_its_characters():
    slots = learnt(D.range(20).map(lambda x: "y" * 1000).batch(5), 0, 1)
    assert 5 * 1000 < slots.item_bytes < 5 * 1100


def test_the_bytes_of_ragged_and_sparse_batches_are_unknown_before_the_first():
    ragged = ps.Ragged.from_rows([[1.0] * 100, [], [2.0] * 100, [3.0]])
    sparse = ps.Sparse.from_dense(np.eye(40))
    assert learnt(D.from_tensor_slices(sparse).batch(40), 0).item_bytes >= sparse.nbytes
    for data in (ragged, {"r": ragged, "x": np.arange(4)}):
        slots = slots_of(D.from_tensor_slices(data).batch(4))
        assert slots.item_bytes == 0  # unknown: the plan does not tell how many values there are


def test_the_end_of_an_epoch_takes_memory_of_the_size_before():
    memory = Memory()
    slots = slots_of(D.from_tensor_slices(np.zeros((90, 1000))).batch(10), memory.allocate)
    slot = slots.take(8, last=False)
    before = memory.live_bytes
    slots.learn(Columns(LEAF, slot, 8), slot)
    del slot
    slot = slots.take(1, last=True)
    assert slot[0].shape == (1, 10, 1000)
    assert memory.live_bytes == before


@pytest.mark.parametrize("ds", [D.range(9).map(str), D.range(9).batch(3).map(lambda batch: batch.tolist())])
def test_without_a_known_shape_there_is_no_slot(ds):
    assert slots_of(ds).take(1, last=False) is None


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"executor": "inline"}])
@pytest.mark.parametrize("beside", [None, np.arange(64)])
def test_ragged_batches_that_exceed_the_memory_budget_are_told(beside, options):
    ragged = ps.Ragged.from_rows([[float(row)] * 2000 for row in range(64)])
    data = ragged if beside is None else {"r": ragged, "x": beside}
    ds = D.from_tensor_slices(data).batch(4).with_options(ps.Options(memory_budget=10_000, **options))
    with pytest.warns(ps.errors.BudgetWarning, match=r"one batch of .* takes about 64,\d+ bytes, .* allows 10,000"):
        assert len(list(ds)) == 16


def test_batches_that_are_written_elsewhere_get_one_slot_and_no_other():
    slots = slots_of(D.range(9).batch(3))
    slots.learn(Columns(LEAF, [np.zeros((1, 3), np.int64)], 1), slots.take(1, last=False))
    assert slots.take(1, last=False) is None


def test_batches_that_were_written_into_one_slot_get_others():
    slots = slots_of(D.range(9).batch(3))
    slot = slots.take(1, last=False)
    slots.learn(Columns(LEAF, slot, 1), slot)
    slots.learn(Columns(LEAF, [np.zeros((1, 1), np.int64)], 1), slots.take(1, last=False))  # a short one
    assert slots.take(1, last=False) is not None


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_batches_that_a_function_makes_take_no_memory_of_slots(executor):
    ds = D.range(400).batch(4).map(lambda batch: np.full((4, 1 << 14), batch[0]), vectorized=False)
    with ds.with_options(ps.Options(executor=executor, workers=2)).iterator() as it:
        assert len(list(it)) == 100
        assert it.stats().peak_bytes < 10 * (4 << 17)


def test_the_shapes_of_an_epoch_before_are_known_at_once():
    ds = D.range(9).map(lambda x: np.full(5, x)).batch(3)
    slots = Slots(ds._plan, each_alone(np.empty), learnt(ds, 0).after)
    assert slots.item_bytes == 3 * 40
    assert shapes(slots.take(2, last=False)) == [((2, 3, 5), np.int64)]


def test_an_epoch_may_have_other_shapes_than_the_one_before():
    ds = D.range(9).map(lambda x: np.full(5, x)).batch(3)
    slots = Slots(ds._plan, each_alone(np.empty), learnt(ds, 0).after)
    slots.learn(Columns(LEAF, [np.zeros((1, 3, 7), np.int64)], 1))
    assert shapes(slots.take(2, last=False)) == [((2, 3, 7), np.int64)]
    slots.learn(Columns(LEAF, [np.zeros((1, 3, 8), np.int64)], 1))
    assert slots.take(2, last=False) is None


# Leaves made elsewhere


def test_only_leaves_that_are_elsewhere_are_copied_into_a_slot():
    slot = [np.zeros((2, 3)), np.zeros((2, 4), np.int64), NO_PLACE]
    slot[0][:] = 7
    batches = [(slot[0][i], np.arange(4) + i, "text") for i in range(2)]
    made = moved_into(Items(batches), slot)
    assert [same(batch, wanted) for batch, wanted in zip(made.elements(), batches, strict=True)] == [True, True]
    assert slot[0].tolist() == [[7] * 3] * 2
    assert slot[1].tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    for i, batch in enumerate(made.elements()):
        assert np.shares_memory(batch[0], slot[0][i])
        assert np.shares_memory(batch[1], slot[1][i])


def test_columns_that_are_the_slot_stay_columns():
    slot = [np.zeros((2, 3))]
    chunk = Columns(LEAF, [slot[0]], 2)
    assert moved_into(chunk, slot) is chunk


def test_a_short_batch_takes_the_first_rows_of_its_place():
    slot = [np.zeros((1, 4, 2))]
    (batch,) = moved_into(Items([np.ones((3, 2))]), slot).elements()
    assert batch.shape == (3, 2)
    assert slot[0][0].tolist() == [[1, 1]] * 3 + [[0, 0]]


def test_an_array_that_a_batch_has_twice_is_copied_twice():
    array, slot = np.ones(3), [np.zeros((1, 3)), np.zeros((1, 3))]
    (batch,) = moved_into(Items([(array, array)]), slot).elements()
    assert [np.shares_memory(leaf, place) for leaf, place in zip(batch, slot, strict=True)] == [True, True]
    assert not any(np.shares_memory(leaf, array) for leaf in batch)


def test_read_only_arrays_are_copied_to_memory_that_is_the_consumer_s():
    array = np.ones(3)
    array.flags.writeable = False
    (batch,) = moved_into(Items([array]), [np.zeros((1, 3))]).elements()
    assert batch.flags.writeable


@pytest.mark.parametrize(
    "batch",
    [
        (np.ones(3), ps.Ragged.from_rows([[1.0]])),
        (np.ones(3), ps.Sparse.from_dense(np.eye(2))),
        (np.ones(3), np.ones(5)),
        (np.ones(3), np.ones(4, np.float32)),
        (np.ones(3), np.ma.masked_array(np.ones(4))),
        (np.ones(3), np.ones(4), 5),
    ],
    ids=["ragged", "sparse", "larger", "of another dtype", "of another class", "one more"],
)
def test_a_batch_of_which_a_leaf_has_no_place_stays_where_it_is(batch):
    slot = [np.zeros((1, 3)), np.zeros((1, 4))]
    (made,) = moved_into(Items([batch]), slot).elements()
    assert all(leaf is before for leaf, before in zip(made, batch, strict=True))
    assert not slot[0].any()


def test_leaves_that_lie_in_places_of_others_are_never_overwritten():
    slot = [np.full((1, 3), 1.0), np.full((1, 3), 2.0)]
    (made,) = moved_into(Items([(slot[1][0], slot[0][0])]), slot).elements()
    assert [leaf.tolist() for leaf in made] == [[2] * 3, [1] * 3]
    (made,) = moved_into(Items([(slot[1][0], slot[1][0])]), slot).elements()
    assert [leaf.tolist() for leaf in made] == [[2] * 3] * 2
    (made,) = moved_into(Items([(slot[0][0][::-1], slot[1][0])]), slot).elements()
    assert [leaf.tolist() for leaf in made] == [[2] * 3] * 2


@pytest.mark.parametrize("group", ["batch", "padded_batch"])
@pytest.mark.parametrize("size", [6, 10**6, 10**10, 2**62])
def test_a_batch_larger_than_the_epoch_takes_memory_for_the_epoch(group, size):
    array = np.arange(5000.0).reshape(5, 1000)
    ds = ps.Dataset.from_tensor_slices(array)
    for plain in (ds, ds.shuffle(seed=0), ds.map(lambda x: x + 1)):
        made = getattr(plain, group)(size)
        for options in (ps.Options(memory_budget=1 << 20), ps.Options(workers=2)):
            (batch,) = made.with_options(options)
            assert batch.shape == (5, 1000)
            assert sorted(batch[:, 0]) == sorted(element[0] for element in plain)
    assert slots_of(getattr(ds, group)(size)).item_bytes == 40_000
