from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.elements.chunks.chunk import Columns, Items
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.slots import Slots
from penstock.memory.pool import each_alone
from penstock.ops.group.in_slot import InSlot
from penstock.testing.laws import same

INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)


def slot_of(*leaves, groups=2):
    return [np.full((groups, *shape), 77, dtype) for shape, dtype in leaves]


def test_groups_that_are_written_in_their_places_are_columns():
    out = slot_of(((3,), INT), ((2,), FLOAT))
    slot, made = InSlot(out, 2, np.empty), []
    for group in range(2):
        allocate = slot.next()
        numbers, floats = allocate((3,), INT), allocate((2,), FLOAT)
        numbers[:], floats[:] = group, -group
        made.append((numbers, floats))
    whole = slot.whole(made)
    assert isinstance(whole, Columns)
    assert whole.columns == out
    assert [[leaf.tolist() for leaf in group] for group in whole.elements()] == [
        [[0, 0, 0], [0, 0]],
        [[1, 1, 1], [-1, -1]],
    ]


def test_each_place_in_the_slot_is_allocated_once():
    out = slot_of(((3,), INT), ((3,), INT))
    allocate = InSlot(out, 2, np.empty).next()
    first, second, third = (allocate((3,), INT) for _ in range(3))
    assert np.shares_memory(first, out[0])
    assert np.shares_memory(second, out[1])
    assert not any(np.shares_memory(third, memory) for memory in out)


@pytest.mark.parametrize(("shape", "dtype"), [((4,), INT), ((3, 1), INT), ((3,), FLOAT)])
def test_requests_of_another_shape_or_dtype_do_not_use_the_slot(shape, dtype):
    out = slot_of(((3,), INT))
    assert not np.shares_memory(InSlot(out, 2, np.empty).next()(shape, dtype), out[0])


@pytest.mark.parametrize(
    "out",
    [None, slot_of(((3,), INT), groups=5), [np.empty((2, 3), object)]],
)
def test_without_places_groups_use_new_memory(out):
    slot = InSlot(out, 2, np.empty)
    made = [slot.next()((3,), INT) for _ in range(2)]
    assert not any(np.shares_memory(group, memory) for group in made for memory in out or [])
    assert isinstance(slot.whole(made), Items)


def test_groups_with_texts_are_written_in_the_places_of_their_numbers():
    out = [np.empty(2, object), *slot_of(((3,), INT))]
    slot = InSlot(out, 2, np.empty)
    made = [("text", slot.next()((3,), INT)) for _ in range(2)]
    assert all(np.shares_memory(numbers, out[1]) for _, numbers in made)
    assert slot.whole(made).elements() == made


def test_a_short_group_is_written_at_the_beginning_of_its_place():
    out = slot_of(((3, 2), INT))
    slot = InSlot(out, 2, np.empty)
    made = [slot.next(3)((3, 2), INT), slot.next(1)((1, 2), INT)]
    assert all(map(np.shares_memory, made, out[0]))
    assert slot.whole(made).elements() == made


def test_scratch_memory_that_takes_a_place_leaves_the_groups_right():
    """Scratch of the shape of a leaf gets the place of that leaf: the groups are their own, as they were made."""
    out = slot_of(((3,), INT))
    slot, made = InSlot(out, 2, np.empty), []
    for group in range(2):
        allocate = slot.next()
        scratch, leaf = allocate((3,), INT), allocate((3,), INT)
        leaf[:] = group
        scratch[:] = 99
        made.append(leaf)
    whole = slot.whole(made)
    assert [group.tolist() for group in whole.elements()] == [[0, 0, 0], [1, 1, 1]]


def test_leaves_in_places_of_other_leaves_keep_their_values():
    out = slot_of(((3,), INT), ((3,), INT))
    slot, made = InSlot(out, 2, np.empty), []
    for group in range(2):
        allocate = slot.next()
        second, first = allocate((3,), INT), allocate((3,), INT)
        first[:], second[:] = group, 10 + group
        made.append((first, second))
    assert [[leaf[0] for leaf in group] for group in slot.whole(made).elements()] == [[0, 10], [1, 11]]


def test_groups_of_another_structure_are_kept_as_they_are():
    out = slot_of(((3,), INT))
    slot = InSlot(out, 2, np.empty)
    made = [{"x": slot.next()((3,), INT)}, [slot.next()((3,), INT)]]
    assert slot.whole(made).elements() == made
    assert isinstance(InSlot(out, 0, np.empty).whole([]), Items)


# Batches


ROWS = np.arange(60).reshape(20, 3)
BATCHINGS = {
    "padded": lambda ds: ds.padded_batch(4, {"x": [5], "y": [5]}),
    "padded to the largest": lambda ds: ds.padded_batch(4),
    "padded with flags": lambda ds: ds.padded_batch(4, {"x": [5], "y": [5]}, remainder="pad"),
    "ragged": lambda ds: ds.ragged_batch(4),
    "ragged of fixed shapes": lambda ds: ds.ragged_batch(4, row_shapes={"x": [3], "y": [3]}),
}


@pytest.mark.parametrize("batching", BATCHINGS.values(), ids=BATCHINGS)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_padded_and_ragged_batches_are_the_same_with_a_slot_and_without(batching, count):
    ds = batching(Dataset.from_tensor_slices({"x": ROWS, "y": -ROWS})).repeat(2)
    program = compiled(ds._plan, np.empty, Unobserved())
    slots = Slots(ds._plan, each_alone(np.empty))
    for first in (0, 3, 4):  # the last batch is full, and followed by that of the next epoch
        rows = first + np.arange(count)
        wanted = program(rows)
        slots.learn(wanted)
        slot = slots.take(count, last=False)
        for memory in slot or []:
            memory[...] = None if memory.dtype.hasobject else 77
        assert all(map(same, program(rows, slot).elements(), wanted.elements()))


@pytest.mark.parametrize("name", ["padded", "ragged of fixed shapes"])
def test_padded_and_ragged_batches_of_fixed_shapes_are_written_into_their_slot(name):
    ds = BATCHINGS[name](Dataset.from_tensor_slices({"x": ROWS, "y": -ROWS}))
    slot = Slots(ds._plan, each_alone(np.empty)).take(2, last=False)
    columns = compiled(ds._plan, np.empty, Unobserved())(np.array([1, 2]), slot).columns
    assert all(map(np.shares_memory, columns, slot))


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("size", [3, 4, 7])
def test_padded_batches_that_are_kept_are_never_overwritten(executor, size):
    ds = Dataset.range(100).map(lambda x: {"x": np.full(300, x), "y": np.full(300, -x)}, vectorized=False)
    ds = ds.padded_batch(size, {"x": [400], "y": [400]}).with_options(ps.Options(executor=executor))
    for number, batch in enumerate(list(ds)):
        rows = np.arange(number * size, min(number * size + size, 100))
        assert (batch["x"][:, :300] == rows[:, None]).all()
        assert (batch["y"][:, :300] == -rows[:, None]).all()
        assert not batch["x"][:, 300:].any()
