"""Sources of local files ask the system to read exactly the announced rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tasks.read_ahead import telling
from penstock.kernels import advise_files
from penstock.kernels.clocks import thread_times
from penstock.sources.block_advice import _TOLD
from penstock.storage.local import advise_extents
from tests.sources.shard_files import mds, sized

COUNT, SIZE = 64, 100_000  # records, and bytes of each
DRAW = np.random.default_rng(0)
RECORDS = [DRAW.bytes(SIZE) for _ in range(COUNT)]
ROWS = np.array([50, 3, 17])
BLOCK = 512


def tfrecord(folder):
    return ps.read_tfrecord(ps.Dataset.from_source(RECORDS).write_tfrecord(str(folder / "a.tfrecord")))


def fixed(folder):
    (folder / "a.bin").write_bytes(b"".join(RECORDS))
    return ps.read_fixed_length(folder / "a.bin", SIZE)


def files(folder):
    for number, record in enumerate(RECORDS):
        (folder / f"{number:02}.bin").write_bytes(record)
    return ps.read_files(str(folder / "*.bin"))


def tar(folder):
    ps.Dataset.from_source([{"__key__": f"{i:02}", "bin": r, "txt": "t"} for i, r in enumerate(RECORDS)]).write_tar(
        str(folder / "a.tar")
    )
    return ps.read_tar(folder / "a.tar")


def text(folder):
    (folder / "a.txt").write_text("".join(record.hex()[:SIZE] + "\n" for record in RECORDS))
    return ps.read_text(folder / "a.txt")


def npy(folder):
    np.save(folder / "a.npy", np.frombuffer(b"".join(RECORDS), np.uint8).reshape(COUNT, SIZE))
    return ps.read_numpy(folder / "a.npy")


def mds_shard(folder):
    return ps.read_mds(mds(folder, [("x", "bytes", None)], list(map(sized, RECORDS)), per_shard=COUNT))


def zstd(folder):
    return ps.read_tfrecord(
        ps.Dataset.from_source(RECORDS).write_tfrecord(str(folder / "a.tfrecord.zst"), compression="zstd")
    )


def csv(folder):
    (folder / "a.csv").write_text("a\n" + "".join(record.hex()[: SIZE - 1] + "\n" for record in RECORDS))
    return ps.read_csv(folder / "a.csv", block_bytes=SIZE)


def parquet(folder):
    return ps.read_parquet(
        table(folder, lambda found, path: pyarrow_parquet().write_table(found, path, row_group_size=1))
    )


def columns_of_parquet(folder):
    return ps.read_parquet(
        table(folder, lambda found, path: pyarrow_parquet().write_table(found, path, row_group_size=1)), columns=["b"]
    )


def table(folder, write):
    arrow = pytest.importorskip("pyarrow")
    halves = [[record[: SIZE // 2] for record in RECORDS], [record[SIZE // 2 :] for record in RECORDS]]
    write(arrow.table({"a": halves[0], "b": halves[1]}), folder / "a.table")
    return folder / "a.table"


def pyarrow_parquet():
    return pytest.importorskip("pyarrow.parquet")


def feather(folder):
    write = pytest.importorskip("pyarrow.feather").write_feather
    return ps.read_arrow(table(folder, lambda found, path: write(found, path, compression="lz4", chunksize=1)))


def feather_mapped(folder):
    write = pytest.importorskip("pyarrow.feather").write_feather
    return ps.read_arrow(table(folder, lambda found, path: write(found, path, compression="uncompressed", chunksize=1)))


def stream(folder):
    arrow = pytest.importorskip("pyarrow")

    def write(found, path):
        with arrow.ipc.new_stream(path, found.schema) as file:
            file.write_table(found, max_chunksize=1)

    return ps.read_arrow(table(folder, write))


ROW = np.frombuffer(RECORDS[0], np.uint8)


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=np.stack([ROW] * COUNT), chunks=(1, SIZE // 2))
    return ps.read_hdf5(folder / "a.h5", columns="x")


def hdf5_contiguous(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=np.stack([ROW] * COUNT))
    return ps.read_hdf5(folder / "a.h5", columns="x")


def zarr(folder):
    made = pytest.importorskip("zarr").create_array(
        folder / "a.zarr", shape=(COUNT, SIZE), chunks=(8, SIZE), dtype="u1", compressors=None
    )
    made[:] = np.stack([ROW] * COUNT)
    return ps.read_zarr(folder / "a.zarr")


MAKERS = {"tfrecord": tfrecord, "fixed": fixed, "files": files, "tar": tar, "text": text, "npy": npy, "mds": mds_shard}
BLOCK_OF_CHUNKS = 11 * SIZE  # the fewest rows of a megabyte
ARROW = {"feather", "feather mapped"}
DEAR = {
    "tfrecord.zst": (zstd, "zstandard", 3 << 20),
    "csv": (csv, "pyarrow", 3 * SIZE),
    "parquet": (parquet, "pyarrow", 3 * SIZE),
    "a column of parquet": (columns_of_parquet, "pyarrow", 3 * SIZE // 2),
    "feather": (feather, "pyarrow", 3 * SIZE),
    "feather mapped": (feather_mapped, "pyarrow", 3 * SIZE),
    "stream": (stream, "pyarrow", 3 * SIZE),
    "hdf5": (hdf5, "h5py", 3 * BLOCK_OF_CHUNKS),
    "hdf5 contiguous": (hdf5_contiguous, "h5py", 3 * BLOCK_OF_CHUNKS),
    "zarr": (zarr, "zarr", 3 * 16 * SIZE),
}


def evicted(folder):
    """Have the files of a folder leave memory."""
    for path in filter(Path.is_file, folder.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_by(function, *arguments):
    """Bytes that this thread had read from a disk."""
    before = thread_times()[4]
    function(*arguments)
    return (thread_times()[4] - before) * BLOCK


def skip_where_reads_are_not_counted(folder):
    (folder / "probe").write_bytes(bytes(1 << 20))
    evicted(folder)
    if read_by((folder / "probe").read_bytes) < 1 << 20:
        pytest.skip("this file system does not tell of reads, or keeps files in memory")
    (folder / "probe").unlink()


@pytest.mark.parametrize("name", [*MAKERS, *DEAR])
def test_only_announced_rows_are_read_by_the_system(name, tmp_path):
    skip_where_reads_are_not_counted(tmp_path)
    make, needs, wanted = (MAKERS[name], "numpy", 3 * SIZE) if name in MAKERS else DEAR[name]
    pytest.importorskip(needs)
    source = make(tmp_path)._plan.source
    source.read_many(ROWS[:0] if name not in ARROW else np.array([40]))
    source.advise(ROWS[:0])  # files are opened
    evicted(tmp_path)
    told = read_by(source.advise, ROWS)
    assert 0.9 * min(wanted, 3 * BLOCK_OF_CHUNKS) < told < 1.4 * wanted + 100_000
    around = 8 << 20 if name in ARROW else told / 2  # what lies around a record, or a footer
    assert read_by(source.read_many, ROWS) < around


def test_advice_ignores_errors(tmp_path):
    for make in MAKERS.values():
        folder = tmp_path / make.__name__
        folder.mkdir()
        plan = make(folder)._plan
        assert plan.source.length == COUNT
        for path in folder.iterdir():
            if path.is_file() and not path.name.endswith("json"):
                path.unlink()
        telling(plan)(ROWS)
        with pytest.raises((ps.errors.DataError, OSError)):
            plan.source.read_many(ROWS)


def test_ranges_of_missing_files_are_ignored(tmp_path):
    (tmp_path / "a").write_bytes(bytes(100))
    advise_extents([(str(tmp_path / "missing"), 0, 10), (str(tmp_path / "a"), 0, 10), (str(tmp_path / "a"), 5, 9999)])
    advise_extents([])


def test_a_block_is_announced_once(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i:09}\n" for i in range(20_000)))
    source = ps.read_csv(tmp_path / "a.csv", block_bytes=1000)._plan.source
    told = []
    extents = type(source.store).extents
    object.__setattr__(source.store, "extents", lambda block: told.append(block) or extents(source.store, block))
    source.read_many(np.array([0]))
    for low in range(0, 1000, 10):
        source.advise(np.arange(low, low + 10))
    assert told == list(range(int(source.store.bounds.searchsorted(999, "right"))))
    source.advise(np.arange(20_000))
    assert len(source._advice._told) == _TOLD


def test_a_long_part_is_announced_completely(tmp_path):
    skip_where_reads_are_not_counted(tmp_path)
    size = 24 << 20  # more than a device reads of one piece of advice
    (tmp_path / "a").write_bytes(bytes(size))
    for tell in (
        lambda: advise_extents([(str(tmp_path / "a"), 0, 1 << 62)]),
        lambda: advise_files([str(tmp_path / "a")]),
    ):
        evicted(tmp_path)
        assert read_by(tell) == size
        assert not any((tmp_path / "a").read_bytes())  # what is under way cannot be evicted
    evicted(tmp_path)
    assert read_by(ps.read_fixed_length(tmp_path / "a", size)._plan.source.advise, np.array([0])) >= size


def test_sources_without_files_take_no_advice():
    assert telling(ps.Dataset.range(3)._plan) is None
    assert telling(ps.Dataset.from_source([1, 2])._plan) is None
