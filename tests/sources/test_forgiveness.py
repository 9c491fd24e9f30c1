"""If the second of three files is truncated, empty or garbage, `ignore_errors()` yields all of the others."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.tfrecord.writing import framed
from penstock.testing.alike import same
from tests.sources import shard_files

COUNT = 40  # elements of a file
FILES = 3
FIRST = 1_000_000_000  # so that a part of a number is another


def numbers(file: int) -> range:
    return range(FIRST + file * COUNT, FIRST + (file + 1) * COUNT)


def tfrecord(file: int) -> bytes:
    return b"".join(framed(b"%d" % i) for i in numbers(file))


def seekable(file: int) -> bytes:
    from penstock.storage.compressing import FramedZstd

    content = io.BytesIO()
    writer = FramedZstd(content, frame_bytes=100)
    for i in numbers(file):
        writer.write(framed(b"%d" % i))
    writer.finish()
    return content.getvalue()


def tar(file: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for i in numbers(file):
            info = tarfile.TarInfo(f"{i:06}.x")
            info.size = len(b"%d" % i)
            archive.addfile(info, io.BytesIO(b"%d" % i))
    return content.getvalue()


def table(file: int) -> Any:
    return pytest.importorskip("pyarrow").table({"x": np.array(numbers(file))})


def parquet(file: int) -> bytes:
    content = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(table(file), content)
    return content.getvalue()


def arrow(file: int, make: str = "new_file", compression: str | None = None) -> bytes:
    content, made = io.BytesIO(), table(file)
    ipc = pytest.importorskip("pyarrow.ipc")
    with getattr(ipc, make)(content, made.schema, options=ipc.IpcWriteOptions(compression=compression)) as written:
        written.write_table(made, max_chunksize=10)
    return content.getvalue()


def csv(file: int) -> bytes:
    pytest.importorskip("pyarrow")
    return b"x,t\n" + b"".join(b'%d,"a ""b"""\n' % i for i in numbers(file))


def text(file: int) -> bytes:
    return b"".join(b"%d\n" % i for i in numbers(file))


def objects(file: int) -> bytes:
    return b"".join(json.dumps({"x": i}).encode() + b"\n" for i in numbers(file))


def fixed(file: int) -> bytes:
    return np.array(numbers(file), "<i8").tobytes()


def npy(file: int) -> bytes:
    content = io.BytesIO()
    np.save(content, np.array(numbers(file)))
    return content.getvalue()


def npz(file: int, save: Callable[..., object] = np.savez) -> bytes:
    content = io.BytesIO()
    save(content, x=np.array(numbers(file)))
    return content.getvalue()


def hdf5(file: int) -> bytes:
    content = io.BytesIO()
    with pytest.importorskip("h5py").File(content, "w") as written:
        written["x"] = np.array(numbers(file))
    return content.getvalue()


def number_of(element: Any) -> int:
    try:
        return int(element["x"] if isinstance(element, dict) else element)
    except ValueError:  # garbage as text
        return -1


class Files(NamedTuple):
    """A writer and a reader of `COUNT` numbers, and the minimum number of elements from a file cut in half."""

    extension: str
    make: Callable[[int], bytes]
    read: Callable[[Sequence[str]], ps.Dataset[Any]]
    kept: int = 0


def read_numbers(paths: Sequence[str]) -> ps.Dataset[Any]:
    return ps.read_fixed_length(paths, dtype="<i8", compression="auto")


def read_filtered(paths: Sequence[str]) -> ps.Dataset[Any]:
    return ps.read_parquet(paths, filters=[("x", ">=", FIRST)])


def read_without_nulls(paths: Sequence[str]) -> ps.Dataset[Any]:
    return ps.read_parquet(paths, nulls="drop")


def read_lines(paths: Sequence[str]) -> ps.Dataset[Any]:
    return ps.read_text(paths, errors="replace")


def read_samples(paths: Sequence[str]) -> ps.Dataset[Any]:
    return ps.read_tar(paths, columns=["x"])


def compressed(files: Files, extension: str, compress: Callable[[bytes], bytes], kept: int = 0) -> Files:
    return files._replace(
        extension=f"{files.extension}.{extension}", make=lambda file: compress(files.make(file)), kept=kept
    )


