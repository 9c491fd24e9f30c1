"""TFRecord files as they are written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.sources.tfrecord import TFRECORD, tfrecord_files
from penstock.sources.tfrecord_writing import framed, write
from penstock.storage.indexing import Kind, index_files

# What TensorFlow 2.21's TFRecordWriter wrote of [b"", b"abc", b"\x00" * 3].
GOLDEN = bytes.fromhex(
    "000000000000000029039807d8ea82a20300000000000000b099490e6162636e57f1210300000000000000b099490e000000a1ab77e9"
)


def test_the_frame_is_tensorflow_s():
    assert b"".join(map(framed, [b"", b"abc", bytes(3)])) == GOLDEN


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_are_records(tmp_path, kind):
    (path,) = write([kind(b"abc")], tmp_path / "a.tfrecord", max_bytes=None, overwrite=False, index=True)
    assert Path(path).read_bytes() == framed(b"abc")


@pytest.mark.parametrize("limit", [None, 1, 38, 39])
def test_the_index_is_that_of_a_scan(tmp_path, limit):
    records = [b"x" * i for i in range(7)]
    names = write(records, tmp_path / "a.tfrecord", max_bytes=limit, overwrite=False, index=True)
    written = index_files(names, Kind("tfrecord", dict))  # a scan would fail
    scanned = index_files(names, TFRECORD, refresh=True)
    assert [s.arrays["offsets"].tolist() for s in written] == [s.arrays["offsets"].tolist() for s in scanned]
    source = tfrecord_files(names)
    assert source.read_many(np.arange(source.length)).elements() == records


def test_no_records_are_a_file_without_any(tmp_path):
    (path,) = write([], tmp_path / "a.tfrecord", max_bytes=10, overwrite=False, index=True)
    assert Path(path).read_bytes() == b""
    assert tfrecord_files([path]).length == 0


def test_what_is_no_record_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(ElementError, match="write_tfrecord: element 1 is str, and a record is bytes"):
        write([b"a", "b"], tmp_path / "a.tfrecord", max_bytes=None, overwrite=False, index=True)
    assert os.listdir(tmp_path) == []
