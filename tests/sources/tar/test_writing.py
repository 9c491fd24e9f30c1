"""Archives written from samples: read by Python's tarfile, the same bytes each time."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from penstock.core.errors import ElementError, PlanError
from penstock.sources.tar.archives import tar_files
from penstock.sources.tar.decoders import Decoders
from penstock.sources.tar.writing import write_archives
from tests.sources.archives import read_by_tarfile


def write_all(samples, path, *, max_bytes=None, overwrite=False, index=True, encoders=None):
    return write_archives(samples, path, max_bytes=max_bytes, overwrite=overwrite, index=index, encoders=encoders or {})


def contents(path):
    return dict(read_by_tarfile(Path(path).read_bytes()))


def test_values_are_encoded_by_their_type(tmp_path):
    array = np.arange(3)
    sample = {
        "__key__": "d/1", "__url__": "left out", "jpg": b"\xff", "txt": "é", "cls": 7, "id": np.int64(8), "count": True,
        "score": np.float32(0.5), "json": {"a": [1]}, "npy": array, "raw": bytearray(b"x"), "none": None,
        "y.cls": array[1],
    }  # fmt: skip
    (path,) = write_all([sample], tmp_path / "a.tar")
    found = contents(path)
    npy = found.pop("d/1.npy")
    assert np.array_equal(np.load(io.BytesIO(npy)), array)
    assert found == {
        "d/1.jpg": b"\xff", "d/1.txt": "é".encode(), "d/1.cls": b"7", "d/1.id": b"8", "d/1.count": b"1",
        "d/1.score": b"0.5", "d/1.json": json.dumps({"a": [1]}).encode(), "d/1.raw": b"x", "d/1.y.cls": b"1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "key", ["a", "d/" * 80 + "x", "é" * 60, "x" * 95, "x" * 96, "x" * 97, "d/" * 40 + "x" * 60], ids=len
)
@pytest.mark.parametrize("size", [0, 1, 511, 512, 513])
def test_any_name_and_size_is_read_back(tmp_path, key, size):
    (path,) = write_all([{"__key__": key, "txt": b"x" * size}, {"__key__": "z", "txt": b"y"}], tmp_path / "a.tar")
    assert contents(path) == {f"{key}.txt": b"x" * size, "z.txt": b"y"}
    source = tar_files([path], None, Decoders(False))
    assert source.read_many(np.arange(2)).elements()[0] == {"__key__": key, "txt": b"x" * size}


def test_the_same_samples_give_the_same_bytes_without_time_or_owner(tmp_path):
    paths = [write_all([{"cls": i} for i in range(9)], tmp_path / name)[0] for name in ("a.tar", "b.tar")]
    first, second = (Path(path).read_bytes() for path in paths)
    assert first == second
    with tarfile.open(paths[0]) as tar:
        assert {(info.mtime, info.uid, info.gid, info.uname, info.mode) for info in tar} == {(0, 0, 0, "", 0o644)}
        assert [info.name for info in tar][:2] == ["00000000.cls", "00000001.cls"]


def test_shards_are_whole_samples_with_an_index_each(tmp_path):
    names = write_all([{"a": b"x", "b": b"y"}] * 5, tmp_path / "s.tar", max_bytes=2048)
    assert [os.path.basename(name) for name in names] == [f"s-{i:05d}-of-00005.tar" for i in range(5)]
    assert sorted(os.listdir(tmp_path)) == sorted([".penstock", *map(os.path.basename, names)])
    assert sorted(os.listdir(tmp_path / ".penstock")) == sorted(f"{os.path.basename(n)}.psindex" for n in names)
    assert tar_files(names, None, Decoders(False)).length == 5
    write_all([{"a": b""}], tmp_path / "alone.tar", index=False)
    assert "alone.tar.psindex" not in os.listdir(tmp_path / ".penstock")


def test_an_empty_dataset_becomes_an_empty_archive(tmp_path):
    (path,) = write_all([], tmp_path / "a.tar")
    assert contents(path) == {}
    assert tar_files([path], None, Decoders(False)).length == 0


def test_users_encoders_are_applied(tmp_path):
    (path,) = write_all([{"x": {1}, "cls": 3}], tmp_path / "a.tar", encoders={"x": str, "cls": lambda n: b"c" * n})
    assert contents(path) == {"00000000.x": b"{1}", "00000000.cls": b"ccc"}
    with pytest.raises(KeyError) as caught:
        write_all([{"x": 1}], tmp_path / "b.tar", encoders={"x": {}.__getitem__})
    assert caught.value.__notes__ == ["write_tar: element 0: encoding 'x'"]
    with pytest.raises(ElementError, match="the encoder of 'x' returned int"):
        write_all([{"x": 1}], tmp_path / "b.tar", encoders={"x": int})
    with pytest.raises(PlanError, match="expected a function for 'x'"):
        write_all([], tmp_path / "b.tar", encoders={"x": 3})


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ((1, 2), "element 1 is tuple, not a dict"),
        ({1: b""}, "element 1 is dict"),
        ({}, "nothing to write"),
        ({"__key__": "a", "txt": None}, "nothing to write"),
        ({"__key__": "a.b", "txt": ""}, "key 'a.b'"),
        ({"__key__": "d/", "txt": ""}, "key 'd/'"),
        ({"__key__": "", "txt": ""}, "key ''"),
        ({"__key__": "first", "txt": ""}, "the same key 'first' as the element before"),
        ({"JPG": b""}, "an entry 'JPG'"),
        ({".jpg": b""}, "an entry '.jpg'"),
        ({"a/b": b""}, "an entry 'a/b'"),
        ({"jpg": np.zeros(3)}, "'jpg' is ndarray, and a file holds bytes"),
        ({"txt.gz": "text"}, "'txt.gz' is str"),
    ],
)
def test_invalid_samples_are_named_and_leave_no_file(tmp_path, sample, reason):
    with pytest.raises(ElementError, match=f"write_tar: .*{reason}"):
        write_all([{"__key__": "first", "txt": "1"}, sample], tmp_path / "a.tar")
    assert os.listdir(tmp_path) == []
