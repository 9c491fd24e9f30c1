"""Arrays in files as datasets: what a user calls."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps


def test_rows_of_numpy_files_are_shuffled_and_batched_as_any_others(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.arange(10) + 10 * i)
    batches = list(ps.read_numpy(tmp_path / "*.npy").shuffle(seed=0).batch(8))
    assert [len(batch) for batch in batches] == [8, 8, 8, 6]
    assert sorted(np.concatenate(batches)) == list(range(30))


def test_files_that_are_not_there_are_named():
    with pytest.raises(FileNotFoundError, match="nothing"):
        ps.read_numpy("nothing*.npy")
