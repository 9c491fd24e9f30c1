"""Sparse arrays to other libraries and back; each test runs where its library is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from penstock.core.errors import ElementError, MissingDependencyError
from penstock.elements.sparse import Sparse

FLAT = Sparse.from_dense(np.float32([[0, 5, 0], [0, 0, 0], [7, 0, 8]]))
LINE = Sparse.from_dense(np.float32([0, 5]))
CUBE = Sparse.from_dense(np.arange(8, dtype=np.float32).reshape(2, 2, 2))
NONE = Sparse.from_dense(np.zeros((2, 2), np.float32))
ALL = [FLAT, LINE, CUBE, NONE, FLAT.frozen()]


@pytest.mark.parametrize("name", ["scipy", "torch", "tensorflow", "jax"])
def test_a_missing_library_is_named(monkeypatch, name):
    for module in (name, f"{name}.sparse", f"{name}.experimental.sparse"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"Sparse\.to_{name}\(\) needs {name}"):
        getattr(FLAT, f"to_{name}")()
    with pytest.raises(MissingDependencyError, match=rf"Sparse\.from_{name}\(\) needs {name}"):
        getattr(Sparse, f"from_{name}")(None)


@pytest.mark.parametrize("sparse", [FLAT, NONE, FLAT.frozen()])
def test_scipy_conversions_return_the_same_values(sparse):
    scipy = pytest.importorskip("scipy.sparse")
    for format_ in ("csr", "coo"):
        made = sparse.to_scipy(format_)
        assert made.format == format_
        np.testing.assert_array_equal(made.toarray(), sparse.to_dense())
        assert Sparse.from_scipy(made) == sparse
    doubled = scipy.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert Sparse.from_scipy(doubled) == Sparse([[0, 1]], [3.0], (2, 2))
    with pytest.raises(ValueError, match=r"format='csc'.*'csr' or 'coo'"):
        sparse.to_scipy("csc")
    with pytest.raises(ElementError, match="expected a sparse array, not ndarray"):
        Sparse.from_scipy(np.zeros(2))


@pytest.mark.parametrize("sparse", ALL)
def test_torch_conversions_return_the_same_values(sparse):
    torch = pytest.importorskip("torch")
    made = sparse.to_torch()
    assert made.is_coalesced()
    np.testing.assert_array_equal(made.to_dense().numpy(), sparse.to_dense())
    assert Sparse.from_torch(made) == sparse
    with pytest.raises(ElementError, match="expected a sparse tensor, not ndarray"):
        Sparse.from_torch(np.zeros(2))
    doubled = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,), check_invariants=True)
    assert Sparse.from_torch(doubled) == Sparse([[0], [1]], np.float32([2, 4]), (2,))


@pytest.mark.parametrize("sparse", ALL)
def test_jax_conversions_return_the_same_values(sparse):
    pytest.importorskip("jax")
    made = sparse.to_jax()
    np.testing.assert_array_equal(np.asarray(made.todense()), sparse.to_dense())
    assert Sparse.from_jax(made) == sparse
    with pytest.raises(ElementError, match="expected a BCOO"):
        Sparse.from_jax(np.zeros(2))


def test_what_fills_up_an_array_of_jax_is_left_out_and_duplicates_are_summed():
    jax_sparse = pytest.importorskip("jax.experimental.sparse")
    filled = jax_sparse.BCOO((np.float32([5, 0]), np.int32([[1], [2]])), shape=(2,), unique_indices=True)
    assert Sparse.from_jax(filled) == LINE
    doubled = jax_sparse.BCOO((np.float32([1, 2, 3]), np.int32([[1], [0], [1]])), shape=(2,))
    assert Sparse.from_jax(doubled) == Sparse([[0], [1]], np.float32([2, 4]), (2,))


@pytest.mark.parametrize("sparse", ALL)
def test_tensorflow_conversions_return_the_same_values(sparse):
    tensorflow = pytest.importorskip("tensorflow")
    made = sparse.to_tensorflow()
    np.testing.assert_array_equal(tensorflow.sparse.to_dense(made).numpy(), sparse.to_dense())
    assert Sparse.from_tensorflow(made) == sparse
    with pytest.raises(ElementError, match="expected a SparseTensor"):
        Sparse.from_tensorflow(tensorflow.zeros(2))
