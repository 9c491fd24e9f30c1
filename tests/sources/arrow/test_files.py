"""Arrow's own files: mapped where they are not compressed, any row of any batch."""

from __future__ import annotations

import os

import numpy as np
import pytest

from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_arrow
from penstock.kernels import MappedFile
from penstock.testing.sources import verify_source
from tests.sources.arrow.test_parquet import everything, reported, source_of

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")


def write(path, table, batch=17, compression=None, stream=False):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch)
    return path


def plain(count=60, start=0):
    return everything(count, start).drop(["coded"])


@pytest.mark.parametrize(
    ("compression", "stream"), [(None, False), ("lz4", False), ("zstd", False), (None, True), ("zstd", True)]
)
def test_files_and_streams_are_sources_like_any_other(tmp_path, compression, stream):
    table = plain() if stream else everything(60)
    paths = [write(tmp_path / f"{i}.arrow", table, 17, compression, stream) for i in range(2)]
    ds = read_arrow(paths)
    verify_source(source_of(ds))
    assert [row["z"] for row in ds] == [*range(60), *range(60)]
    assert [row["who"] for row in ds] == table["who"].to_pylist() * 2
    assert (source_of(ds).blocks is None) == (compression is None)
    assert "record batch 3, row 5" in str(ds.locate(56))


def test_numbers_are_views_of_the_file_and_reading_takes_no_memory(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"x": np.arange(200_000)}), 50_000)
    source = source_of(read_arrow(path))
    before = pa.total_allocated_bytes()
    columns = source.read_many(np.arange(60_000, 90_000)).columns
    assert not columns[0].flags.owndata
    assert columns[0].tolist() == list(range(60_000, 90_000))
    assert pa.total_allocated_bytes() - before < 100_000


def test_feather_files_with_default_settings_are_read(tmp_path):
    feather.write_feather(plain(), tmp_path / "a.feather", chunksize=20)
    ds = read_arrow(tmp_path / "a.feather", columns=["name", "z"])
    assert list(ds) == plain().select(["name", "z"]).to_pylist()


def test_a_shuffle_of_compressed_batches_uses_blocks(tmp_path):
    table = pa.table({"x": np.arange(10_000)})
    path = write(tmp_path / "a.arrow", table, 100, "lz4")
    ds = read_arrow(path, cache_bytes=10 * 100 * 8)
    assert "100 blocks of about 100 rows in random order, and the rows of 5 at a time" in ds.shuffle(seed=1).explain()
    assert sorted(row["x"] for row in ds.shuffle(seed=1)) == list(range(10_000))
    assert "blocks" not in read_arrow(write(tmp_path / "b.arrow", table, 100)).shuffle(seed=1).explain()


def test_a_truncated_stream_ends_early_or_is_refused(tmp_path):
    path = write(tmp_path / "a.arrow", plain(), stream=True)
    content = path.read_bytes()
    path.write_bytes(content[:-8])  # without the mark of the end
    assert len(read_arrow(path)) == 60
    path.write_bytes(content[:-200])
    with pytest.raises(DataError, match=r"a\.arrow"):
        list(read_arrow(path))


def test_streams_with_dictionaries_are_refused_with_the_remedy(tmp_path):
    path = write(tmp_path / "a.arrow", everything(), stream=True)
    with pytest.raises(DataError, match=r"a\.arrow.*dictionary cannot be read at random; write it as an IPC file"):
        read_arrow(path)


def test_missing_values_and_other_columns_are_handled_as_in_parquet(tmp_path):
    table = pa.table({"x": [1.0, None, 3.0], "name": ["a", "b", None]})
    path = write(tmp_path / "a.arrow", table, 2)
    with pytest.raises(DataError, match="column x is null in row 1"):
        list(read_arrow(path))
    assert [row["x"] for row in read_arrow(path, columns=["x"], nulls={"x": 0})] == [1, 0, 3]
    assert list(read_arrow(path, nulls="drop")) == [{"x": 1.0, "name": "a"}]
    with pytest.raises(PlanError, match="no column 'y'"):
        read_arrow(path, columns=["y"])
    write(tmp_path / "b.arrow", pa.table({"x": [1], "name": ["a"]}))
    with pytest.raises(DataError, match=r"a\.arrow and .*b\.arrow differ: column 'x' is double"):
        read_arrow(tmp_path / "*.arrow")


def test_files_that_are_not_arrow_are_refused_by_name(tmp_path):
    for content in (
        b"",
        b"ARROW1",
        b"ARROW1\0\0" + bytes(100),
        b"x" * 500,
        bytes(8),
        b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    ):
        (tmp_path / "a.arrow").write_bytes(content)
        with pytest.raises(DataError, match=r"a\.arrow"):
            list(read_arrow(tmp_path / "a.arrow"))


def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"x": np.arange(200_000)}), 50_000)
    ds = read_arrow(path)
    assert ds[0] == {"x": 0}
    os.truncate(path, 4096)
    for row in (1, 199_999):
        with pytest.raises(DataError, match="make the dataset again"):
            ds[row]


@pytest.mark.parametrize("compression", [None, "lz4"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_file_truncated_at_any_moment_is_an_error_and_does_not_end_the_process(
    tmp_path, monkeypatch, compression, stream
):
    rows = {"x": np.random.default_rng(0).integers(1, 1 << 60, 100_000), "text": [str(i) for i in range(100_000)]}
    monkeypatch.setattr(MappedFile, "check_unchanged", MappedFile.check)  # as if it happened after that has looked
    for taken in (0, 1, 60_000):
        path = write(tmp_path / "a.arrow", pa.table(rows), 25_000, compression, stream=stream)
        ds = read_arrow(path)
        some = [ds[i] for i in range(taken)[:1]]
        batch = ds.skip(taken).take(100).batch(100).get_single_element() if taken > 1 else None
        os.truncate(path, 5000)
        with pytest.raises(DataError, match=r"a\.arrow.*"):
            list(ds.shuffle(seed=1).batch(500))
        with pytest.raises(DataError, match=r"a\.arrow.*"):
            list(ds.skip(50_000).batch(500))
        assert all(row["x"] in (rows["x"][0], 0) for row in some)  # what was handed out is there, or zeros
        assert batch is None or len(batch["text"]) == 100


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_damaged_files_yield_rows_or_an_error_that_names_them(tmp_path, stream, compression):
    table = plain(30).select(["z", "name", "list", "flag"])
    content = write(tmp_path / "whole.arrow", table, 11, compression, stream).read_bytes()
    random = np.random.default_rng(1)
    for number in range(60):
        damaged = bytearray(content)
        for _ in range(int(random.integers(1, 5))):
            damaged[int(random.integers(len(damaged)))] = int(random.integers(256))
        path = tmp_path / f"damaged{number}.arrow"
        path.write_bytes(damaged[: int(random.integers(len(damaged)))] if random.random() < 0.2 else damaged)
        try:
            with reported(path.name):
                list(read_arrow(path))
        except PlanError:
            continue
