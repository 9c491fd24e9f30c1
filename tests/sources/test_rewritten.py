"""A file that is written into under its reader: an error that names it, in every format, and never another record."""

from __future__ import annotations

import io
import json
import os
import pickle
import tarfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.tfrecord.writing import framed

COUNT = 600
WRITTEN_TO = (
    "the file was written to since the dataset was made; make the dataset again, and write a new file under another "
    "name and rename it, instead of writing into a file that is read"
)


class Format(NamedTuple):
    name: str
    content: Callable[[int], bytes]
    """The same records for the same number, of as many bytes for any."""
    read: Callable[[Any], ps.Dataset[Any]]


def text(seed: int) -> bytes:
    return b"".join(b"%d-%06d\n" % (seed, i) for i in range(COUNT))


def json_lines(seed: int) -> bytes:
    return b"".join(json.dumps({"x": seed * 1000 + i}).encode() + b"\n" for i in range(COUNT))


def tar(seed: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for i in range(60):
            info = tarfile.TarInfo(f"{i:03d}.txt")
            info.size = 7
            archive.addfile(info, io.BytesIO(b"%d-%05d" % (seed, i)))
    return made.getvalue()


def npy(seed: int) -> bytes:
    made = io.BytesIO()
    np.save(made, np.full((COUNT, 3), seed))
    return made.getvalue()


def npz(seed: int) -> bytes:
    made = io.BytesIO()
    np.savez(made, x=np.full((COUNT, 3), seed))
    return made.getvalue()


def fixed(seed: int) -> bytes:
    return np.full(COUNT, seed, "<i4").tobytes()


def records(seed: int) -> bytes:
    return b"".join(framed(b"%d-%06d" % (seed, i)) for i in range(COUNT))


def csv(seed: int) -> bytes:
    return b"a,b\n" + b"".join(b"%d,%06d\n" % (seed, i) for i in range(COUNT))


def parquet(seed: int) -> bytes:
    pa, made = pytest.importorskip("pyarrow"), io.BytesIO()
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": np.full(COUNT, seed)})
    parquet.write_table(table, made, row_group_size=100, compression="none", use_dictionary=False)
    return made.getvalue()


def arrow(seed: int) -> bytes:
    pa, made = pytest.importorskip("pyarrow"), io.BytesIO()
    with pa.ipc.new_file(made, pa.schema({"x": pa.int64()})) as file:
        file.write_table(pa.table({"x": np.full(COUNT, seed)}), max_chunksize=100)
    return made.getvalue()


def hdf5(seed: int) -> bytes:
    h5py, made = pytest.importorskip("h5py"), io.BytesIO()
    with h5py.File(made, "w") as file:
        file["x"] = np.full((COUNT, 300), seed)
    return made.getvalue()


FORMATS = [
    Format("text", text, ps.read_text),
    Format("json", json_lines, ps.read_json),
    Format("tar", tar, ps.read_tar),
    Format("npy", npy, ps.read_numpy),
    Format("npz", npz, ps.read_numpy),
    Format("fixed", fixed, lambda path: ps.read_fixed_length(path, 4)),
    Format("array", fixed, lambda path: ps.read_fixed_length(path, dtype="<i4")),
    Format("tfrecord", records, ps.read_tfrecord),
    Format("unverified", records, lambda path: ps.read_tfrecord(path, verify=False)),
    Format("csv", csv, lambda path: ps.read_csv(path, block_bytes=500, cache_bytes=1)),
    Format("parquet", parquet, lambda path: ps.read_parquet(path, cache_bytes=1)),
    Format("arrow", arrow, ps.read_arrow),
    Format("hdf5", hdf5, lambda path: ps.read_hdf5(path, columns="x", cache_bytes=1)),
]
every = pytest.mark.parametrize("format", FORMATS, ids=[each.name for each in FORMATS])


def overwrite(path: str, content: bytes) -> None:
    """Write into the file in its place."""
    assert os.path.getsize(path) == len(content)
    with open(path, "r+b", buffering=0) as file:
        file.write(content)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(np.array_equal(one[key], other[key]) for key in one)
    return bool(np.array_equal(one, other))


@every
@pytest.mark.parametrize("workers", [0, 2])
def test_a_rewritten_file_is_an_error_in_any_later_read(tmp_path, format, workers):
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(format.content(1))
    executor = "threads" if workers else "inline"
    ds = format.read(path).with_options(ps.Options(executor=executor, workers=workers or None))
    before = list(ds)
    with ds.shuffle(seed=1).batch(2).iterator() as it:  # more batches than are made in one go
        next(it)
        overwrite(path, format.content(2))
        with pytest.raises(DataError, match=f"{path}: {WRITTEN_TO}"):
            list(it)
    with pytest.raises(DataError, match=f"{path}: {WRITTEN_TO}"):
        ds[len(ds) - 1]
    with pytest.raises(DataError, match=f"{path}: {WRITTEN_TO}"):
        list(ds)
    after = list(format.read(path))
    assert len(after) == len(before)
    assert not any(same(a, b) for a, b in zip(before, after, strict=True))


@every
def test_a_file_rewritten_before_the_first_read_is_an_error(tmp_path, format):
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(format.content(1))
    ds = format.read(path)
    assert len(ds)
    overwrite(path, format.content(2))
    with pytest.raises(DataError, match=f"{path}: {WRITTEN_TO}"):
        ds[0]


@every
def test_a_replaced_file_is_read_in_its_old_form_or_is_an_error(tmp_path, format):
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(format.content(1))
    ds = format.read(path)
    before = list(ds)
    (tmp_path / "new").write_bytes(format.content(2))
    os.replace(tmp_path / "new", path)
    try:
        again = list(ds)
    except DataError as error:
        assert path in str(error)  # noqa: PT017
        assert "replaced by another" in str(error)  # noqa: PT017
    else:
        assert all(same(a, b) for a, b in zip(before, again, strict=True))


@every
def test_a_pickled_source_detects_later_writes(tmp_path, format):
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(format.content(1))
    ds = format.read(path)
    first = ds[0]
    sent = pickle.dumps(ds)
    assert same(pickle.loads(sent)[0], first)
    overwrite(path, format.content(2))
    try:
        found = pickle.loads(sent)[0]
    except DataError as error:
        assert path in str(error)  # noqa: PT017
    else:  # indexed again
        assert same(found, format.read(path)[0])


def test_the_index_of_a_large_file_is_made_again_after_a_write(tmp_path):
    path = str(tmp_path / "lines.txt")
    lines = [b"%05d" % i + b"x" * (i % 50) for i in range(20_000)]
    (tmp_path / "lines.txt").write_bytes(b"\n".join(lines))
    assert ps.read_text(path)[9_000] == lines[9_000].decode()
    lines[7_001:9_000] = lines[7_001:9_000][::-1]  # as many bytes, and lines that begin elsewhere
    overwrite(path, b"\n".join(lines))
    assert list(ps.read_text(path)) == [line.decode() for line in lines]


def test_many_files_of_one_batch_are_checked(tmp_path):
    paths = [str(tmp_path / f"{i}.bin") for i in range(20)]
    for path in paths:
        np.full(50, 1, "<i4").tofile(path)
    ds = ps.read_fixed_length(paths, dtype="<i4").shuffle(seed=0).batch(100)
    assert int(np.sum(list(ds))) == 1000
    overwrite(paths[7], np.full(50, 2, "<i4").tobytes())

    def epochs() -> None:
        while True:  # one of many files is looked at some times a second
            list(ds)

    with pytest.raises(DataError, match=rf"7\.bin: {WRITTEN_TO}"):
        epochs()
