"""Only the damaged part of a file is lost under `ignore_errors()`; without it, the error is raised at once."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.tfrecord.writing import framed

FILES = ("a", "b", "c")


def record(name: str, i: int) -> bytes:
    return f"{name}{i}".encode() * (i + 1)


def tfrecords(folder: Path) -> list[str]:
    for name in FILES:
        (folder / f"{name}.tfrecord").write_bytes(b"".join(framed(record(name, i)) for i in range(10)))
    return [str(folder / f"{name}.tfrecord") for name in FILES]


def offset(i: int) -> int:
    return sum(16 + 2 * (j + 1) for j in range(i))


@pytest.mark.parametrize("kept", ["psindex", "nothing"])
def test_a_truncated_tfrecord_loses_the_records_after_the_cut(tmp_path, kept):
    paths = tfrecords(tmp_path)
    if kept == "psindex":
        assert len(ps.read_tfrecord(paths)) == 30
    os.truncate(paths[1], offset(6) + 5)
    with pytest.raises(DataError, match=rf"b.tfrecord: record 6, at byte {offset(6)} of \d+: the file ends inside"):
        list(ps.read_tfrecord(paths))
    found = list(ps.read_tfrecord(paths).ignore_errors())
    assert found == [record(name, i) for name in FILES for i in range(10 if name != "b" else 6)]


def test_lost_elements_are_counted_and_reported_once(tmp_path):
    paths = tfrecords(tmp_path)
    os.truncate(paths[1], offset(6) + 5)
    quarantine = tmp_path / "lost.jsonl"
    ds = ps.read_tfrecord(paths).ignore_errors(budget=1, quarantine=quarantine)
    for _ in range(2):
        assert len(list(ds)) == 26
        (line,) = quarantine.read_text().splitlines()
        assert f"b.tfrecord: record 6, at byte {offset(6)}" in line
        quarantine.unlink()
    with pytest.raises(ps.errors.FailuresError):
        list(ps.read_tfrecord(paths).ignore_errors(budget=0))


def test_damage_loses_one_record_or_the_rest_of_its_file(tmp_path):
    paths = tfrecords(tmp_path)
    damage(paths[0], offset(3) + 12)  # of a record
    damage(paths[2], offset(7) + 1)  # of a length
    found = list(ps.read_tfrecord(paths).shuffle(seed=3).ignore_errors())
    lost = {record("a", 3), *(record("c", i) for i in (7, 8, 9))}
    assert sorted(found) == sorted({record(name, i) for name in FILES for i in range(10)} - lost)


def test_losses_are_the_same_under_maps_batches_shards_and_parsing(tmp_path):
    features = {"x": ps.records.FixedLenFeature([], "int64")}
    for name in FILES:
        made = [ps.records.encode_example({"x": i}) for i in range(8)]
        (tmp_path / f"{name}.tfrecord").write_bytes(b"".join(map(framed, made)))
    paths = [str(tmp_path / f"{name}.tfrecord") for name in FILES]
    os.truncate(paths[2], os.path.getsize(paths[2]) - 1)
    ds = ps.read_tfrecord(paths).batch(4).map(ps.records.parse_example(features)).ignore_errors()
    assert [batch["x"].tolist() for batch in ds] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2 + [[0, 1, 2, 3]]
    halves = [ps.read_tfrecord(paths).shard(2, i).ignore_errors() for i in range(2)]
    assert sum(len(list(half)) for half in halves) == 23
    for executor in ("inline", "threads"):
        ds = ps.read_tfrecord(paths).ignore_errors().with_options(ps.Options(executor=executor))
        assert len(list(ds)) == 23


def test_an_unreadable_file_is_lost_alone(tmp_path):
    paths = tfrecords(tmp_path)
    Path(paths[1]).write_bytes(b"no TFRecord at all, but something else")
    with pytest.raises(DataError, match=r"b.tfrecord: record 0, at byte 0"):
        len(ps.read_tfrecord(paths))
    assert len(list(ps.read_tfrecord(paths).ignore_errors())) == 20


@pytest.mark.parametrize("read", [ps.read_text, ps.read_json, lambda paths: ps.read_text(paths, keep_empty=False)])
def test_a_missing_text_file_is_lost_alone(tmp_path, read):
    paths = [str(tmp_path / f"{name}.jsonl") for name in FILES]
    for name, path in zip(FILES, paths, strict=True):
        Path(path).write_text("".join(f'{{"a": "{name}{i}"}}\n' for i in range(5)))
    ds = read(paths)
    whole = list(read(paths))
    os.unlink(paths[1])
    with pytest.raises(FileNotFoundError, match=r"b\.jsonl"):
        list(ds)
    assert list(ds.ignore_errors()) == whole[:5] + whole[10:]


def archives(folder: Path) -> list[str]:
    for name in FILES:
        with tarfile.open(folder / f"{name}.tar", "w") as archive:
            for i in range(5):
                for extension in ("txt", "cls"):
                    info = tarfile.TarInfo(f"{name}{i}.{extension}")
                    info.size = 1
                    archive.addfile(info, io.BytesIO(b"%d" % i))
    return [str(folder / f"{name}.tar") for name in FILES]


@pytest.mark.parametrize("inside", [0, 100, 512, 1000])
def test_a_cut_tar_loses_the_samples_from_the_cut_on(tmp_path, inside):
    paths = archives(tmp_path)
    os.truncate(paths[1], 2 * 1024 * 3 + 1024 + inside)  # within the second file of the fourth sample
    with pytest.raises(DataError, match=r"b.tar"):
        list(ps.read_tar(paths))
    found = [sample["__key__"] for sample in ps.read_tar(paths).ignore_errors()]
    assert found == [f"{name}{i}" for name in FILES for i in range(5 if name != "b" else 3)]


def test_a_damaged_header_in_a_tar_loses_the_samples_from_there_on(tmp_path):
    paths = archives(tmp_path)
    damage(paths[0], 2 * 1024 * 2 + 1024 + 3)
    ds = ps.read_tar(paths, columns=["txt", "cls"])
    with pytest.raises(DataError, match=r"a.tar: .*at byte 5120"):
        list(ds)
    assert [sample["__key__"] for sample in ds.ignore_errors()] == [
        f"{name}{i}" for name in FILES for i in range(5 if name != "a" else 2)
    ]


def damage(path: str, at: int) -> None:
    content = bytearray(Path(path).read_bytes())
    content[at] ^= 0x55
    Path(path).write_bytes(content)


def tables(folder: Path, extension: str) -> tuple[list[str], object]:
    pa = pytest.importorskip("pyarrow") if extension in ("parquet", "arrow", "csv") else None
    paths = [str(folder / f"{name}.{extension}") for name in FILES]
    for file, path in enumerate(paths):
        numbers = np.arange(file * 10, file * 10 + 10)
        if extension == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(pa.table({"x": numbers}), path)
        elif extension == "arrow":
            with pa.ipc.new_file(path, pa.schema({"x": pa.int64()})) as written:
                written.write_table(pa.table({"x": numbers}))
        elif extension == "csv":
            Path(path).write_text("x\n" + "".join(f"{number}\n" for number in numbers))
        elif extension == "npy":
            np.save(path, numbers)
        elif extension == "npz":
            np.savez(path, x=numbers)
        else:
            numbers.tofile(path)
    read = {"parquet": ps.read_parquet, "arrow": ps.read_arrow, "csv": ps.read_csv, "bin": read_numbers}
    return paths, read.get(extension, ps.read_numpy)


def read_numbers(paths):
    return ps.read_fixed_length(paths, dtype=np.int64)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv", "npy", "npz", "bin"])
def test_one_file_of_many_that_cannot_be_read_is_lost_alone(tmp_path, extension, which):
    paths, read = tables(tmp_path, extension)
    Path(paths[which]).write_bytes(b'x\n"1' if extension == "csv" else Path(paths[which]).read_bytes()[:-9])
    ds = read(paths)
    with pytest.raises(DataError, match=os.path.basename(paths[which])):
        len(ds)
    with pytest.raises(DataError, match=os.path.basename(paths[which])):
        next(iter(ds))
    before_the_cut = 8 if extension in ("npy", "bin") else 0
    kept = [i for i in range(30) if i // 10 != which or i % 10 < before_the_cut]
    for made in (ds, pickle.loads(pickle.dumps(ds))):
        found = made.ignore_errors()
        assert [int(row["x"] if isinstance(row, dict) else row) for row in found] == kept
    shuffled = ds.shuffle(seed=1).ignore_errors()
    assert sorted(int(row["x"] if isinstance(row, dict) else row) for row in shuffled) == kept
    with pytest.raises(DataError, match=os.path.basename(paths[which])):
        read(paths[which])
