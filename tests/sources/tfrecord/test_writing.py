"""TFRecord files as they are written."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ElementError, PlanError
from penstock.sources.tfrecord.files import TFRECORD, tfrecord_files
from penstock.sources.tfrecord.seekable import TFRECORD_ZSTD
from penstock.sources.tfrecord.writing import framed, write_record_files
from penstock.storage.indexing import index_files

# What TensorFlow 2.21's TFRecordWriter wrote of [b"", b"abc", b"\x00" * 3].
GOLDEN = bytes.fromhex(
    "000000000000000029039807d8ea82a20300000000000000b099490e6162636e57f1210300000000000000b099490e000000a1ab77e9"
)


def test_the_frame_equals_that_of_tensorflow():
    assert b"".join(map(framed, [b"", b"abc", bytes(3)])) == GOLDEN


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_can_be_records(tmp_path, kind):
    (path,) = write_record_files([kind(b"abc")], tmp_path / "a.tfrecord", max_bytes=None, overwrite=False, index=True)
    assert Path(path).read_bytes() == framed(b"abc")


@pytest.mark.parametrize("limit", [None, 1, 38, 39])
def test_the_written_index_equals_that_of_a_scan(tmp_path, limit):
    records = [b"x" * i for i in range(7)]
    names = write_record_files(records, tmp_path / "a.tfrecord", max_bytes=limit, overwrite=False, index=True)
    written = index_files(names, replace(TFRECORD, scan=dict))  # a scan would fail
    scanned = index_files(names, TFRECORD, refresh=True)
    assert [s.arrays["offsets"].tolist() for s in written] == [s.arrays["offsets"].tolist() for s in scanned]
    source = tfrecord_files(names)
    assert source.read_many(np.arange(source.length)).elements() == records


def test_an_empty_dataset_becomes_an_empty_file(tmp_path):
    (path,) = write_record_files([], tmp_path / "a.tfrecord", max_bytes=10, overwrite=False, index=True)
    assert Path(path).read_bytes() == b""
    assert tfrecord_files([path]).length == 0


def test_values_that_are_no_records_are_named_and_leave_no_file(tmp_path):
    with pytest.raises(ElementError, match="write_tfrecord: element 1 is str, not bytes"):
        write_record_files([b"a", "b"], tmp_path / "a.tfrecord", max_bytes=None, overwrite=False, index=True)
    assert os.listdir(tmp_path) == []


RECORDS = [random.Random(i).randbytes(i * 37 % 3000) for i in range(500)]


@pytest.mark.parametrize("compression", [None, "gzip", "ZLIB", "zstd"])
@pytest.mark.parametrize("limit", [None, 100_000])
def test_compressed_records_are_read_back(tmp_path, compression, limit):
    if compression == "zstd":
        pytest.importorskip("zstandard")
    names = ps.Dataset.from_source(RECORDS).write_tfrecord(
        tmp_path / "a.tfrecord", max_bytes=limit, compression=compression
    )
    assert (len(names) > 5) == (limit is not None)
    ds = ps.read_tfrecord(names)
    assert list(ds) == RECORDS
    if compression in (None, "zstd"):
        assert [ds[i] for i in (0, 499, 250)] == [RECORDS[i] for i in (0, 499, 250)]
        assert sorted(ds.shuffle(seed=0)) == sorted(RECORDS)
    again = ps.Dataset.from_source(RECORDS).write_tfrecord(
        tmp_path / "b.tfrecord", max_bytes=limit, compression=compression
    )
    assert [Path(name).read_bytes() for name in names] == [Path(name).read_bytes() for name in again]


def test_the_written_index_of_frames_equals_that_of_a_scan(tmp_path, monkeypatch):
    pytest.importorskip("zstandard")
    monkeypatch.setattr("penstock.storage.compressing.FRAME_BYTES", 5000)
    names = ps.Dataset.from_source(RECORDS).write_tfrecord(tmp_path / "a.tfrecord.zst", max_bytes=300_000)
    written = index_files(names, replace(TFRECORD_ZSTD, scan=dict))  # a scan would fail
    scanned = index_files(names, TFRECORD_ZSTD, refresh=True)
    for one, other in zip(written, scanned, strict=True):
        assert {name: array.tolist() for name, array in one.arrays.items()} == {
            name: array.tolist() for name, array in other.arrays.items()
        }
        assert set(one.arrays["content"]) <= set(one.arrays["offsets"])  # frames begin with records
        assert np.diff(one.arrays["content"]).max() <= 5000
    assert len(written[0].arrays["content"]) > 10


@pytest.mark.parametrize(
    ("name", "begins"), [("a.gz", b"\x1f\x8b"), ("a.tfrecord.zst", b"\x28\xb5\x2f\xfd"), ("a.tfrecord", b"\3\0")]
)
def test_the_name_selects_the_compression(tmp_path, name, begins):
    pytest.importorskip("zstandard")
    (path,) = ps.Dataset.from_source([b"abc"]).write_tfrecord(tmp_path / name)
    assert Path(path).read_bytes().startswith(begins)
    (plain,) = ps.Dataset.from_source([b"abc"]).write_tfrecord(tmp_path / "none" / name, compression=None)
    assert Path(plain).read_bytes() == framed(b"abc")


@pytest.mark.parametrize("compression", ["gzip", "zlib", "zstd"])
def test_an_empty_dataset_becomes_an_empty_compressed_file(tmp_path, compression):
    if compression == "zstd":
        pytest.importorskip("zstandard")
    (path,) = ps.Dataset.from_source([]).write_tfrecord(tmp_path / "a.tfrecord", compression=compression)
    assert Path(path).stat().st_size > 0
    assert list(ps.read_tfrecord(path)) == []


@pytest.mark.parametrize(("name", "compression"), [("a.tfrecord", "lz4"), ("a.tfrecord.bz2", "auto")])
def test_unsupported_compressions_are_refused_before_any_work(tmp_path, name, compression):
    with pytest.raises(PlanError, match="write_tfrecord writes gzip, zlib, zstd or uncompressed files"):
        ps.Dataset.from_source([b"abc"]).write_tfrecord(tmp_path / name, compression=compression)
    assert os.listdir(tmp_path) == []
