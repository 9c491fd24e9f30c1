"""Indexes that are cut short in their place while they are used: each reader ends in an error, and no process."""

from __future__ import annotations

import os

import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.tfrecord.writing import framed

COUNT = 20_000  # whose offsets are more than is read into memory


def tfrecord(path):
    path.write_bytes(b"".join(framed(b"%d" % i) for i in range(COUNT)))
    return ps.read_tfrecord


def lines(path):
    path.write_text("".join(f"line {i}\n" for i in range(COUNT)))
    return ps.read_text


def tar(path):
    ps.Dataset.from_source([{"__key__": f"{i:06}", "txt": b"%d" % i} for i in range(COUNT // 4)]).write_tar(str(path))
    return ps.read_tar


def seekable(path):
    pytest.importorskip("zstandard")
    ps.Dataset.from_source([b"%d" % i for i in range(COUNT)]).write_tfrecord(str(path), compression="zstd")
    return ps.read_tfrecord


@pytest.mark.parametrize("size", [0, 4096, 1 << 16])
@pytest.mark.parametrize("write", [tfrecord, lines, tar, seekable])
def test_reading_from_a_truncated_index_is_an_error(tmp_path, write, size):
    path = str(tmp_path / "data")
    read = write(tmp_path / "data")
    whole = list(read(path))
    ds = read(path)
    assert ds[0] == whole[0]
    (index,) = tmp_path.rglob("*.psindex")
    assert index.stat().st_size > (1 << 16) + 5000
    os.truncate(index, size)
    for order in (lambda: ds, lambda: ds.shuffle(seed=1), lambda: ds.skip(len(whole) // 2)):
        with pytest.raises(DataError, match=f"{index.name}: the file was cut short|its index"):
            list(order().batch(64))
    assert list(read(path)) == whole  # the index was made again
    assert index.stat().st_size > 1 << 16
