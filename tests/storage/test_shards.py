"""Files written in shards: all there under their names, or none."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from penstock.storage.compression import decompress
from penstock.storage.indexing import IndexKind, index_files, index_path
from penstock.storage.shards import Shards, shard_names

KIND = IndexKind("bin", dict, lambda arrays, size: True)


def write(path, *pieces, **options):
    with Shards(path, **options) as shards:
        for piece in pieces:
            shards.open()[0].write(piece)
    return [os.path.basename(name) for name in shards.names]


def test_without_a_limit_there_is_one_file(tmp_path):
    assert write(tmp_path / "new" / "a.bin", b"one", b"two") == ["a.bin"]
    assert (tmp_path / "new" / "a.bin").read_bytes() == b"onetwo"


@pytest.mark.parametrize(("limit", "contents"), [(1, [b"abc"] * 4), (3, [b"abc"] * 4), (4, [b"abcabc"] * 2)])
def test_a_file_is_closed_once_it_holds_the_limit(tmp_path, limit, contents):
    names = write(tmp_path / "a.b.bin", *[b"abc"] * 4, max_bytes=limit)
    assert names == [f"a.b-{i:05d}-of-{len(contents):05d}.bin" for i in range(len(contents))]
    assert [(tmp_path / name).read_bytes() for name in names] == contents
    assert sorted(os.listdir(tmp_path)) == names


def test_each_file_ends_with_the_end(tmp_path):
    names = write(tmp_path / "a.bin", b"one", b"two", max_bytes=3, end=b"!")
    assert [(tmp_path / name).read_bytes() for name in names] == [b"one!", b"two!"]


def test_an_error_leaves_no_file(tmp_path):
    with pytest.raises(KeyError), Shards(tmp_path / "a.bin", max_bytes=3) as shards:  # noqa: PT012
        for _ in range(3):
            shards.open()[0].write(b"abc")
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_existing_files_stay_unless_overwrite_is_set(tmp_path):
    write(tmp_path / "a.bin", b"old")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(tmp_path / "a.bin", b"new")
    write(tmp_path / "b.bin", b"x", b"y", max_bytes=1)
    with pytest.raises(FileExistsError):
        write(tmp_path / "b.bin", b"n", b"m", max_bytes=1)
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert (tmp_path / "b-00000-of-00002.bin").read_bytes() == b"x"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    write(tmp_path / "a.bin", b"new", overwrite=True)
    assert (tmp_path / "a.bin").read_bytes() == b"new"


def test_shards_of_a_run_with_another_number_are_refused_or_replaced(tmp_path):
    path = f"{tmp_path}//a.bin"
    write(path, b"1", b"2", b"3", max_bytes=1)
    others = ["a.bin", "a-b-00000-of-00003.bin", "a-00000-of-00003.tar", "a-3-of-3.bin"]
    for name in others:
        (tmp_path / name).write_bytes(b"of another")
    os.makedirs(os.path.dirname(index_path(str(tmp_path / "a-00002-of-00003.bin"), KIND)))
    Path(index_path(str(tmp_path / "a-00002-of-00003.bin"), KIND)).write_bytes(b"")
    with pytest.raises(FileExistsError, match=r"a-00000-of-00003\.bin exists already.*earlier run.*overwrite=True"):
        Shards(path, max_bytes=9).__enter__()  # before any work
    write(path, b"4", b"5", max_bytes=1, overwrite=True)
    new = ["a-00000-of-00002.bin", "a-00001-of-00002.bin"]
    assert sorted(os.listdir(tmp_path)) == sorted([".penstock", *new, *others])
    assert os.listdir(tmp_path / ".penstock") == []
    assert [(tmp_path / name).read_bytes() for name in new] == [b"4", b"5"]


def test_an_index_is_written_with_them(tmp_path):
    with Shards(tmp_path / "a.bin") as shards:
        shards.open()[0].write(b"abc")
        shards.index(0, KIND, {"offsets": np.arange(2)})
        assert not os.path.exists(index_path(str(tmp_path / "a.bin"), KIND))
    (sidecar,) = index_files([str(tmp_path / "a.bin")], KIND)  # a scan would fail
    assert sidecar.arrays["offsets"].tolist() == [0, 1]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "a.bin", b"abc")
    assert os.listdir(tmp_path) == []


def test_wrong_limits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="max_bytes=0: expected at least 1"):
        Shards(tmp_path / "a", max_bytes=0)


def test_the_home_folder_of_a_path_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write("~/a.bin", b"x")
    assert Path(tmp_path / "a.bin").exists()


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_compressed_files_have_the_same_content_and_bytes_each_time(tmp_path, compression):
    options = {"max_bytes": 3, "end": b"!", "compression": compression}
    names = write(tmp_path / "a.bin.gz", b"one", b"two", **options)
    assert names == ["a-00000-of-00002.bin.gz", "a-00001-of-00002.bin.gz"]
    contents = [decompress((tmp_path / name).read_bytes(), compression, name) for name in names]
    assert contents == [b"one!", b"two!"]
    again = write(tmp_path / "b.bin.gz", b"one", b"two", **options)
    for one, other in zip(names, again, strict=True):
        assert (tmp_path / one).read_bytes() == (tmp_path / other).read_bytes()


def test_the_extension_of_a_compression_stays_at_the_end():
    assert shard_names("a/b.c.tar.ZST", 1) == ["a/b.c-00000-of-00001.tar.ZST"]
    assert shard_names("a.gz", 1) == ["a-00000-of-00001.gz"]
    assert shard_names("a.b/c", 1) == ["a.b/c-00000-of-00001"]
    assert shard_names("a.b.c", 1) == ["a.b-00000-of-00001.c"]
