"""Damaged files of tables and arrays: each gives rows or an error that names the file, and nothing else.

Rows equal the original ones if the format has checksums; `FORMATS` lists the guarantee of each format.

python -m tests.sources.damaged_tables 10000 [FORMAT ...]
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import penstock as ps
from penstock.core.errors import DataError, PlanError
from tests.sources.promises import Promise, broken


def parquet(path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.sources.arrow.test_parquet import everything

    pq.write_table(everything(40), path, row_group_size=15)


def parquet_sums(path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.sources.arrow.test_parquet import everything

    pq.write_table(everything(40), path, row_group_size=15, write_page_checksum=True)


def pages(content: bytes) -> int:
    """Return the end of the pages of a Parquet file, where its footer without a checksum begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def arrow(path: Path) -> None:
    from tests.sources.arrow.test_files import write
    from tests.sources.arrow.test_parquet import everything

    write(path, everything(40), 15)


def stream(path: Path) -> None:
    from tests.sources.arrow.test_files import plain, write

    write(path, plain(40), 15, "zstd", stream=True)


def csv(path: Path) -> None:
    path.write_text("a,b,c\n" + "".join(f'{i},"x,{i}\n""q""",{i / 3}\n' for i in range(200)))


def csv_gz(path: Path) -> None:
    csv(path)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.arange(600).reshape(100, 6))


def npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.arange(100), b=np.zeros((100, 3)))


def npz_deflated(path: Path) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, a=np.arange(100), b=np.zeros((100, 3)))


def hdf5_sums(path: Path) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip", fletcher32=True)


def hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
        file["y"] = np.zeros((1000, 2))


class Format(NamedTuple):
    """A writer of an intact file, a reader, and the guarantee for the rows of a damaged file."""

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    promise: Promise
    end: Callable[[bytes], int] = len
    """Up to which byte of a file the promise is for damage."""


FORMATS = {
    "parquet": Format(parquet, ps.read_parquet, Promise.ANY),
    "parquet.sums": Format(parquet_sums, ps.read_parquet, Promise.EXACT, pages),
    "arrow": Format(arrow, ps.read_arrow, Promise.ANY),
    "stream": Format(stream, ps.read_arrow, Promise.ANY),
    "csv": Format(csv, lambda path: ps.read_csv(path, block_bytes=512), Promise.ANY),
    "csv.gz": Format(csv_gz, lambda path: ps.read_csv(path, block_bytes=512), Promise.EXACT),
    "npy": Format(npy, ps.read_numpy, Promise.ANY),
    "npz": Format(npz, ps.read_numpy, Promise.EXACT),
    "npz.deflated": Format(npz_deflated, ps.read_numpy, Promise.EXACT),
    "hdf5": Format(hdf5, ps.read_hdf5, Promise.ANY),
    "hdf5.sums": Format(hdf5_sums, ps.read_hdf5, Promise.EXACT),
}


def damaged(content: bytes, random: np.random.Generator, end: int) -> bytes:
    """The content cut short, or with a few bytes before `end` changed, more near that, where formats have an index."""
    if random.random() < 0.25:
        return content[: int(random.integers(len(content)))]
    changed = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        low = 0 if random.random() < 0.6 else max(end - 3000, 0)
        changed[int(random.integers(low, end))] = int(random.choice([0, 1, 127, 128, 255, random.integers(256)]))
    return bytes(changed)


def survive(name: str, count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Return the numbers of damaged files that gave guaranteed rows and that gave an error; raise any other error."""
    form = FORMATS[name]
    form.make(folder / "whole")
    content = (folder / "whole").read_bytes()
    original = list(form.read(folder / "whole"))
    random = np.random.default_rng(seed)
    told = Counter[str]()
    for number in range(count):
        path = folder / f"damaged{number}"
        path.write_bytes(damaged(content, random, form.end(content)))
        try:
            found = list(form.read(path))
        except (DataError, PlanError) as error:
            if path.name not in str(error):
                raise
            told["error"] += 1
        else:
            wrong = broken(form.promise, found, original)
            assert wrong is None, f"{form.promise}: {wrong}"
            told["rows"] += 1
        for left in folder.glob(f"{path.name}*"):
            left.unlink()
    return told


if __name__ == "__main__":
    for each in sys.argv[2:] or FORMATS:
        with tempfile.TemporaryDirectory() as made:
            print(each, dict(survive(each, int(sys.argv[1]), Path(made), seed=time.time_ns())), flush=True)
