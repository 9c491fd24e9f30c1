"""Damaged files give guaranteed rows or an error; for more, run `python -m tests.sources.damaged_tables 10000`."""

from __future__ import annotations

import pytest

from tests.sources.damaged_tables import FORMATS, survive


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_keep_their_promise_or_raise_an_error_that_names_them(name, tmp_path):
    pytest.importorskip({"hdf5": "h5py", "npy": "numpy", "npz": "numpy"}.get(name.partition(".")[0], "pyarrow"))
    told = survive(name, 40, tmp_path)
    assert told["error"] > 5
    assert sum(told.values()) == 40
