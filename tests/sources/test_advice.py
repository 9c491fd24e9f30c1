"""Sources of local files have the system read what they are told of, and no more."""

from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as ps
from penstock.engine.advice import advising
from penstock.kernels.clocks import thread_times
from penstock.sources.blocked import _TOLD
from penstock.storage.local import advise_ranges
from tests.sources.shard_files import mds, sized

COUNT, SIZE = 64, 100_000  # records, and bytes of each
DRAW = np.random.default_rng(0)
RECORDS = [DRAW.bytes(SIZE) for _ in range(COUNT)]
ROWS = np.array([50, 3, 17])
BLOCK = 512


def tfrecord(folder):
    return ps.read_tfrecord(ps.write_tfrecord(RECORDS, str(folder / "a.tfrecord")))


def fixed(folder):
    (folder / "a.bin").write_bytes(b"".join(RECORDS))
    return ps.read_fixed_length(folder / "a.bin", SIZE)


def files(folder):
    for number, record in enumerate(RECORDS):
        (folder / f"{number:02}.bin").write_bytes(record)
    return ps.read_files(str(folder / "*.bin"))


def tar(folder):
    ps.write_tar([{"__key__": f"{i:02}", "bin": r, "txt": "t"} for i, r in enumerate(RECORDS)], str(folder / "a.tar"))
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
    return ps.read_tfrecord(ps.write_tfrecord(RECORDS, str(folder / "a.tfrecord.zst"), compression="zstd"))


def csv(folder):
    (folder / "a.csv").write_text("a\n" + "".join(record.hex()[: SIZE - 1] + "\n" for record in RECORDS))
    return ps.read_csv(folder / "a.csv", block_bytes=SIZE)


MAKERS = {"tfrecord": tfrecord, "fixed": fixed, "files": files, "tar": tar, "text": text, "npy": npy, "mds": mds_shard}
DEAR = {"tfrecord.zst": (zstd, "zstandard", 3 << 20), "csv": (csv, "pyarrow", 3 * SIZE)}


def evicted(folder):
    """Have the files of a folder leave memory."""
    for path in folder.iterdir():
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
def test_the_system_reads_those_rows_and_no_others(name, tmp_path):
    skip_where_reads_are_not_counted(tmp_path)
    make, needs, wanted = (MAKERS[name], "numpy", 3 * SIZE) if name in MAKERS else DEAR[name]
    pytest.importorskip(needs)
    source = make(tmp_path)._plan.source
    source.advise(ROWS[:0])  # files are opened
    evicted(tmp_path)
    told = read_by(source.advise, ROWS)
    assert 0.9 * min(wanted, 3 * SIZE) < told < 1.4 * wanted + 100_000
    assert read_by(source.read_many, ROWS) < told / 2  # what lies around a record


def test_what_is_wrong_is_left_to_who_reads(tmp_path):
    for make in MAKERS.values():
        folder = tmp_path / make.__name__
        folder.mkdir()
        plan = make(folder)._plan
        assert plan.source.length == COUNT
        for path in folder.iterdir():
            if not path.name.endswith(("psindex", "json")):
                path.unlink()
        advising(plan)(ROWS)
        with pytest.raises((ps.errors.DataError, OSError)):
            plan.source.read_many(ROWS)


def test_ranges_of_files_that_are_not_there_are_passed_over(tmp_path):
    (tmp_path / "a").write_bytes(bytes(100))
    advise_ranges([(str(tmp_path / "missing"), 0, 10), (str(tmp_path / "a"), 0, 10), (str(tmp_path / "a"), 5, 9999)])
    advise_ranges([])


def test_a_block_is_told_of_once(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i:09}\n" for i in range(20_000)))
    source = ps.read_csv(tmp_path / "a.csv", block_bytes=1000)._plan.source
    told = []
    extent = type(source.store).extent
    object.__setattr__(source.store, "extent", lambda block: told.append(block) or extent(source.store, block))
    source.read_many(np.array([0]))
    for low in range(0, 1000, 10):
        source.advise(np.arange(low, low + 10))
    assert told == list(range(1, int(source.store.bounds.searchsorted(999, "right"))))
    source.advise(np.arange(20_000))
    assert len(source._told) == _TOLD


def test_sources_without_files_do_not_listen():
    assert advising(ps.Dataset.range(3)._plan) is None
    assert advising(ps.Dataset.from_source([1, 2])._plan) is None
