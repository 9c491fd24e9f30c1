"""Ragged rows to other libraries and back; each test runs where its library is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from penstock.core.errors import ElementError, MissingDependencyError
from penstock.elements.ragged import Ragged

ONE = Ragged.from_rows([[1], [], [2, 3]])
DEEP = Ragged(Ragged.from_rows([[1], [], [2, 3]]), [0, 0, 2, 3])
INNER = Ragged.from_rows([np.zeros((1, 2), np.float32), np.ones((2, 2), np.float32)])
TEXT = Ragged.from_rows([["a"], ["b", "c"]])
NONE = Ragged(np.zeros(0), [0, 0])


def test_numpy_conversions_return_the_same_rows():
    rows = DEEP.to_numpy()
    assert rows.shape == (3,)
    assert rows[2] == Ragged.from_rows([[2, 3]])
    assert Ragged.from_rows(INNER.to_numpy()) == INNER
    assert Ragged.from_rows(DEEP.to_numpy()) == DEEP


@pytest.mark.parametrize("module", ["pyarrow", "torch", "tensorflow"])
def test_a_missing_library_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    name = {"pyarrow": "arrow"}.get(module, module)
    with pytest.raises(MissingDependencyError, match=rf"Ragged\.to_{name}\(\) needs {module}"):
        getattr(ONE, f"to_{name}")()
    with pytest.raises(MissingDependencyError, match=rf"Ragged\.from_{name}\(\) needs {module}"):
        getattr(Ragged, f"from_{name}")(None)


@pytest.mark.parametrize("ragged", [ONE, DEEP, INNER, TEXT, NONE, Ragged([True], [0, 1])])
def test_arrow_conversions_return_the_same_rows(ragged):
    arrow = pytest.importorskip("pyarrow")
    made = ragged.to_arrow()
    assert made.to_pylist() == ragged.tolist()
    assert isinstance(made, arrow.ListArray)
    assert Ragged.from_arrow(made) == ragged
    assert Ragged.from_arrow(arrow.chunked_array([made, made])) == Ragged.concatenate([ragged, ragged])
    assert Ragged.from_arrow(made[1:]) == ragged[1:]


def test_other_arrow_arrays_are_converted_or_refused():
    arrow = pytest.importorskip("pyarrow")
    wide = arrow.array([[1], [2, 3]], arrow.large_list(arrow.int64()))
    assert Ragged.from_arrow(wide).tolist() == [[1], [2, 3]]
    for nulls in ([[1], None], [[1, None]]):
        with pytest.raises(ElementError, match=r"1 of . values are null"):
            Ragged.from_arrow(arrow.array(nulls))
    with pytest.raises(ElementError, match="expected lists, not int64"):
        Ragged.from_arrow(arrow.array([1]))


@pytest.mark.parametrize("ragged", [ONE, INNER, ONE.frozen(), NONE])
def test_torch_conversions_return_the_same_values(ragged):
    torch = pytest.importorskip("torch")
    made = ragged.to_torch()
    assert made.layout == torch.jagged
    assert [row.tolist() for row in made.unbind()] == ragged.tolist()
    assert Ragged.from_torch(made) == ragged


def test_torch_shares_writable_memory():
    pytest.importorskip("torch")
    ragged = Ragged.from_rows([[1], [2, 3]])
    ragged.to_torch().values()[0] = 7
    assert ragged.tolist() == [[7], [2, 3]]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_other_torch_layouts_are_converted_or_refused():
    torch = pytest.importorskip("torch")
    strided = torch.nested.nested_tensor([torch.tensor([1]), torch.tensor([2, 3])])
    assert Ragged.from_torch(strided).tolist() == [[1], [2, 3]]
    with pytest.raises(ElementError, match="one ragged dimension, but these rows have 2"):
        DEEP.to_torch()
    with pytest.raises(ElementError, match="expected a nested tensor"):
        Ragged.from_torch(torch.zeros(2))


@pytest.mark.parametrize("ragged", [ONE, DEEP, INNER, Ragged([1], np.int32([0, 1])), NONE])
def test_tensorflow_conversions_return_the_same_values(ragged):
    tensorflow = pytest.importorskip("tensorflow")
    made = ragged.to_tensorflow()
    assert isinstance(made, tensorflow.RaggedTensor)
    assert made.to_list() == ragged.tolist()
    assert Ragged.from_tensorflow(made) == ragged
    with pytest.raises(ElementError, match="expected a RaggedTensor"):
        Ragged.from_tensorflow(tensorflow.zeros(2))
