"""Headers of NumPy files; test_numpy_files.py covers false headers."""

from __future__ import annotations

import os

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.sources.numpy.headers import begins_as_npy, members_of, torn_array


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(20).reshape(10, 2))
    return str(tmp_path / "a.npy")


@pytest.mark.parametrize(("lost", "rows"), [(1, 9), (16, 9), (17, 8), (160, 0)])
def test_a_truncated_file_has_its_whole_rows(path, lost, rows):
    os.truncate(path, os.path.getsize(path) - lost)
    with pytest.raises(DataError, match="cut short"):
        list(members_of(0, path))
    assert begins_as_npy(path)
    assert torn_array(0, path).parts[0].rows == rows


def test_truncated_headers_and_fortran_order_give_no_rows(path, tmp_path):
    os.truncate(path, 50)
    assert not begins_as_npy(path)
    np.save(path, np.asfortranarray(np.arange(20).reshape(10, 2)))
    os.truncate(path, os.path.getsize(path) - 1)
    assert not begins_as_npy(path)
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    assert not begins_as_npy(str(tmp_path / "a.npz"))
    assert [name for name, _ in members_of(0, str(tmp_path / "a.npz"))] == ["x"]
