from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.storage.kept import KeptRows, KeptStream

orders = st.lists(st.lists(st.integers(0, 9), min_size=1, unique=True), max_size=8)


@given(orders, st.booleans())
def test_rows_are_returned_in_any_order_of_insertion(orders, as_list):
    kept = KeptRows(10)
    here = set()
    for rows in orders:
        positions = kept.missing(np.array(rows))
        assert set(positions.tolist()) == set(rows) - here
        values = positions * 2.5
        kept.put(positions, Items(values.tolist()) if as_list and len(here) > 3 else leaf_column(values))
        here |= set(rows)
        assert kept.take(np.array(rows)).elements() == [row * 2.5 for row in rows]


def test_columns_become_a_list_if_shapes_differ():
    kept = KeptRows(3)
    kept.put(np.array([0]), leaf_column(np.zeros((1, 2))))
    kept.put(np.array([2]), leaf_column(np.ones((1, 3))))
    assert [element.tolist() for element in kept.take(np.array([2, 0])).elements()] == [[1, 1, 1], [0, 0]]


LEAVES = {
    "images": (lambda i: np.full((2, 3), i, np.uint8), True),
    "views in Fortran's order": (lambda i: np.full((3, 2), i, np.float32).T, True),
    "records": (lambda i: np.full(2, (i, 0.5), [("a", "i4"), ("b", "f8")]), True),
    "numbers": (int, True),
    "truth": (lambda i: i % 2 == 0, True),
    "halves": (np.float16, True),
    "times": (lambda i: np.datetime64(i, "D"), True),
    "large numbers": (lambda i: i + (1 << 63), False),
    "scalars of a dtype of Python's numbers": (np.int64, False),
    "complex numbers": (complex, False),
    "arrays without dimensions": (np.array, False),
    "arrays of objects": (lambda i: np.array([None, i], object), False),
    "different shapes": (lambda i: np.arange(i % 2), False),
    "different dtypes": (lambda i: np.zeros(1, f"i{2 ** (i % 3)}"), False),
    "different types": (lambda i: i if i % 2 else float(i), False),
    "texts": (str, False),
}


@pytest.mark.parametrize(("make", "as_rows"), LEAVES.values(), ids=LEAVES)
def test_a_list_of_elements_comes_back_in_the_same_types_and_is_taken_into_memory_where_it_can(make, as_rows):
    kept = KeptRows(6)
    made = [{"x": make(i)} for i in range(6)]
    for rows in ([0, 1, 2], [3, 4, 5]):
        kept.put(np.array(rows), Items([made[row] for row in rows]))
    order = np.array([4, 0, 0, 5])
    found = [element["x"] for element in kept.take(order).elements()]
    for value, wanted in zip(found, [made[row]["x"] for row in order], strict=True):
        assert type(value) is type(wanted)
        assert repr(value) == repr(wanted)
        assert getattr(value, "dtype", None) == getattr(wanted, "dtype", None)
        assert not isinstance(value, np.ndarray) or not value.flags.writeable
    first = np.asarray([made[0]["x"]])
    out = np.zeros((4, *first.shape[1:]), first.dtype)
    (column,) = kept.take(order, [out]).to_columns().columns
    assert (column is out) == as_rows


@pytest.mark.parametrize("as_columns", [False, True])
def test_elements_whose_memory_others_keep_are_not_copied(as_columns):
    data = np.zeros((4, 1000))
    data.flags.writeable = False
    kept, chunk = KeptRows(4), Items(list(data))
    kept.put(np.arange(4), chunk.to_columns() if as_columns else chunk)
    assert all(np.shares_memory(row, data) for row in kept.take(np.array([3, 0])).elements())


def test_large_rows_are_views_unless_memory_is_given():
    kept = KeptRows(3)
    kept.put(np.arange(3), Items([np.full(1 << 16, i, np.uint8) for i in range(3)]))
    once, twice = (kept.take(np.array([2, 0])).elements() for _ in range(2))
    assert [row[0] for row in once] == [2, 0]
    assert all(map(np.shares_memory, once, twice))


def test_a_stream_is_kept_from_its_beginning():
    kept = KeptStream()
    kept.add(3, Items([3]), "later")
    assert kept.count == 0
    kept.add(0, Items([0, 1]), "two")
    kept.add(2, Items([2]), "three")
    kept.add(2, Items([9]), "again")
    assert (kept.count, kept.nearest(9)) == (3, (3, "three"))
    assert kept.from_here(1).elements() == [1]
    assert kept.from_here(2).elements() == [2]
    kept.end(2)
    assert not kept.complete
    kept.end(3)
    assert kept.complete


def test_ragged_and_sparse_leaves_are_sealed_as_arrays_are():
    kept = KeptRows(1)
    kept.put(np.array([0]), Items([(Ragged.from_rows([[1], [2, 3]]), Sparse.from_dense([0, 5]))]))
    ((ragged, sparse),) = kept.take(np.array([0])).elements()
    assert not ragged.writeable
    assert not sparse.writeable
    assert ragged.owned().writeable


class UpTo:
    """A permit for so many bytes, which notes how many elements were kept when it was refused."""

    def __init__(self, room):
        self.room, self.refused = room, []

    def grow(self, nbytes):
        if nbytes > self.room:
            return False
        self.room -= nbytes
        return True

    def refuse(self, kept):
        self.refused.append(kept)


