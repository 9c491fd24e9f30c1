"""MDS folders: what their encodings become, what does not fit, and that the package reads the same."""

from __future__ import annotations

import json
import struct
from decimal import Decimal

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.shards.mds import array_of, mds_samples
from penstock.testing.sources import verify_source
from tests.sources.shard_files import changed_index, mds, simple_mds, sized, u32

PICTURE = u32(2, 1, 3) + b"RGB" + bytes(range(6))
ENCODED = {
    "bytes": (b"ab\0", b"ab\0"),
    "str": ("é".encode(), "é"),
    "int": (struct.pack("<q", -3), -3),
    "uint8": (b"\xff", np.uint8(255)),
    "uint64": (b"\xff" * 8, np.uint64(2**64 - 1)),
    "int16": (b"\xfe\xff", np.int16(-2)),
    "float16": (b"\0\x3c", np.float16(1)),
    "float64": (struct.pack("<d", 0.1), 0.1),
    "str_int": (b"-12", -12),
    "str_float": (b"1e-3", 0.001),
    "str_decimal": (b"0.10", "0.10"),
    "json": (b'{"a": [1, null]}', {"a": [1, None]}),
    "jpeg": (b"\xff\xd8", b"\xff\xd8"),
    "png": (b"\x89PNG", b"\x89PNG"),
    "pkl": (b"\x80", b"\x80"),
    "pil": (PICTURE, np.arange(6, dtype=np.uint8).reshape(1, 2, 3)),
    "list[jpeg]": (u32(0, 2, 1, 3) + b"abcd", [b"a", b"bcd"]),
    "list[pil]": (u32(0, 1, len(PICTURE)) + PICTURE, [np.arange(6, dtype=np.uint8).reshape(1, 2, 3)]),
    "jpeg_array": (u32(2, 1, 3) + b"abcd", [b"a", b"bcd"]),
    "ndarray": (bytes([17, 2 << 2, 2, 1]) + b"\1\0\2\0", np.array([[1], [2]], np.int16)),
    "ndarray:float32": (bytes([1 << 2 | 1, 2, 0]) + struct.pack("<ff", 1, 2), np.array([1, 2], np.float32)),
    "ndarray:uint8:2,2": (b"abcd", np.array([[97, 98], [99, 100]], np.uint8)),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_each_encoding_is_decoded(encoding, tmp_path):
    data, value = ENCODED[encoding]
    (element,) = ps.read_mds(mds(tmp_path, [("x", encoding, None)], [sized(data)]))
    assert list(element) == ["x"]
    np.testing.assert_equal(element["x"], value)
    if isinstance(value, np.ndarray | np.generic):
        assert element["x"].dtype == value.dtype
    else:
        assert type(element["x"]) is type(value)


@pytest.mark.parametrize("compression", [None, "gz:5", "bz2", "zstd"])
def test_any_sample_is_read_in_any_order(compression, tmp_path):
    if compression == "zstd":
        pytest.importorskip("zstandard")
    source = mds_samples(simple_mds(tmp_path, compression=compression))
    verify_source(source)
    ds = ps.read_mds(tmp_path)
    assert len(ds) == 20
    assert ds[17]["s"] == "sample 17 é"
    assert str(ds.element_spec) == "{'n': int64, 's': str, 'v': int16[3]}"
    batch = next(iter(ds.shuffle(seed=0).batch(20)))
    assert sorted(batch["n"].tolist()) == list(range(20))
    assert (batch["v"] == batch["n"][:, None]).all()
    assert (source.blocks is None) == (compression is None)


def test_a_restored_iterator_continues_where_it_stopped(tmp_path):
    ds = ps.read_mds(simple_mds(tmp_path)).shuffle(seed=3).batch(3)
    ps.testing.verify_resume(ds)


def test_columns_are_chosen_and_left_as_bytes(tmp_path):
    simple_mds(tmp_path)
    assert ps.read_mds(tmp_path, columns=["s"])[3] == {"s": "sample 3 é"}
    assert ps.read_mds(tmp_path, columns=["v", "n"], decode=False)[3] == {"n": b"\3" + bytes(7), "v": b"\3\0" * 3}
    with pytest.raises(PlanError, match=r"there are n, s, v"):
        ps.read_mds(tmp_path, columns=["x"])
    with pytest.raises(TypeError, match="list of names"):
        ps.read_mds(tmp_path, columns="s")


def test_a_sample_is_located_by_shard_and_byte(tmp_path):
    ds = ps.read_mds(simple_mds(tmp_path))
    assert str(ds.locate(9)[0]).startswith(f"{tmp_path}/shard.00001.mds, sample 2, at byte ")


def change_shard(folder, change, number=1):
    path = folder / f"shard.{number:05}.mds"
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return path


def set_size(data):
    begin = int.from_bytes(data[4:8], "little")
    data[begin : begin + 4] = b"\xff" * 4


def set_text(data):
    data[data.index(b"\xc3")] = 0xFF


DAMAGE = {
    "another number of samples": (lambda data: data.__setitem__(slice(0, 4), u32(6)), "at byte 0|at byte 28"),
    "more samples than bytes": (lambda data: data.__setitem__(slice(0, 4), u32(2**32 - 1)), "at byte 0: the table"),
    "an offset beyond the next": (lambda data: data.__setitem__(slice(8, 12), u32(2**31)), "at byte 12"),
    "a size beyond the sample": (set_size, "sample 0, at byte 64: its columns take"),
    "text that is none": (set_text, "sample 0, .*column 's' is not str: 'utf-8'"),
    "the end cut off": (lambda data: data.__delitem__(slice(-1, None)), "at byte 32: .* it was cut short"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_with_its_place(kind, tmp_path):
    change, place = DAMAGE[kind]
    path = change_shard(simple_mds(tmp_path), change)
    with pytest.raises(DataError, match=place) as told:
        list(ps.read_mds(tmp_path))
    assert str(path) in str(told.value)


def test_samples_other_than_the_damaged_one_are_read(tmp_path):
    change_shard(simple_mds(tmp_path), DAMAGE["text that is none"][0])
    read = [element["n"] for element in ps.read_mds(tmp_path).ignore_errors()]
    assert read == [n for n in range(20) if n != 7]


WRONG_INDEX = {
    "no JSON": (None, "it is not JSON"),
    "another version": (lambda i: i.update(version=1), "its version is 1"),
    "no shards": (lambda i: i.update(shards=[]), "it has no shards"),
    "a shard that is none": (lambda i: i.update(shards=[3]), r"shards\[0\]: its 'column_names' is None"),
    "another format": (lambda i: i["shards"][1].update(format="csv"), r"shards\[1\]: its format is 'csv'"),
    "other columns": (lambda i: i["shards"][1].update(column_names=list("abc")), r"shards\[1\]: its columns differ"),
    "fewer sizes": (lambda i: i["shards"][0].update(column_sizes=[8]), "3 names, 3 encodings and 1 sizes"),
    "a size that is none": (lambda i: i["shards"][0].update(column_sizes=[8, -1, 6]), "the size of column 's' is -1"),
    "a size of another kind": (lambda i: i["shards"][0].update(column_sizes=[4, None, 6]), "has 4 bytes, and 8 as int"),
    "a shape that is none": (
        lambda i: i["shards"][0].update(column_encodings=["int", "str", "ndarray:int16:-3"]), "has no shape"),
    "a dtype that is none": (
        lambda i: i["shards"][0].update(column_encodings=["int", "str", "ndarray:object"]), "not an array of numbers"),
    "a file elsewhere": (
        lambda i: i["shards"][0]["raw_data"].update(basename="../../etc/passwd"), "which is not a file of this folder"),
    "a count that is none": (lambda i: i["shards"][0].update(samples=-1), "'samples' is -1, which is not a count"),
    "another count": (lambda i: i["shards"][0].update(samples=6), "has 7 samples; index.json says 6"),
    "another size": (lambda i: i["shards"][0]["raw_data"].update(bytes=9), "bytes; index.json says 9"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG_INDEX)
def test_an_invalid_index_is_named(kind, tmp_path):
    change, why = WRONG_INDEX[kind]
    simple_mds(tmp_path)
    if change is None:
        (tmp_path / "index.json").write_text("{")
    else:
        changed_index(tmp_path, change)
    with pytest.raises(DataError, match=why) as told:
        list(ps.read_mds(tmp_path))
    assert str(tmp_path) in str(told.value)


def test_a_compressed_shard_of_another_size_is_named(tmp_path):
    simple_mds(tmp_path, compression="gz")
    changed_index(tmp_path, lambda i: i["shards"][0]["raw_data"].update(bytes=50))
    with pytest.raises(DataError, match=r"shard.00000.mds.gz: .* decompress to more than 50"):
        list(ps.read_mds(tmp_path))
    changed_index(tmp_path, lambda i: i["shards"][0]["raw_data"].update(bytes=5000))
    with pytest.raises(DataError, match=r"index.json says 5000"):
        list(ps.read_mds(tmp_path))


def test_unknown_encodings_are_refused_by_name(tmp_path):
    columns = [("x", "mine", None)]
    mds(tmp_path / "a", columns, [sized(b"a")])
    with pytest.raises(PlanError, match="unknown encoding 'mine'"):
        ps.read_mds(tmp_path / "a")
    assert ps.read_mds(tmp_path / "a", decode=False)[0] == {"x": b"a"}
    mds(tmp_path / "b", [("x", "bytes", None)], [sized(b"a")], compression="gz")
    changed_index(tmp_path / "b", lambda i: i["shards"][0].update(compression="br"))
    with pytest.raises(PlanError, match="compressed with 'br'; gz, zstd, bz2 are supported"):
        ps.read_mds(tmp_path / "b")


def test_a_folder_without_an_index_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError) as told:
        ps.read_mds(tmp_path)
    assert "read_mds: expected a folder" in told.value.__notes__[0]


@pytest.mark.parametrize(("data", "why"), [
    (bytes([7]), "no dtype has the number 7"),
    (bytes([8, 63 << 2, 1]), "cannot hold a shape of 63 sides"),
    (bytes([8, 2 << 2, 2, 2]) + b"abc", "takes 4 bytes; 3 are left"),
    (bytes([66, 4 << 2 | 3]) + b"\xff" * 32, "takes"),
])  # fmt: skip
def test_an_array_that_does_not_fit_its_bytes_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        array_of(data, None, None)


def test_files_of_the_original_package_are_read(tmp_path):
    streaming = pytest.importorskip("streaming")
    columns = {
        "a": "ndarray", "b": "bytes", "f": "ndarray:float32", "g": "ndarray:int16:2,3", "j": "json", "n": "int",
        "s": "str", "sd": "str_decimal", "sf": "str_float", "si": "str_int", "u": "uint8",
    }  # fmt: skip

    def sample(i):
        return {
            "a": np.arange((i % 3 + 1) * 2).reshape(-1, 2),
            "b": bytes([i]) * (i % 6),
            "f": np.ones(i % 4 + 1, np.float32),
            "g": np.full((2, 3), i, np.int16),
            "j": {"k": [1, None, i]},
            "n": i,
            "s": f"é{i}" * (i % 4),
            "sd": Decimal(i) / 3,
            "sf": i / 7,
            "si": 10 ** (i % 18),
            "u": np.uint8(i),
        }

    samples = list(map(sample, range(60)))
    for compression in (None, "zstd", "gz", "bz2"):
        folder = str(tmp_path / str(compression))
        with streaming.MDSWriter(out=folder, columns=columns, compression=compression, size_limit=3000) as writer:
            for each in samples:
                writer.write(each)
        assert len(json.loads((tmp_path / str(compression) / "index.json").read_text())["shards"]) > 2
        for element, written in zip(ps.read_mds(folder), samples, strict=True):
            np.testing.assert_equal(element, written | {"sd": str(written["sd"])})


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves a file to be closed
def test_a_dataset_of_the_original_package_is_a_source(tmp_path):
    streaming = pytest.importorskip("streaming")
    theirs = ps.Dataset.from_source(streaming.LocalDataset(str(simple_mds(tmp_path))))
    for one, other in zip(theirs.shuffle(seed=1), ps.read_mds(tmp_path).shuffle(seed=1), strict=True):
        np.testing.assert_equal(one, other)
    ps.testing.verify_resume(theirs.shuffle(seed=1).batch(3))
