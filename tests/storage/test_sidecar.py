"""Index files: what was saved comes back, damage is refused, and a changed file is noticed."""

from __future__ import annotations

import json
import os
import random
import struct

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.kernels.records import crc32c
from penstock.storage.sidecar import Sidecar, Stamp, check_mapped

STAMP = Stamp(10, 20, "ab")
SOURCE = {"size": 1, "mtime_ns": 1, "digest": ""}


def saved(path, **arrays):
    Sidecar("tfrecord", {"x": 1}, STAMP, arrays).save(str(path))
    return str(path)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100_000])
def test_a_saved_index_is_loaded_unchanged(tmp_path, count):
    arrays = {
        "offsets": np.arange(count),
        "kinds": np.arange(count, dtype=np.int32)[::-1],
        "pairs": np.ones((count, 2)),
    }
    found = Sidecar.load(saved(tmp_path / "i", **arrays))
    assert (found.format, found.parameters, found.stamp) == ("tfrecord", {"x": 1}, STAMP)
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
        assert not found.arrays[name].size or not found.arrays[name].flags.writeable


def test_arrays_are_mapped_at_aligned_places_by_one_map_for_all(tmp_path):
    path = saved(tmp_path / "i", a=np.arange(3, dtype=np.uint8), b=np.arange(10_000), c=np.arange(10_000))
    found = Sidecar.load(path)
    with open("/proc/self/maps") as maps:
        assert sum(path in line for line in maps) == 1
    assert found.arrays["b"].ctypes.data % 64 == 0
    assert found.arrays["c"].ctypes.data % 64 == 0


def test_small_indexes_are_read_and_outlive_their_file(tmp_path):
    path = saved(tmp_path / "i", a=np.arange(1000))
    found = Sidecar.load(path)
    os.truncate(path, 10)
    assert found.arrays["a"].tolist() == list(range(1000))
    assert found.arrays["a"].flags.aligned


def test_large_truncated_indexes_are_an_error_when_read(tmp_path):
    path = saved(tmp_path / "i", a=np.arange(1, 100_001))
    found, other = Sidecar.load(path), Sidecar.load(saved(tmp_path / "j", a=np.arange(100_000)))
    os.truncate(path, 1 << 16)
    assert found.arrays["a"][:100].tolist() == list(range(1, 101))
    check_mapped([other, found])
    assert found.arrays["a"][-1] == 0
    check_mapped([other])
    with pytest.raises(DataError, match=f"{path}: the file was cut short"):
        check_mapped([other, found])
    with pytest.raises(DataError, match="damaged: it was cut short"):
        Sidecar.load(path)


def test_a_failed_write_leaves_no_part(tmp_path, monkeypatch):
    path = saved(tmp_path / "i", a=np.arange(3))
    before = (tmp_path / "i").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        saved(tmp_path / "i", a=np.arange(5))
    assert os.listdir(tmp_path) == ["i"]
    assert (tmp_path / "i").read_bytes() == before
    assert len(Sidecar.load(path).arrays["a"]) == 3


def test_any_damage_is_refused_or_harmless(tmp_path):
    path = saved(tmp_path / "i", a=np.arange(40), b=np.arange(5, dtype=np.int32))
    whole = (tmp_path / "i").read_bytes()
    draw = random.Random(0)
    for _ in range(400):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        (tmp_path / "i").write_bytes(data[: draw.choice([len(data), draw.randrange(len(data))])])
        try:
            found = Sidecar.load(path)
        except DataError as error:
            assert path in str(error)  # noqa: PT017 - only where it raises
        else:  # between the arrays, or in the four bytes of the head that are not used
            assert np.array_equal(found.arrays["a"], np.arange(40))
            assert np.array_equal(found.arrays["b"], np.arange(5))


@pytest.mark.parametrize(
    "described",
    [
        [],
        {},
        {"format": "x", "parameters": {}, "source": {}, "sections": []},
        {"format": "x", "parameters": {}, "source": SOURCE, "sections": [{}]},
        *(
            {
                "format": "x",
                "parameters": {},
                "source": SOURCE,
                "sections": [{"name": "a", "dtype": dtype, "shape": shape, "offset": offset, "crc32c": 0}],
            }
            for dtype, shape, offset in [
                ("<i8", [1 << 62, 4], 0), ("<i8", [-1], 0), ("O", [1], 0), ("nothing", [1], 0), ("<i8", [1], -99999),
                ("<i8", "ab", 0), ("<i8", [1.5], 0), ("<i8", [1], 1 << 70),
                (",", [1], 0), ("(3,)<i8", [1], 0), ([["a", "<i8"]], [1], 0), ("V0", [1 << 60], 0), (None, [1], 0),
            ]
        ),
        *(
            {"format": "x", "parameters": parameters, "source": source, "sections": []}
            for parameters, source in [
                (None, SOURCE), ([1], SOURCE), ({}, SOURCE | {"size": "1"}), ({}, SOURCE | {"size": 1.0}),
                ({}, SOURCE | {"mtime_ns": None}), ({}, SOURCE | {"more": 1}),
            ]
        ),
    ],
)  # fmt: skip
def test_an_invalid_description_is_refused(tmp_path, described):
    text = json.dumps(described).encode()
    head = struct.pack("<8sIII4x", b"PSINDEX\n", 1, len(text), crc32c(text))
    (tmp_path / "i").write_bytes(head + text + bytes(64))
    with pytest.raises(DataError, match="damaged"):
        Sidecar.load(str(tmp_path / "i"))


def test_a_description_nested_beyond_all_bounds_is_refused(tmp_path):
    text = b"[" * 200_000
    head = struct.pack("<8sIII4x", b"PSINDEX\n", 1, len(text), crc32c(text))
    (tmp_path / "i").write_bytes(head + text)
    with pytest.raises(DataError, match="damaged"):
        Sidecar.load(str(tmp_path / "i"))


def test_other_files_and_newer_indexes_are_refused(tmp_path):
    path = saved(tmp_path / "i", a=np.arange(3))
    data = bytearray((tmp_path / "i").read_bytes())
    data[8] = 2
    (tmp_path / "i").write_bytes(data)
    with pytest.raises(DataError, match="an index of version 2; this Penstock reads version 1"):
        Sidecar.load(path)
    for content in (b"", b"PSINDEX", b"something else altogether" * 5):
        (tmp_path / "i").write_bytes(content)
        with pytest.raises(DataError, match="not an index file"):
            Sidecar.load(path)


# Stamps


@pytest.mark.parametrize("size", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 1 << 17, (1 << 17) + 1, 1_000_000])
def test_a_stamp_recognizes_its_file(tmp_path, size):
    path = tmp_path / "data"
    content = random.Random(size).randbytes(size)
    path.write_bytes(content)
    stamp = Stamp.of(str(path))
    assert stamp.is_of(str(path))
    path.write_bytes(content)  # touched, or copied
    os.utime(path, ns=(1, 1))
    assert stamp.is_of(str(path))
    path.write_bytes(content + b"x")
    assert not stamp.is_of(str(path))
    for at in {0, size // 2, size - 1} if 0 < size <= 1 << 17 else {0, size - 1} & set(range(size)):
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        os.utime(path, ns=(2, 2))
        assert not stamp.is_of(str(path))
