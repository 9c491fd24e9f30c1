"""The file readers of `tf.data`, by its names and call forms."""

from __future__ import annotations

import gzip
import zlib

import pytest

from penstock import Dataset
from penstock import tf_data as data
from penstock.testing import verify_resume


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "b.txt").write_bytes(b"three\n\nfo\rur")
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n")
    return tmp_path


def test_lines_come_in_the_order_of_the_files_given(texts):
    names = [str(texts / "b.txt"), str(texts / "a.txt")]
    lines = [b"three", b"", b"fo\rur", b"one", b"two"]
    assert list(data.TextLineDataset(names, buffer_size=10, num_parallel_reads=data.AUTOTUNE, name="lines")) == lines
    assert list(data.TextLineDataset(data.Dataset.from_source(names))) == lines
    assert list(data.TextLineDataset(texts / "a.txt").skip(1)) == [b"two"]


def test_records_of_one_length_between_header_and_footer(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(b"<" + name.encode() * 6 + b">>")
    names = [str(tmp_path / "b"), str(tmp_path / "a")]
    ds = data.FixedLengthRecordDataset(names, 3, 1, 2, 262144, "", None, "records")
    assert list(ds) == [b"bbb", b"bbb", b"aaa", b"aaa"]
    assert isinstance(ds.batch(2, name="pairs"), data.Dataset)
    with pytest.raises(ValueError, match="has 9 bytes"):
        data.FixedLengthRecordDataset(names, 4)


def test_records_come_in_the_order_of_the_files_given(tmp_path):
    Dataset.from_source([b"one", b"two"]).write_tfrecord(tmp_path / "b")
    Dataset.from_source([b"three"]).write_tfrecord(tmp_path / "a")
    names = [str(tmp_path / "b"), str(tmp_path / "a")]
    for compression in (None, "", "NONE"):
        ds = data.TFRecordDataset(names, compression, buffer_size=10, num_parallel_reads=2, name="records")
        assert list(ds.skip(1)) == [b"two", b"three"]
    (tmp_path / "c").write_bytes(zlib.compress((tmp_path / "b").read_bytes()))
    for compression in (None, "ZLIB"):
        assert list(data.TFRecordDataset(tmp_path / "c", compression)) == [b"one", b"two"]
    with pytest.raises(ValueError, match="expected 'auto', None, or one of 'gzip'"):
        data.TFRecordDataset(names, "LZ4X")


def test_compressed_lines_come_in_order(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\r\ntwo"))
    assert list(data.TextLineDataset(tmp_path / "a.gz", "GZIP").repeat(2)) == [b"one", b"two"] * 2


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_records_of_one_length_come_in_order_and_resume(tmp_path, compression):
    packed = gzip.compress if compression == "GZIP" else zlib.compress
    for name in "ab":
        (tmp_path / name).write_bytes(
            packed(b"head" + b"".join(b"%s%03d" % (name.encode(), i) for i in range(50)) + b"ft")
        )
    names = [str(tmp_path / name).encode() for name in "ba"]
    ds = data.FixedLengthRecordDataset(names, 4, 4, 2, compression_type=compression)
    assert list(ds) == [f"{name}{i:03d}".encode() for name in "ba" for i in range(50)]
    verify_resume(ds.batch(7), most=4)


def test_unsupported_arguments_are_refused(texts):
    with pytest.raises(ValueError, match="compression='zip'"):
        data.TextLineDataset(texts / "a.txt", "zip")
    with pytest.raises(ValueError, match="compression='zip'"):
        data.FixedLengthRecordDataset(texts / "a.txt", 1, compression_type="zip")
    with pytest.raises(TypeError, match="name="):
        data.TextLineDataset(texts / "a.txt", name=3)
    with pytest.raises(ValueError, match=r"FixedLengthRecordDataset\(record_bytes=0\)"):
        data.FixedLengthRecordDataset(texts / "a.txt", 0)
