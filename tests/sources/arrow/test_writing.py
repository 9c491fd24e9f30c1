"""Rows in Parquet files: every kind of value comes back, and what fits into no column is named."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Ragged
from penstock.core.errors import ElementError
from penstock.sources.arrow import writing
from penstock.testing.laws import same

pytest.importorskip("pyarrow")


def everything(x):
    return {
        "int": np.int32(x),
        "python": int(x),
        "float": np.float32(x) / 2,
        "flag": bool(x % 2),
        "text": "ab" * x,
        "bytes": bytes(x),
        "array": np.arange(x, dtype=np.uint8),
        "time": np.datetime64("2020-01-01T00:00:00.000") + x,
        "struct": {"x": np.int16(x), "inner": {"y": str(x)}},
    }


@pytest.mark.parametrize("compression", [None, "snappy", "zstd", "gzip", "lz4"])
def test_values_keep_their_types(tmp_path, compression):
    ds = Dataset.range(1, 8).map(everything)
    (path,) = ds.write_parquet(tmp_path / "a.parquet", compression=compression)
    for found, row in zip(ps.read_parquet(path), ds, strict=True):
        assert same(found, row), (found, row)


def test_arrays_of_several_dimensions_and_ragged_ones_are_lists_of_lists(tmp_path):
    rows = [{"a": np.ones((2, 3), np.float32), "r": Ragged.from_rows([[1], [2, 3]])}]
    (path,) = Dataset.from_source(rows).write_parquet(tmp_path / "a.parquet")
    (found,) = ps.read_parquet(path)
    assert found["a"].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert found["r"].tolist() == [[1], [2, 3]]


def test_shards_hold_all_rows_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_GROUP_ROWS", 10)
    ds = Dataset.range(95).map(lambda x: {"x": x})
    paths = ds.write_parquet(tmp_path / "a.parquet", max_bytes=300)
    assert len(paths) > 2
    assert [row["x"] for row in ps.read_parquet(paths)] == list(range(95))
    (one,) = ds.write_parquet(tmp_path / "b.parquet")
    assert [row["x"] for row in ps.read_parquet(one)] == list(range(95))


def test_an_empty_dataset_becomes_an_empty_file(tmp_path):
    import pyarrow.parquet

    (path,) = Dataset.from_source([]).write_parquet(tmp_path / "a.parquet")
    assert pyarrow.parquet.read_table(path).num_rows == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1], "element 0 is int, not a dict of columns; map it to a dict first"),
        ([{}], "names of columns must be strings"),
        ([{1: 2}], "names of columns must be strings"),
        ([{"x": 1}, {"x": "a"}], "column 'x' of elements 0 to 1 is not all one type"),
        ([{"x": 1}, {"y": 1}], r"the columns of elements 0 to 1 differ: \['y'\] against \['x'\]"),
        ([{"x": object()}], "column 'x'"),
        ([{"x": ps.Sparse([[0]], [1], [3])}], "element 0 has a Sparse"),
        ([*[{"x": 1}] * 3, {"x": 1.5}], "column 'x' of elements 3 to 3 is not all int64, as before: found double"),
        ([*[{"x": {"y": 1}}] * 3, {"x": 1.5}], "x"),
    ],
)
def test_values_that_fit_no_column_are_named(tmp_path, monkeypatch, rows, said):
    monkeypatch.setattr(writing, "_GROUP_ROWS", 3)
    with pytest.raises(ElementError, match=f"write_parquet.*{said}"):
        Dataset.from_source(rows).write_parquet(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [0, 5])
def test_arrow_files_have_the_columns_of_parquet_files(tmp_path, monkeypatch, count):
    import pyarrow as pa

    monkeypatch.setattr(writing, "_GROUP_ROWS", 2)
    rows = [{"x": np.int32(i), "y": {"z": "a" * i}} for i in range(count)]
    writing.write_arrow_file(rows, str(tmp_path / "a.arrow"), overwrite=False, call="export")
    with pa.ipc.open_file(str(tmp_path / "a.arrow")) as file:
        assert file.num_record_batches == -(-count // 2)
        assert file.read_all().to_pylist() == [{"x": i, "y": {"z": "a" * i}} for i in range(count)]


def test_an_arrow_file_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(ElementError, match="not a dict of columns"):
        writing.write_arrow_file([1], str(tmp_path / "a.arrow"), overwrite=False, call="export")
    assert list(tmp_path.iterdir()) == []
