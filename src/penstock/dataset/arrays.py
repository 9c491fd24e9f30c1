"""Datasets of arrays in files: NumPy, HDF5, Zarr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.dataset.dataset import Dataset
from penstock.dataset.read import reading
from penstock.storage.paths import Pattern, list_files


def read_numpy(paths: Pattern | Sequence[Pattern]) -> Dataset[Any]:
    """The rows of arrays in `.npy` files, at random; of `.npz` files, dicts with a row of each array.

    The arrays of several files, which match one or several glob patterns, in sorted order, are joined along their first
    axis; they must agree in type and in the shape of a row. Rows are read where they are in the file. Members of `.npz`
    files that are compressed, and arrays in Fortran's order, are loaded whole when they are first read.

    A file that is cut short, before or while it is read, or whose header is wrong, is a `DataError`; so is an array of
    Python objects.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for i in range(2):
    ...     np.save(folder / f"{i}.npy", np.arange(6).reshape(3, 2) + 10 * i)
    >>> [row.tolist() for row in read_numpy(folder / "*.npy")]
    [[0, 1], [2, 3], [4, 5], [10, 11], [12, 13], [14, 15]]
    """
    from penstock.sources.numpy_files import numpy_files

    return reading(numpy_files(list_files(paths)))
