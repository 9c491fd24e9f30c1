"""Compressed files of records of one length."""

from __future__ import annotations

import bz2
import gzip

import numpy as np
import pytest

import penstock as ps
from penstock.testing import verify_resume

RECORDS = np.arange(3000, dtype="<u4")


@pytest.fixture
def path(tmp_path):
    name = tmp_path / "a.bin.gz"
    name.write_bytes(gzip.compress(b"begin" + RECORDS.tobytes() + b"end"))
    return name


def read(path, **settings):
    return ps.read_fixed_length(path, header_bytes=5, footer_bytes=3, **{"compression": "auto", **settings})


def test_records_of_compressed_files_come_in_order(path, tmp_path):
    (tmp_path / "b.bin.gz").write_bytes(gzip.compress(b"begin" + b"abcd" + b"end"))
    assert list(read([path, tmp_path / "b.bin.gz"], record_bytes=4)) == [
        *(RECORDS[i : i + 1].tobytes() for i in range(3000)), b"abcd"
    ]  # fmt: skip
    assert np.array_equal(np.concatenate(list(read(path, dtype="<u4").batch(7))), RECORDS)
    assert next(iter(read(path, dtype=">u4", shape=[2]))).tolist() == RECORDS[:2].byteswap().tolist()
    verify_resume(read(path, dtype="<u4").batch(100), most=5)


@pytest.mark.parametrize("at_once", [1, 2, 5, 12, 13])
def test_reads_of_any_size_give_the_same_records(path, monkeypatch, at_once):
    monkeypatch.setattr("penstock.sources.records.fixed_stream.READ_AT_ONCE", at_once)
    assert list(read(path, record_bytes=12)) == [RECORDS[i : i + 3].tobytes() for i in range(0, 3000, 3)]


def test_plain_files_are_read_at_random_with_compression_auto(tmp_path):
    (tmp_path / "a").write_bytes(b"begin" + b"abcdefgh" + b"end")
    assert read(tmp_path / "a", record_bytes=4)[1] == b"efgh"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"beg", "ends inside the header"),
        (b"begin", "ends with 0 bytes, where a footer of 3"),
        (b"begin" + b"x" * 9, "ends with 5 bytes"),
    ],
)
def test_content_of_the_wrong_size_is_an_error_that_names_the_file(tmp_path, content, reason):
    (tmp_path / "a.bz2").write_bytes(bz2.compress(content))
    with pytest.raises(ps.errors.DataError, match=f"a.bz2: .*{reason}"):
        list(read(tmp_path / "a.bz2", record_bytes=4))


def test_damage_is_an_error_after_the_records_before_it(path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ps.errors.DataError, match=r"a\.bin\.gz"):
        list(read(path, record_bytes=4))
