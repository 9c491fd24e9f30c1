from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.sources.indexable import indexable


class Squares:
    def __init__(self, length=5, gives=5):
        self.length = length
        self.gives = gives

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        assert type(i) is int
        if i >= self.gives:
            raise IndexError("beyond")
        if i == 3:
            raise ZeroDivisionError("three")
        return {"x": i * i}


class Batched(Squares):
    def __getitems__(self, positions):
        return [{"x": -i} for i in positions]


class Columnar:
    def __init__(self, read_many):
        self.read_many = read_many

    def __len__(self):
        return 10


def read(source, *rows):
    return source.read_many(np.array(rows, np.int64)).elements()


def test_anything_with_len_and_items():
    source = indexable(Squares())
    assert source.length == 5
    assert source.spec() is None
    assert read(source, 4, 0, 4) == [{"x": 16}, {"x": 0}, {"x": 16}]
    assert read(source) == []
    assert source.describe(4) == "item 4 of Squares"
    assert source.name == "from_source(Squares)"


@pytest.mark.parametrize("data", [["a", "b", "c"], ("a", "b", "c"), np.array(["a", "b", "c"])])
def test_lists_tuples_and_arrays(data):
    assert read(indexable(data), 2, 0) == ["c", "a"]


def test_getitems_is_asked_for_many_at_once():
    assert read(indexable(Batched()), 3, 1) == [{"x": -3}, {"x": -1}]


def test_read_many_gives_elements_or_columns():
    assert read(indexable(Columnar(lambda rows: [int(row) for row in rows])), 3, 1) == [3, 1]
    columns = indexable(Columnar(lambda rows: {"x": rows * 2, "name": [f"n{row}" for row in rows]}))
    assert read(columns, 3, 1) == [{"x": 6, "name": "n3"}, {"x": 2, "name": "n1"}]
    assert read(indexable(Columnar(lambda rows: rows.astype(np.int64))), 3, 1) == [3, 1]


@pytest.mark.parametrize(
    ("read_many", "message"),
    [
        (lambda rows: [1], "read_many was asked for 2 elements and returned 1"),
        (lambda rows: {"x": np.zeros(3)}, r'read_many\["x"\] was asked for 2 elements and returned 3'),
        (lambda rows: {"x": np.float64(3)}, r'returned a scalar at \["x"\]'),
        (lambda rows: None, "with no array in it"),
    ],
)
def test_a_read_many_that_returns_something_else_is_told_so(read_many, message):
    with pytest.raises(ElementError, match=message):
        read(indexable(Columnar(read_many)), 0, 1)


def test_the_exception_of_an_item_keeps_its_type_and_says_which():
    with pytest.raises(ZeroDivisionError, match="three") as caught:
        read(indexable(Squares()), 4, 1, 3, 2)
    assert caught.value.element == 2


def test_a_length_that_promises_too_much_is_explained():
    with pytest.raises(IndexError, match="beyond") as caught:
        read(indexable(Squares(length=9, gives=5)), 7)
    assert "len(Squares) was 9, but there is no item 7" in caught.value.__notes__[0]


class Frame:
    iloc = None

    def __len__(self):
        return 1

    def __getitem__(self, key):
        raise KeyError(key)


class NoLength:
    def __getitem__(self, i):
        return i


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1]}, "from_tensor_slices slices a dict"),
        ("text", "read_files"),
        ({1, 2}, "needs from_generator"),
        (iter([1]), "needs from_generator"),
        (NoLength(), "define __len__"),
        (Squares, "pass an object of it"),
        (Frame(), "from_tensor_slices"),
        (5, "neither"),
        (None, "neither"),
    ],
)
def test_what_is_no_source_is_refused_with_what_to_do(data, message):
    with pytest.raises(TypeError, match=message):
        indexable(data)


def test_the_fingerprint_is_what_the_object_says_or_its_type_length_and_simple_values():
    class Versioned(Squares):
        def fingerprint(self):
            return "v1"

    assert indexable(["a", 2]).fingerprint() == indexable(["a", 2]).fingerprint() != indexable(["b", 2]).fingerprint()
    assert indexable([object()]).fingerprint() == indexable([object()]).fingerprint()
    assert indexable(Versioned()).fingerprint()[-1] == "v1"
    assert read(pickle.loads(pickle.dumps(indexable(Squares()))), 2) == [{"x": 4}]
