"""Arrays in files as datasets: what a user calls."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import PlanError


def test_rows_of_numpy_files_can_be_shuffled_and_batched(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.arange(10) + 10 * i)
    batches = list(ps.read_numpy(tmp_path / "*.npy").shuffle(seed=0).batch(8))
    assert [len(batch) for batch in batches] == [8, 8, 8, 6]
    assert sorted(np.concatenate(batches)) == list(range(30))


def test_missing_files_are_named():
    with pytest.raises(FileNotFoundError, match="nothing"):
        ps.read_numpy("nothing*.npy")


def test_columns_selects_arrays_of_npz_files(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3), y=np.arange(6).reshape(3, 2), z=np.zeros(4))
    assert list(ps.read_numpy(path, columns=["x"])) == [{"x": x} for x in range(3)]
    assert [row.tolist() for row in ps.read_numpy(path, columns="y")] == [[0, 1], [2, 3], [4, 5]]
    ps.testing.verify_determinism(ps.read_numpy(path, columns=["y", "x"]).shuffle(seed=1))
    with pytest.raises(PlanError, match="there is no 'q'"):
        ps.read_numpy(path, columns=["q"])
    with pytest.raises(TypeError, match=r"read_numpy\(columns=3\)"):
        ps.read_numpy(path, columns=3)
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(PlanError, match="omit columns="):
        ps.read_numpy(tmp_path / "a.npy", columns=["x"])
