"""LitData folders: what values become, how they are nested and compressed, and that the package reads the same."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.litdata.folder import array_of_numpy, array_of_tensor, litdata_samples
from penstock.testing.sources import verify_source
from tests.sources.shard_files import DICT, LEAF, changed_index, litdata, simple_litdata, sized, tree, u32

LEVELS = [None, "chunk", "batch", "sample"]
ENCODED = {
    "int": (struct.pack("<q", -3), -3),
    "float": (struct.pack("<d", 0.1), 0.1),
    "bool": (b"\1", True),
    "str": ("é".encode(), "é"),
    "text": (b"t", "t"),
    "bytes": (b"ab\0", b"ab\0"),
    "jpeg": (b"\xff\xd8", b"\xff\xd8"),
    "image:png": (b"\x89PNG", b"\x89PNG"),
    "file:pdf": (b"%PDF", b"%PDF"),
    "pickle": (b"\x80", b"\x80"),
    "json": (b'{"a": [1]}', {"a": [1]}),
    "pil": (u32(2, 1, 1) + b"Lab", np.array([[97, 98]], np.uint8)),
    "jpeg_array": (u32(2, 1, 3) + b"abcd", [b"a", b"bcd"]),
    "numpy": (u32(9, 2, 1, 2) + struct.pack("<ff", 1, 2), np.array([[1, 2]], np.float32)),
    "no_header_numpy:1": (b"\1\0\2\0", np.array([1, 2], np.int16)),
    "tensor": (struct.pack(">IIII", 17, 2, 1, 2) + struct.pack("<qq", 1, 2), np.array([[1, 2]])),
    "no_header_tensor:20": (b"\1\0\2\0", np.array([1, 2], np.uint16)),
}


def whole_litdata(folder, level):
    if level:
        pytest.importorskip("zstandard")
    return simple_litdata(folder, level=level)


@pytest.mark.parametrize("encoding", ENCODED)
def test_each_encoding_is_decoded(encoding, tmp_path):
    data, value = ENCODED[encoding]
    (element,) = ps.read_litdata(litdata(tmp_path, [encoding], [sized(data)]))
    np.testing.assert_equal(element, value)
    if isinstance(value, np.ndarray):
        assert element.dtype == value.dtype
    else:
        assert type(element) is type(value)


@pytest.mark.parametrize("level", LEVELS)
def test_any_sample_is_read_in_any_order(level, tmp_path):
    source = litdata_samples(whole_litdata(tmp_path, level))
    verify_source(source)
    assert (source.blocks is None) == (level in (None, "sample"))
    ds = ps.read_litdata(tmp_path)
    assert len(ds) == 20
    element = ds[17]
    assert (element["n"], element["parts"][0]) == (17, "sample 17 é")
    np.testing.assert_equal(element["parts"][1], np.full((1, 2), 17, np.int16))
    assert sorted(element["n"] for element in ds.shuffle(seed=1)) == list(range(20))


@pytest.mark.parametrize("level", LEVELS)
def test_a_restored_iterator_continues_where_it_stopped(level, tmp_path):
    ps.testing.verify_resume(ps.read_litdata(whole_litdata(tmp_path, level)).shuffle(seed=3))


def test_samples_keep_their_nesting(tmp_path):
    nesting = tree(
        LEAF, tree(LEAF, tree(LEAF, kind=DICT, keys=["c"]), kind="builtins.tuple"), kind=DICT, keys=["b", "a"]
    )
    folder = litdata(tmp_path, ["str"] * 3, [sized(b"x", b"y", b"z")], nesting)
    assert ps.read_litdata(folder)[0] == {"b": "x", "a": ("y", {"c": "z"})}
    assert ps.read_litdata(folder, decode=False)[0] == {"b": b"x", "a": (b"y", {"c": b"z"})}
    assert ps.read_litdata(folder, columns=["a"])[0] == {"a": ("y", {"c": "z"})}


DAMAGE = {
    None: {
        "a size of a number": (slice(36, 40), u32(9), "sample 0, at byte 36: column 'n' takes 8 bytes, and has 9"),
        "a size beyond the sample": (slice(40, 44), u32(99), "sample 0, at byte 36: its columns take"),
        "a dtype that is none": (slice(68, 72), u32(99), r"column 'parts\[1\]' is not numpy: number"),
        "another number of samples": (slice(0, 4), u32(2), "at byte 0|at byte 12"),
    },
    "batch": {
        "no frames": (slice(0, 1), b"X", "at byte 0: this is not a chunk of zstd frames"),
        "another version": (slice(8, 9), b"\2", "at byte 8: version 2"),
        "more samples than bytes": (slice(12, 16), b"\xff" * 4, "at byte 8: .* 4294967295 samples"),
        "an offset beyond the next": (slice(28, 32), b"\xff" * 4, "at byte|is damaged"),
        "a frame elsewhere": (slice(64, 72), b"\xff" * 8, "at byte 56: frame 0 of its table is damaged"),
        "a frame of another size": (slice(76, 80), u32(9), "frame 0 of its table is damaged"),
        "a frame that is none": (slice(128, 130), b"xx", "the zstd frame 0, at byte 128"),
    },
    "sample": {"a sample that is none": (slice(36, 38), b"xx", "sample 0, at byte 36.*zstd data is damaged")},
    "chunk": {"no zstd": (slice(0, 2), b"xx", "chunk-0-0.zstd.bin.*zstd data is damaged")},
}


@pytest.mark.parametrize(("level", "kind"), [(level, kind) for level, kinds in DAMAGE.items() for kind in kinds])
def test_damage_is_named_with_its_place(level, kind, tmp_path):
    whole_litdata(tmp_path, level)
    place, data, why = DAMAGE[level][kind]
    (path,) = tmp_path.glob("chunk-0-0*bin")
    content = bytearray(path.read_bytes())
    content[place] = data
    path.write_bytes(content)
    with pytest.raises(DataError, match=why) as told:
        list(ps.read_litdata(tmp_path))
    assert str(path) in str(told.value)


def config(**changed):
    return lambda index: index["config"].update(changed)


WRONG = {
    "no config": (lambda i: i.pop("config"), DataError, "it has no 'config'"),
    "encrypted": (config(encryption={"algorithm": "rsa"}), PlanError, "are encrypted"),
    "for tokens": (config(item_loader="TokensLoader"), PlanError, "TokensLoader; pass block_size="),
    "for others": (config(item_loader="ParquetLoader"), PlanError, "written for ParquetLoader"),
    "another compression": (config(compression="lz4"), PlanError, "only zstd is supported"),
    "another level": (
        config(compression="zstd", compression_level="row"), DataError, "'compression_level' is 'row'"),
    "another encoding": (config(data_format=["int", "str", "mine"]), PlanError, "unknown encoding 'mine'"),
    "a number of no dtype": (config(data_format=["int", "str", "no_header_tensor:10"]), DataError, "number 10 is not"),
    "more leaves": (config(data_format=["int", "str", "numpy", "int"]), DataError, "has fewer than 4 leaves"),
    "fewer leaves": (config(data_format=["int"]), DataError, "'data_spec' is not supported"),
    "another tree": (config(data_spec='[1, {"type": "x.Y", "children_spec": []}]'), DataError, "neither dict, list"),
    "a chunk of more": (lambda i: i["chunks"][0].update(chunk_size=8), DataError, "has 7 samples; index.json says 8"),
    "a chunk elsewhere": (lambda i: i["chunks"][0].update(filename="/etc/passwd"), DataError, "not a file of"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_an_invalid_index_is_named(kind, tmp_path):
    change, error, why = WRONG[kind]
    simple_litdata(tmp_path)
    changed_index(tmp_path, change)
    with pytest.raises(error, match=why) as told:
        list(ps.read_litdata(tmp_path))
    assert str(tmp_path) in str(told.value)


def test_a_missing_chunk_is_an_error(tmp_path):
    simple_litdata(tmp_path)
    (tmp_path / "chunk-0-1.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"chunk-0-1.bin"):
        list(ps.read_litdata(tmp_path))


@pytest.mark.parametrize(("data", "why"), [
    (u32(99, 1, 1), "number 99 is not a dtype of NumPy"),
    (u32(0, 2**32 - 1), "cannot hold a shape of 4294967295 sides"),
    (u32(0, 2, 2**32 - 1, 2**32 - 1), "takes"),
])  # fmt: skip
def test_an_array_that_does_not_fit_its_bytes_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        array_of_numpy(data)


def test_empty_tensors_keep_their_shape():
    assert array_of_tensor(struct.pack(">IIII", 17, 2, 0, 3)).shape == (0, 3)


@pytest.mark.filterwarnings(
    "ignore:The given buffer is not writable:UserWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)  # it leaves files to be closed
def test_files_of_the_original_package_are_read(tmp_path):
    litdata = pytest.importorskip("litdata")
    pytest.importorskip("zstd")  # what it compresses with
    torch = pytest.importorskip("torch")
    from litdata.streaming.writer import BinaryWriter

    samples = [
        {
            "n": i, "s": f"é{i}" * (i % 5), "b": bytes([i]) * (i % 7), "f": i / 3, "ok": i % 2 == 0,
            "a": np.arange(i % 4 * 3, dtype=np.float32).reshape(-1, 3), "v": np.arange(4, dtype=np.int16),
            "t": torch.arange(i % 3 + 1), "m": torch.ones(2, 2) * i,
        }
        for i in range(100)
    ]  # fmt: skip
    for level in LEVELS:
        folder = str(tmp_path / str(level))
        how = {} if level is None else {"compression": "zstd", "compression_level": level}
        writer = BinaryWriter(folder, chunk_bytes=3000, **how)
        for number, sample in enumerate(samples):
            writer[number] = sample
        writer.done()
        writer.merge()
        theirs = litdata.StreamingDataset(folder)
        for number, element in enumerate(ps.read_litdata(folder)):
            expected = {
                name: value.numpy() if hasattr(value, "numpy") else value for name, value in theirs[number].items()
            }
            np.testing.assert_equal(
                element, {n: bytes(v) if isinstance(v, memoryview) else v for n, v in expected.items()}
            )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves a file to be closed
def test_a_dataset_of_the_original_package_is_a_source(tmp_path):
    litdata = pytest.importorskip("litdata")
    theirs = ps.Dataset.from_source(litdata.StreamingDataset(str(simple_litdata(tmp_path))))
    for one, other in zip(theirs.shuffle(seed=1), ps.read_litdata(tmp_path).shuffle(seed=1), strict=True):
        np.testing.assert_equal(one, other)