PLAIN = [
    Files("tfrecord", tfrecord, ps.read_tfrecord, 15),
    Files("tfrecord.zst", seekable, ps.read_tfrecord, 5),
    Files("tar", tar, read_samples, 15),
    Files("parquet", parquet, ps.read_parquet),
    Files("filtered.parquet", parquet, read_filtered),
    Files("dropped.parquet", parquet, read_without_nulls),
    Files("arrow", arrow, ps.read_arrow),
    Files("zstd.arrow", lambda file: arrow(file, compression="zstd"), ps.read_arrow),
    Files("arrows", lambda file: arrow(file, "new_stream"), ps.read_arrow),
    Files("csv", csv, ps.read_csv, 15),
    Files("txt", text, read_lines, 15),
    Files("jsonl", objects, ps.read_json, 15),
    Files("bin", fixed, read_numbers, 20),
    Files("npy", npy, ps.read_numpy, 10),
    Files("npz", npz, ps.read_numpy),
    Files("h5", hdf5, ps.read_hdf5),
    Files("deflated.npz", lambda file: npz(file, np.savez_compressed), ps.read_numpy),
]
BY_NAME = {files.extension: files for files in PLAIN}
PACKED = [
    compressed(BY_NAME[name], extension, compress, kept)
    for name in ("tfrecord", "tar", "csv", "txt", "jsonl", "bin")
    for extension, compress, kept in (("gz", gzip.compress, 5), ("bz2", bz2.compress, 0))
]
ALL = {files.extension: files for files in [*PLAIN, *PACKED]}
DAMAGE = {
    "cut": lambda content: content[: len(content) // 2 + 3],
    "empty": lambda content: b"",
    "garbage": lambda content: np.random.default_rng(0).integers(128, 256, len(content), np.uint8).tobytes(),
}

VALID = {
    ("txt", "cut"),
    ("txt", "garbage"),
    ("bin", "garbage"),
    *((name, "empty") for name in ("tfrecord", "tar", "txt", "jsonl", "bin")),
}
"""Damage that leaves a file of its format: text may be anything, and some files without any element are empty."""


@pytest.fixture(params=ALL)
def files(request, tmp_path) -> tuple[Files, list[Path]]:
    files = ALL[request.param]
    pytest.importorskip("zstandard" if "zst" in files.extension else "numpy")
    paths = [tmp_path / f"file{number}.{files.extension}" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_bytes(files.make(number))
    return files, paths


@pytest.mark.parametrize("bad", range(FILES))
@pytest.mark.parametrize("damage", DAMAGE)
def test_one_bad_file_among_several_loses_only_itself(files, damage, bad, tmp_path):
    made, paths = files
    paths[bad].write_bytes(DAMAGE[damage](paths[bad].read_bytes()))
    quarantine = tmp_path / "lost.jsonl"
    ds = made.read(list(map(str, paths)))
    found = list(map(number_of, ds.ignore_errors(budget=2 * COUNT, quarantine=quarantine)))
    whole = [i for number in range(FILES) if number != bad for i in numbers(number)]
    assert [i for i in found if i in whole] == whole
    if damage == "cut":
        kept = [i for i in found if i not in whole]
        assert kept[: made.kept] == list(numbers(bad))[: made.kept]
        assert set(kept) <= set(numbers(bad)) or made.extension == "txt"
    if (made.extension, damage) not in VALID:
        assert paths[bad].name in quarantine.read_text()
        with pytest.raises(DataError, match=re.escape(paths[bad].name)):
            list(made.read(list(map(str, paths))))


def tokens(folder: Path) -> Path:
    shard_files.tokens(folder, [[list(range(100 * chunk, 100 * chunk + 21))] for chunk in range(FILES)])
    return folder


def arrow_chunks(folder: Path) -> Path:
    pytest.importorskip("pyarrow")
    return shard_files.arrow_chunks(folder, [[{"n": 7 * chunk + i} for i in range(7)] for chunk in range(FILES)])


SHARDED = {
    "mds": (lambda folder: shard_files.simple_mds(folder, 21), ps.read_mds),
    "mds.gz": (lambda folder: shard_files.simple_mds(folder, 21, "gz"), ps.read_mds),
    "litdata": (lambda folder: shard_files.simple_litdata(folder, 21), ps.read_litdata),
    "litdata.batch": (lambda folder: shard_files.simple_litdata(folder, 21, "batch"), ps.read_litdata),
    "litdata.sample": (lambda folder: shard_files.simple_litdata(folder, 21, "sample"), ps.read_litdata),
    "litdata.chunk": (lambda folder: shard_files.simple_litdata(folder, 21, "chunk"), ps.read_litdata),
    "litdata.arrow": (arrow_chunks, ps.read_litdata),
    "litdata.tokens": (tokens, lambda folder: ps.read_litdata(folder, block_size=3)),
}


@pytest.mark.parametrize("bad", range(FILES))
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", SHARDED)
def test_one_bad_shard_of_a_folder_loses_only_its_samples(tmp_path, name, damage, bad):
    if name.startswith("litdata."):
        pytest.importorskip("zstandard")
    make, read = SHARDED[name]
    whole = list(read(make(tmp_path / "whole")))
    folder = make(tmp_path / "damaged")
    path = sorted(path for path in folder.iterdir() if path.name != "index.json")[bad]
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    quarantine = tmp_path / "lost.jsonl"
    found = list(read(folder).ignore_errors(budget=7, quarantine=quarantine))
    others = [element for number, element in enumerate(whole) if number // 7 != bad]
    if name == "litdata.tokens" and damage != "empty":
        others = whole[: 7 * bad] + found[7 * bad : 7 * bad + len(found) - 14] + whole[7 * bad + 7 :]
    assert len(found) == len(others)
    assert all(map(same, found, others))
    if (name, damage) != ("litdata.tokens", "garbage"):
        assert path.name in quarantine.read_text()
        with pytest.raises(DataError, match=re.escape(path.name)):
            list(read(folder))


@pytest.mark.parametrize("bad", range(FILES))
def test_a_damaged_frame_of_seekable_zstd_loses_the_records_from_there_on(tmp_path, bad):
    pytest.importorskip("zstandard")
    paths = [tmp_path / f"file{number}.tfrecord.zst" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_bytes(seekable(number))
    content = bytearray(paths[bad].read_bytes())
    content[len(content) // 2] ^= 0x55
    paths[bad].write_bytes(content)
    ds = ps.read_tfrecord(paths)
    with pytest.raises(DataError, match=re.escape(paths[bad].name)):
        list(ds)
    kept = [i for i in map(int, ds.ignore_errors(budget=1)) if i in numbers(bad)]
    assert kept == list(numbers(bad))[: len(kept)]
    assert len(kept) > 10
    assert sorted(map(int, ds.shuffle(seed=1).ignore_errors())) == sorted(
        [*kept, *(i for number in range(FILES) if number != bad for i in numbers(number))]
    )
