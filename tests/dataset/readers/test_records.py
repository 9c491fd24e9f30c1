"""`ps.read_tfrecord`, `ps.write_tfrecord` and `ps.read_fixed_length` as users meet them."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest

import penstock as ps
from penstock.sources.tfrecord.writing import framed
from penstock.testing.laws import verify_determinism, verify_resume

# What TensorFlow 2.21 wrote of [b"one", b"", b"three" * 20], with compression_type="ZLIB".
BY_TENSORFLOW = bytes.fromhex(
    "789c636680800d333df9f2f352191d4239a0220c9acc33d86fbc6a5a9402e53bc7cbdc2fc9284a4da531c1d4b8de1a006bfe3483"
)


@pytest.fixture
def records(tmp_path):
    made = [f"record {i}".encode() * (i % 4) for i in range(40)]
    names = ps.Dataset.from_source(made).write_tfrecord(tmp_path / "r.tfrecord", max_bytes=400)
    assert len(names) > 2
    return made, str(tmp_path / "r-*.tfrecord")


def test_records_are_read_at_random(records):
    made, pattern = records
    ds = ps.read_tfrecord(pattern)
    assert list(ds) == made
    assert ds[39] == made[39]
    shuffled = list(ds.shuffle(seed=1))
    assert sorted(shuffled) == sorted(made) != shuffled
    verify_resume(ds.shuffle(seed=1).map(len).batch(7), most=8)
    verify_determinism(ds.shuffle(seed=1).map(len).batch(7))


def test_ignore_errors_loses_only_the_damaged_record(tmp_path):
    data = bytearray(framed(b"one") + framed(b"two") + framed(b"three"))
    data[19 + 12] ^= 1
    (tmp_path / "a").write_bytes(data)
    ds = ps.read_tfrecord(tmp_path / "a")
    with pytest.raises(ps.errors.DataError, match=r"record 1, at byte 19 of .*: its content is damaged"):
        list(ds)
    assert list(ds.ignore_errors()) == [b"one", b"three"]
    assert list(ps.read_tfrecord(tmp_path / "a", verify=False)) == [b"one", b"uwo", b"three"]


@pytest.mark.parametrize(("compress", "name"), [(gzip.compress, "GZIP"), (zlib.compress, "ZLIB")])
def test_compressed_files_are_a_stream(tmp_path, compress, name):
    made = [[f"{file} {i}".encode() for i in range(20 * file)] for file in range(4)]
    for file, of_file in enumerate(made):
        (tmp_path / f"{file}.tfrecord.z").write_bytes(compress(b"".join(map(framed, of_file))))
    everything = [record for of_file in made for record in of_file]
    for compression in ("auto", name, name.lower()):
        ds = ps.read_tfrecord(tmp_path / "*.z", compression=compression)
        assert ds.cardinality() == ps.UNKNOWN
        assert list(ds) == everything
    verify_resume(ds.map(len).batch(7), most=8)
    names = ps.Dataset.list_files(tmp_path / "*.z")
    interleaved = names.interleave(ps.read_tfrecord, cycle_length=4)
    assert sorted(interleaved) == sorted(everything)


def test_compressed_and_plain_files_may_be_mixed(tmp_path):
    (tmp_path / "a").write_bytes(framed(b"plain"))
    (tmp_path / "b").write_bytes(gzip.compress(framed(b"compressed")))
    assert list(ps.read_tfrecord([tmp_path / "b", tmp_path / "a"])) == [b"compressed", b"plain"]
    with pytest.raises(ps.errors.DataError, match=r"b: record 0, at byte 0 of \d+: .* it is not a TFRecord"):
        list(ps.read_tfrecord(tmp_path / "b", compression=None))


def test_files_compressed_by_tensorflow_are_read(tmp_path):
    (tmp_path / "a").write_bytes(BY_TENSORFLOW)
    assert list(ps.read_tfrecord(tmp_path / "a")) == [b"one", b"", b"three" * 20]


def test_records_of_fixed_length_are_read(tmp_path):
    np.arange(12, dtype=">u2").tofile(tmp_path / "a.bin")
    ds = ps.read_fixed_length(tmp_path / "a.bin", dtype=">u2", shape=[2, 3])
    assert [element.tolist() for element in ds] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    assert list(ps.read_fixed_length(tmp_path / "a.bin", 8)) == [
        bytes([0, i, 0, i + 1, 0, i + 2, 0, i + 3]) for i in (0, 4, 8)
    ]


def test_wrong_arguments_are_refused(records):
    _, pattern = records
    with pytest.raises(ps.errors.PlanError, match="compression='LZMA'"):
        ps.read_tfrecord(pattern, compression="LZMA")
    with pytest.raises(TypeError, match="verify"):
        ps.read_tfrecord(pattern, verify="yes")
    with pytest.raises(FileNotFoundError):
        ps.read_tfrecord(pattern + "x")
    names = ps.Dataset.from_source([b"x"]).write_tfrecord(pattern.replace("-*", ""))
    with pytest.raises(FileExistsError):
        ps.Dataset.from_source([b"y"]).write_tfrecord(names[0])
