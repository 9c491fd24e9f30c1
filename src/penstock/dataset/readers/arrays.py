"""Datasets of arrays in files: NumPy, HDF5, Zarr."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.sizes import check_bytes
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.sources.blocked import CACHE_BYTES
from penstock.storage.paths import Pattern, find_files, list_folders, urls_of


@helpful
def read_numpy(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: str | Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    """Read the rows of arrays in `.npy` files, with random access; from `.npz` files, dicts with a row of each array.

    `columns` are the names of the arrays of `.npz` files to read; a single name gives the rows of that array, no dicts.

    The arrays of several files are joined along their first axis, in the order of a list of paths, which may repeat
    some, or the sorted order of a pattern; their types and row shapes must agree. URLs, with `storage_options` for
    their stores, are in docs/remote.md. Rows are read directly from their
    place in the file. Compressed members of `.npz` files, and arrays in Fortran order, are loaded whole when they are
    first read.

    A file that is truncated, before or while it is read, or has an invalid header raises a `DataError`; so does an
    array of Python objects.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for i in range(2):
    ...     np.save(folder / f"{i}.npy", np.arange(6).reshape(3, 2) + 10 * i)
    >>> [row.tolist() for row in read_numpy(folder / "*.npy")]
    [[0, 1], [2, 3], [4, 5], [10, 11], [12, 13], [14, 15]]
    """
    from penstock.sources.numpy.files import numpy_files

    return reading(numpy_files(find_files(paths, "read_numpy", storage_options=storage_options), columns))


@helpful
def read_hdf5(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: str | Sequence[str] | None = None,
    cache_bytes: int | str = CACHE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    """Read the rows of arrays in HDF5 files, with random access, through h5py: dicts with a row of each of `columns`.

    `columns` are the paths of arrays in the file; groups become dicts in dicts. A single path as text gives the rows of
    that array themselves; by default all arrays that have rows are read. The arrays must have the same length,
    otherwise a `DataError` is raised. Text becomes `str`, and rows of different lengths become arrays. Several files
    are joined as in `read_numpy`, and may be URLs.

    Chunks are read whole, several small ones together up to a megabyte; the most recently used `cache_bytes` are kept,
    and `shuffle()` mixes rows within as many chunks as half the cache holds. h5py reads with one thread at a time. A
    file that cannot be read raises a `DataError`.

    >>> import h5py, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.h5"
    >>> with h5py.File(path, "w") as file:
    ...     file["x"] = np.arange(6).reshape(3, 2)
    ...     file["meta/label"] = [5, 6, 7]
    >>> read_hdf5(path)[1]
    {'meta': {'label': 6}, 'x': array([2, 3])}
    """
    from penstock.sources.chunked.arrays import chunked_files
    from penstock.sources.chunked.hdf5 import open_hdf5

    cache_bytes = check_bytes("read_hdf5", "cache_bytes", cache_bytes)
    found = find_files(paths, "read_hdf5", storage_options=storage_options)
    return reading(chunked_files("read_hdf5", open_hdf5, found, columns, cache_bytes))


@helpful
def read_zarr(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: str | Sequence[str] | None = None,
    cache_bytes: int | str = CACHE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    """Read the rows of arrays in Zarr stores, with random access, through zarr: dicts with a row of each of `columns`.

    A store is a folder, a zip file, or the URL of a prefix without wildcards, with `storage_options` for its store
    (docs/remote.md); a pattern may match several stores, which are joined along the first axis. If a store is one
    array, elements are its rows. Otherwise the function works like `read_hdf5`; chunks, or the shards that hold them,
    are read whole.

    >>> import tempfile, zarr
    >>> path = tempfile.mkdtemp() + "/a.zarr"
    >>> store = zarr.open_group(path, mode="w")
    >>> store["x"] = np.arange(6).reshape(3, 2)
    >>> read_zarr(path, columns="x")[1]
    array([2, 3])
    """
    from penstock.sources.chunked.arrays import chunked_files
    from penstock.sources.chunked.zarr import open_zarr

    cache_bytes = check_bytes("read_zarr", "cache_bytes", cache_bytes)
    found: list[str]
    if (urls := urls_of("read_zarr", paths, storage_options)) is None:
        found = [os.path.expanduser(path) for path in list_folders(paths, "read_zarr")]
    else:
        from penstock.storage.remote.folder import RemoteFolder

        found = [RemoteFolder.of_prefix(url, storage_options, hidden=True) for url in urls]
    return reading(chunked_files("read_zarr", open_zarr, found, columns, cache_bytes))