@pytest.mark.parametrize("as_columns", [False, True])
def test_rows_that_may_not_grow_the_memory_are_not_kept(as_columns):
    permit = UpTo(140)
    kept = KeptRows(8, permit)
    values = np.arange(32).reshape(8, 4)  # 32 bytes a row, and 112 of the object if alone

    def chunk(rows):
        return leaf_column(values[rows].copy()) if as_columns else Items(list(values[rows].copy()))

    assert kept.put(np.array([5, 2]), chunk([5, 2])).all()
    assert kept.put(np.array([5, 0]), chunk([5, 0])).all()  # one of them is new
    assert kept.put(np.array([2, 1, 7]), chunk([2, 1, 7])).tolist() == [True, True, False]  # the first that fit
    assert permit.refused == [4]
    assert not kept.put(np.array([3]), chunk([3])).any()
    assert kept.put(np.array([2, 5]), chunk([2, 5])).all()  # nothing new
    wanted = np.array([7, 5, 1, 7, 0, 2, 3])
    missing = kept.missing(wanted)
    assert missing.tolist() == [3, 7]
    found = kept.among(wanted, missing, chunk([3, 7])).elements()
    assert [row.tolist() for row in found] == values[wanted].tolist()
    assert not any(row.flags.writeable for row in found)


def test_rows_that_are_all_missing_come_as_they_were_made():
    kept = KeptRows(8, UpTo(0))
    rows = np.array([2, 5])
    assert [row.tolist() for row in kept.among(rows, rows, leaf_column(np.ones((2, 3)))).elements()] == [[1, 1, 1]] * 2


def test_few_rows_of_many_take_few_pages():
    count = 1 << 20
    kept = KeptRows(count)
    rows = np.arange(0, count, 1 << 6)  # 16384 rows of 64 bytes, one in each page
    before = resident()
    kept.put(rows, leaf_column(np.ones((len(rows), 64), np.uint8)))
    assert kept.take(rows[[5, 900]]).elements()[1].sum() == 64
    assert resident() - before < 16 << 20  # a page for each row would take 64 MiB


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def array_of(*values):
    return leaf_column(np.array(values))


def test_a_stream_that_may_not_grow_the_memory_ends_where_it_was_kept_to():
    permit = UpTo(28)
    kept = KeptStream(permit)
    kept.add(0, array_of(1, 2), "after 2")
    kept.add(2, array_of(3, 4), "after 4")  # the first one fits
    kept.add(4, array_of(5), "after 5")  # does not follow
    kept.end(5)
    assert (kept.count, kept.complete, permit.refused) == (3, False, [3])
    assert (kept.nearest(4), kept.nearest(1)) == ((2, "after 2"), (0, None))
    permit.room = 16
    kept.add(3, array_of(4, 5), "after 5")
    kept.end(5)
    assert (kept.count, kept.nearest(5), kept.complete) == (5, (5, "after 5"), True)
    assert [kept.from_here(at).elements()[0] for at in range(5)] == [1, 2, 3, 4, 5]


def test_a_stream_that_is_kept_becomes_rows_for_those_who_read_it_in_order_too():
    kept = KeptStream()
    for at in range(0, 9, 3):
        kept.add(at, Items([{"x": at + i, "name": f"{at + i}"} for i in range(3)]), at + 3)
    kept.end(9)
    rows = kept.as_rows(9)
    assert [element["x"] for element in rows.take(np.array([8, 0, 4, 4])).elements()] == [8, 0, 4, 4]
    assert kept.as_rows(9) is rows
    assert [element["x"] for element in kept.from_here(7).elements()] == [7, 8]


class Elsewhere:
    """An overflow that keeps rows in a dict."""

    def __init__(self):
        self.kept = {}

    def missing(self, rows):
        return np.array([row for row in rows.tolist() if row not in self.kept], np.int64)

    def read(self, rows):
        found = np.isin(rows, list(self.kept))
        return Items([self.kept[row] for row in rows[found].tolist()]), found

    def write(self, rows, chunk):
        self.kept.update(zip(rows.tolist(), chunk.elements(), strict=True))

    def fetch(self, rows, make):
        missing = self.missing(rows)
        if len(missing):
            self.write(missing, make(missing))
        return self.read(rows)[0]


@given(orders, st.integers(0, 12), st.sets(st.integers(0, 9)))
def test_rows_without_room_in_memory_go_elsewhere_and_are_made_once(orders, room, there):
    elsewhere, calls = Elsewhere(), []
    elsewhere.kept = {row: row * 2.5 for row in there}
    kept = KeptRows(10, UpTo(8 * room), elsewhere)

    def make(rows):
        calls.extend(rows.tolist())
        return leaf_column(rows * 2.5)

    for rows in orders:
        wanted = np.array(rows)
        assert set(kept.missing(wanted).tolist()) == set(rows) - set(calls) - there
        assert kept.fetch(wanted, make).elements() == [row * 2.5 for row in rows]
    assert len(calls) == len(set(calls))
    assert set(elsewhere.kept) - there == set(calls[room:])
