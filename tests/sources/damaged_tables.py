"""Damaged files of tables and arrays: each gives rows or an error that names the file, and nothing else.

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
from typing import Any

import numpy as np

import penstock as ps
from penstock.core.errors import DataError, PlanError


def parquet(path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.sources.test_parquet import everything

    pq.write_table(everything(40), path, row_group_size=15)


def arrow(path: Path) -> None:
    from tests.sources.test_arrow_files import write
    from tests.sources.test_parquet import everything

    write(path, everything(40), 15)


def stream(path: Path) -> None:
    from tests.sources.test_arrow_files import plain, write

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


def hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
        file["y"] = np.zeros((1000, 2))


FORMATS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "parquet": (parquet, ps.read_parquet),
    "arrow": (arrow, ps.read_arrow),
    "stream": (stream, ps.read_arrow),
    "csv": (csv, lambda path: ps.read_csv(path, block_bytes=512)),
    "csv.gz": (csv_gz, lambda path: ps.read_csv(path, block_bytes=512)),
    "npy": (npy, ps.read_numpy),
    "npz": (npz, ps.read_numpy),
    "hdf5": (hdf5, ps.read_hdf5),
}


def damaged(content: bytes, random: np.random.Generator) -> bytes:
    """The content cut short, or with a few bytes changed, more of them near the end, where formats have an index."""
    if random.random() < 0.25:
        return content[: int(random.integers(len(content)))]
    changed = bytearray(content)
    for _ in range(int(random.integers(1, 6))):
        low = 0 if random.random() < 0.6 else max(len(content) - 3000, 0)
        changed[int(random.integers(low, len(content)))] = int(
            random.choice([0, 1, 127, 128, 255, random.integers(256)])
        )
    return bytes(changed)


def survive(name: str, count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """How many damaged files gave rows, and how many an error; any other error is raised."""
    make, read = FORMATS[name]
    make(folder / "whole")
    content = (folder / "whole").read_bytes()
    random = np.random.default_rng(seed)
    told = Counter[str]()
    for number in range(count):
        path = folder / f"damaged{number}"
        path.write_bytes(damaged(content, random))
        try:
            list(read(path))
            told["rows"] += 1
        except (DataError, PlanError) as error:
            if path.name not in str(error):
                raise
            told["error"] += 1
        for left in folder.glob(f"{path.name}*"):
            left.unlink()
    return told


if __name__ == "__main__":
    for each in sys.argv[2:] or FORMATS:
        with tempfile.TemporaryDirectory() as made:
            print(each, dict(survive(each, int(sys.argv[1]), Path(made), seed=time.time_ns())), flush=True)
