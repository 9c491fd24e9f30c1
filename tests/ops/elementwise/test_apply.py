"""Functions applied to chunks: whichever way, the row at fault is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.blame import noting_blames
from penstock.elements.chunks.chunk import Items
from penstock.elements.nested.nesting import leaf_column
from penstock.elements.spec import ArraySpec
from penstock.ops.elementwise.apply import column_wise, drawing, element_wise, in_one_call

NODE = Dataset.range(100).map(abs)._plan
ROWS = np.array([40, 7, 33])


def fails_at_7(x, **_):
    if np.any(np.asarray(x) == 7):
        raise KeyError("seven")
    return x


@pytest.mark.parametrize(
    "apply", [element_wise(NODE)(fails_at_7), drawing(NODE, 3)(fails_at_7)], ids=["plain", "draws"]
)
def test_the_row_at_fault_is_named_wherever_it_stands_in_the_chunk(apply):
    with pytest.raises(KeyError) as caught, noting_blames():
        apply(leaf_column(ROWS), ROWS, None)
    assert caught.value.__notes__ == ["in map(abs), at row 7", "made from the number 7"]


def test_a_function_of_columns_is_called_once_for_the_whole_chunk():
    sizes = []

    def function(x):
        sizes.append(len(x))
        return x + 1

    made = column_wise(NODE, function, np.empty)(Items([1, 2, 3]), ROWS, None)
    assert (made.elements(), sizes) == ([2, 3, 4], [3])


class Doubled:
    def spec(self, spec):
        return spec

    def run(self, values, rows, out):
        if 33 in rows:
            error = OSError("gone")
            error.element = rows.tolist().index(33)
            raise error
        return np.multiply(values, 2, out=out)


def test_a_declarative_function_writes_into_the_memory_given():
    memory = [np.empty(2, np.int64)]
    made = in_one_call(NODE, Doubled())(leaf_column(ROWS[:2]), ROWS[:2], memory)
    assert made.columns[0] is memory[0]
    assert memory[0].tolist() == [80, 14]


def test_an_error_of_a_declarative_function_has_the_position_of_its_element():
    with pytest.raises(OSError, match="gone") as caught, noting_blames():
        in_one_call(NODE, Doubled())(leaf_column(ROWS), ROWS, None)
    assert "at row 33" in caught.value.__notes__[0]


def test_the_spec_of_a_declarative_function_needs_no_call():
    assert Dataset.range(3).map(Doubled().run, on=None)._plan.spec() is None
    plan = type(NODE)(Dataset.range(3)._plan, Doubled())
    assert plan.spec() == ArraySpec((), np.dtype(np.int64))


@pytest.mark.parametrize(
    ("count", "said"), [(3, ["which is the first of 3 elements in one call of the function"]), (1, [])]
)
def test_an_error_of_a_function_of_columns_gives_the_number_of_rows(count, said):
    def refuse(column):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught, noting_blames():
        column_wise(NODE, refuse, np.empty)(leaf_column(ROWS[:count]), ROWS[:count], None)
    assert caught.value.__notes__ == ["in map(abs), at row 40", "made from the number 40", *said]


def test_numpy_warns_once_of_elements_that_are_also_computed_one_by_one():
    ds = Dataset.from_tensor_slices(np.arange(20.0)).map(lambda x: np.log(x - 5.0)).batch(10)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        batches = list(ds)
    assert np.isneginf(batches[0][5])
    assert sorted({str(each.message) for each in told if "divide" in str(each.message)}) == [
        "divide by zero encountered in lambda"
    ]
