from __future__ import annotations

import numpy as np
import pytest

from penstock import Ragged, Sparse
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.nested.structure import LEAF
from penstock.elements.size import bytes_of, sizes_of, text_bytes_of


def test_arrays_count_by_their_bytes():
    assert bytes_of((np.zeros((2, 3), np.float32), {"n": np.int16(1)})) == 26


def test_other_objects_count_something():
    assert bytes_of(b"x" * 1000) >= 1000
    assert bytes_of({}) == 1


def test_texts_in_an_array_count_by_a_sample():
    texts = np.array(["x" * 1000] * 1000, object)
    assert 1000 <= text_bytes_of(texts) <= 1100
    assert text_bytes_of(texts.reshape(10, 100)) == text_bytes_of(texts)
    assert text_bytes_of(np.array([{}, [1]], object)) == text_bytes_of(texts[:0]) == 0


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (np.arange(3), [8, 8, 8]),
        (np.arange(3, dtype=np.int8), [1, 1, 1]),
        (np.array([True, False]), [1, 1]),
        (np.array([0.5, np.nan]), [8, 8]),
        (np.zeros((2, 3, 2), np.float32), [24, 24]),
        (np.zeros((2, 0)), [1, 1]),
        (np.array(["abc", "d"]), [3, 1]),
        (np.array(["abc", 5], object), [3, 8]),
        (np.array(["2024-01-01"], "M8[D]"), [8]),
        (np.zeros(0), []),
        ([b"abc", "de", object(), 1j, 2**70], [3, 2, 64, 16, 8]),
        ([np.zeros(3), np.float32(1), np.zeros((0, 9))], [24, 4, 1]),
        (Ragged.from_rows([[1, 2], [], [3]]), [16, 1, 8]),
        (Sparse.from_dense(np.array([[0, 1.0, 2.0], [0, 0, 0]])), [16, 1]),
    ],
)
def test_sizes_do_not_depend_on_the_form_of_elements(column, wanted):
    chunk = Columns(LEAF, [column], len(column))
    assert sizes_of(chunk).tolist() == wanted
    assert sizes_of(Items(chunk.elements())).tolist() == wanted
    assert sizes_of(Items([(element,) for element in chunk.elements()])).tolist() == wanted


def test_the_leaves_of_an_element_add_up():
    assert sizes_of(Items([{"x": 1, "y": [b"ab", np.zeros(2)]}, ()])).tolist() == [26, 1]
    assert sizes_of(leaf_column(np.arange(2)).slice(0, 0)).tolist() == []
