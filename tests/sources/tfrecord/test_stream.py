"""Records of compressed TFRecord files: all of them in order, bounded, damage named."""

from __future__ import annotations

import gzip
import os
import random
import struct
import zlib

import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.kernels.records import masked_crc32c
from penstock.sources.tfrecord import stream as room
from penstock.sources.tfrecord.stream import TfRecordStream, compression_of_tfrecord
from penstock.sources.tfrecord.writing import framed
from tests.allocations import allocated

COMPRESS = {"gzip": gzip.compress, "zlib": zlib.compress, None: bytes}


def records_of(path, compression="gzip", **options):
    stream = TfRecordStream([str(path)], [compression], "x", **options)
    return [record for chunk in stream.read(0) for record in chunk.elements()]


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("sizes", [[], [0], [1, 0, 5], [20] * 100_000, [3_000_000, 7, 1 << 20, (1 << 20) - 16]])
def test_every_record_comes_in_order(tmp_path, compression, sizes):
    draw = random.Random(0)
    records = [draw.randbytes(size) for size in sizes]
    (tmp_path / "a").write_bytes(COMPRESS[compression](b"".join(map(framed, records))))
    assert records_of(tmp_path / "a", compression) == records


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (framed(b"abc") + framed(b"de")[:-1], "record 1, at byte 19 of its content: the file ends inside it"),
        (framed(b"abc") + b"\1", "record 1, at byte 19 of its content: the file ends inside it"),
        (framed(b"abc") + bytes(30), "record 1, at byte 19 of its content: the checksum of its length does not match"),
        (
            framed(b"abc")[:13] + b"X" + framed(b"abc")[14:],
            "record 0, at byte 0 of its content: its content is damaged",
        ),
    ],
)
def test_damage_is_named_after_earlier_records(tmp_path, content, reason):
    (tmp_path / "a").write_bytes(gzip.compress(content))
    got = []
    with pytest.raises(DataError, match=f"a: {reason}"):
        got.extend(
            x for chunk in TfRecordStream([str(tmp_path / "a")], ["gzip"], "x").read(0) for x in chunk.elements()
        )
    assert got == ([] if "record 0" in reason else [b"abc"])


def test_checksums_of_records_may_be_left_unchecked(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(framed(b"abc")[:13] + b"X" + framed(b"abc")[14:]))
    assert records_of(tmp_path / "a", verify=False) == [b"aXc"]


def test_a_truncated_file_is_named_with_the_offset(tmp_path):
    whole = gzip.compress(b"".join(framed(os.urandom(100)) for _ in range(1000)))
    (tmp_path / "a").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=f"a, at byte {len(whole) // 2}: the file ends inside the gzip stream"):
        records_of(tmp_path / "a")


def test_a_length_takes_no_memory_before_its_content(tmp_path, monkeypatch):
    def claiming(length):
        head = struct.pack("<Q", length)
        return gzip.compress(head + struct.pack("<I", masked_crc32c(head)) + bytes(3_000_000))

    (tmp_path / "a").write_bytes(claiming(1 << 30))
    with allocated() as memory, pytest.raises(DataError, match="record 0, at byte 0 of its content: the file ends"):
        records_of(tmp_path / "a")
    assert memory.most < 30_000_000
    (tmp_path / "a").write_bytes(claiming((1 << 30) + 1))
    with pytest.raises(DataError, match="record 0, at byte 0 of its content: it has 1073741825 bytes; records of"):
        records_of(tmp_path / "a")
    monkeypatch.setattr(room, "LARGEST", 10)


def test_compression_is_detected_by_the_first_bytes(tmp_path):
    data = framed(b"abc")
    for compression, compress in COMPRESS.items():
        for level in (1, 6, 9) if compression == "zlib" else (None,):
            made = compress(data) if level is None else compress(data, level)
            (tmp_path / "a").write_bytes(made)
            assert compression_of_tfrecord(str(tmp_path / "a")) == compression
    (tmp_path / "a").write_bytes(b"")
    assert compression_of_tfrecord(str(tmp_path / "a")) is None


def test_a_plain_file_with_the_name_of_a_compressed_one_is_an_error(tmp_path):
    (tmp_path / "a.tfrecord.gz").write_bytes(framed(b"abc"))
    with pytest.raises(DataError, match=r"its name ends in \.gz, but its first bytes are not gzip"):
        ps.read_tfrecord(tmp_path / "a.tfrecord.gz")
    assert list(ps.read_tfrecord(tmp_path / "a.tfrecord.gz", compression=None)) == [b"abc"]
    (tmp_path / "b.tfrecord").write_bytes(framed(b"b"))
    with pytest.raises(DataError, match="its first bytes are not gzip"):
        list(ps.read_tfrecord(tmp_path / "*.tfrecord*"))


@pytest.mark.parametrize("length", [0x8B1F, 0x9C78, 0x685A42])
def test_a_plain_file_is_never_read_as_compressed(tmp_path, length):
    (tmp_path / "a").write_bytes(framed(bytes(length)))  # begins with the magic of gzip, zlib or bzip2
    assert compression_of_tfrecord(str(tmp_path / "a")) is None


def test_the_fingerprint_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(framed(b"abc"), mtime=0))
    (tmp_path / "b").write_bytes(gzip.compress(framed(b"abd"), mtime=0))
    one, same, other = (TfRecordStream([str(tmp_path / name)], ["gzip"], name) for name in "aab")
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
