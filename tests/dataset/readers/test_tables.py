"""Tables as datasets: what a user calls."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import MissingDependencyError

READERS = [ps.read_parquet, ps.read_arrow, ps.read_csv]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_missing_library_is_named_with_how_to_install_it(read, tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"x")
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc", "pyarrow.csv"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'penstock\[arrow\]'"):
        read(tmp_path / "a")


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_wrong_files_and_counts_are_refused_at_once(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        read(tmp_path / "*.parquet")
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"cache_bytes=0\): expected at least 1"):
        read(tmp_path / "a", cache_bytes=0)


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_tables_can_be_batched_and_resumed(tmp_path, name):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": np.arange(100.0), "label": np.arange(100) % 7, "text": [f"t{i}" for i in range(100)]})
    path = tmp_path / f"a.{name}"
    if name == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=13)
        ds = ps.read_parquet(path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(table, path, chunksize=13)
        ds = ps.read_arrow(path)
    batches = ds.shuffle(seed=0).map(lambda row: (row["x"], row["label"], row["text"])).batch(16)
    assert sorted(text for _, _, texts in batches for text in texts) == sorted(f"t{i}" for i in range(100))
    with batches.iterator(epoch=0) as it:
        next(it)
        state = it.state_dict()
        wanted = next(it)
    again = batches.iterator()
    again.load_state_dict(state)
    assert next(again)[0].tolist() == wanted[0].tolist()
