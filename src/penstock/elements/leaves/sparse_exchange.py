"""Convert sparse arrays to and from the types of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.core.lazy import require


class SparseExchange:
    """The conversions of `Sparse`; a library is imported on first use."""

    __slots__ = ()

    def __init__(self, indices: Any, values: Any, dense_shape: Sequence[int]) -> None:
        raise NotImplementedError

    @classmethod
    def from_coo(cls, coordinates: Sequence[Any], values: Any, dense_shape: Sequence[int]) -> Self:
        """Return a sparse array of values in any order."""
        raise NotImplementedError

    @property
    def indices(self) -> NDArray[np.int64]:
        """The indices of the values."""
        raise NotImplementedError

    @property
    def values(self) -> NDArray[Any]:
        """The stored values."""
        raise NotImplementedError

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        raise NotImplementedError

    def csr(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """Return the compressed rows of a two-dimensional array."""
        raise NotImplementedError

    def to_scipy(self, format: str = "csr") -> Any:
        """Return a SciPy sparse array, in the format `"csr"` (two dimensions) or `"coo"`."""
        sparse = require("scipy.sparse", extra="scipy", purpose="Sparse.to_scipy()")
        if format == "coo":
            return sparse.coo_array((self.values, tuple(self.indices.T)), shape=self.dense_shape)
        if format == "csr":
            return sparse.csr_array(self.csr(), shape=self.dense_shape)
        raise ValueError(f"Sparse.to_scipy(format={format!r}): expected 'csr' or 'coo'")

    @classmethod
    def from_scipy(cls, array: Any) -> Self:
        """Return the stored values of a SciPy sparse array or matrix, including zeros; duplicates are summed."""
        sparse = require("scipy.sparse", extra="scipy", purpose="Sparse.from_scipy()")
        if not sparse.issparse(array):
            raise ElementError(f"Sparse.from_scipy: expected a sparse array, not {type(array).__name__}")
        whole = array.tocoo(copy=True)
        whole.sum_duplicates()
        coordinates = getattr(whole, "coords", None) or (whole.row, whole.col)
        return cls.from_coo(coordinates, whole.data, whole.shape)

    def to_torch(self) -> Any:
        """Return a coalesced `torch.sparse_coo_tensor`; the indices are copied, the values shared if possible."""
        torch = require("torch", extra="torch", purpose="Sparse.to_torch()")
        values = self.values if self.values.flags.writeable else self.values.copy()
        indices = np.ascontiguousarray(self.indices.T)
        indices = indices if indices.flags.writeable else indices.copy()
        return torch.sparse_coo_tensor(
            torch.from_numpy(indices),
            torch.from_numpy(values),
            self.dense_shape,
            is_coalesced=True,
            check_invariants=False,  # already checked
        )

    @classmethod
    def from_torch(cls, tensor: Any) -> Self:
        """Return the values of a PyTorch sparse tensor of any layout; duplicates are summed."""
        require("torch", extra="torch", purpose="Sparse.from_torch()")
        if not hasattr(tensor, "to_sparse_coo"):
            raise ElementError(f"Sparse.from_torch: expected a sparse tensor, not {type(tensor).__name__}")
        whole = tensor.to_sparse_coo().coalesce()
        return cls(whole.indices().numpy(force=True).T, whole.values().numpy(force=True), tuple(whole.shape))

    def to_tensorflow(self) -> Any:
        """Return a `tf.SparseTensor`."""
        tensorflow = require("tensorflow", extra="tensorflow", purpose="Sparse.to_tensorflow()")
        return tensorflow.SparseTensor(self.indices, self.values, self.dense_shape)

    @classmethod
    def from_tensorflow(cls, tensor: Any) -> Self:
        """Return the values of a `tf.SparseTensor`, in any order."""
        require("tensorflow", extra="tensorflow", purpose="Sparse.from_tensorflow()")
        if not hasattr(tensor, "dense_shape") or not hasattr(tensor, "indices"):
            raise ElementError(f"Sparse.from_tensorflow: expected a SparseTensor, not {type(tensor).__name__}")
        shape = tuple(tensor.dense_shape.numpy().tolist())
        return cls.from_coo(tuple(tensor.indices.numpy().T), tensor.values.numpy(), shape)

    def to_jax(self) -> Any:
        """Return a `jax.experimental.sparse.BCOO` with sorted, unique indices; by default JAX narrows 64-bit types."""
        sparse = require("jax.experimental.sparse", extra="jax", purpose="Sparse.to_jax()")
        jax = require("jax", extra="jax", purpose="Sparse.to_jax()")
        narrow = {} if jax.config.jax_enable_x64 else {"dtype": np.int32}
        with jax.default_device(jax.devices("cpu")[0]):
            parts = (jax.numpy.asarray(self.values), jax.numpy.asarray(self.indices, **narrow))
            return sparse.BCOO(parts, shape=self.dense_shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_jax(cls, array: Any) -> Self:
        """Return the values of a `BCOO` without batch or dense dimensions; duplicates are summed.

        An `ElementError` is raised for duplicates in an array whose `unique_indices` says that there are none.
        """
        require("jax", extra="jax", purpose="Sparse.from_jax()")
        if getattr(array, "n_dense", 1) or getattr(array, "n_batch", 1):
            raise ElementError(f"Sparse.from_jax: expected a BCOO whose dimensions are all sparse, not {array!r:.80}")
        whole = array if array.unique_indices else array.sum_duplicates()  # which JAX compiles for each size
        indices, values = np.asarray(whole.indices), np.asarray(whole.data)  # (n, rank), (n,)
        held = (indices < whole.shape).all(axis=1) & (values != 0)  # rows that fill up a BCOO are outside of its shape
        return cls.from_coo(tuple(indices[held].T), values[held], whole.shape)
