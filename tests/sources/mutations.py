"""Damaged files through Python: each gives data or an error that names the file and the place, soon and in bounds.

python -m tests.sources.mutations 10000
"""

from __future__ import annotations

import bz2
import gzip
import random
import re
import sys
import tempfile
import time
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import penstock as ps
from penstock.sources.tfrecord_writing import framed
from tests.sources.archives import archive, member, pax

MOST_BYTES = 30_000_000
MOST_SECONDS = 20  # of processor time, for one file
PLACE = re.compile(r"byte \d+|has no|extensions \(")
RECORDS = [b"one", b"", b"x" * 700, bytes(range(256)), b'{"a": 1}'] * 3


def tfrecords() -> bytes:
    return b"".join(map(framed, RECORDS))


def samples() -> bytes:
    files = [
        (f"d{'/long' * (i * 9)}/{i}.{e}", c) for i in range(4) for e, c in (("txt", b"t" * 300), ("cls", b"%d" % i))
    ]
    extended = member(b"x", pax(b"path", b"p/5.txt") + pax(b"size", b"3"), b"x") + member(b"short", b"abc")
    return archive(files)[:-5120] + extended + bytes(1024)


def read_tfrecords(path: Path) -> list[object]:
    return list(ps.read_tfrecord(path))


def read_samples(path: Path) -> list[object]:
    return list(ps.read_tar(path, extensions=["txt?", "cls?"], decode=True))


FORMATS: dict[str, tuple[bytes, Callable[[Path], list[object]]]] = {
    "tfrecord": (tfrecords(), read_tfrecords),
    "tfrecord.gz": (gzip.compress(tfrecords(), mtime=0), read_tfrecords),
    "tfrecord.zlib": (zlib.compress(tfrecords()), read_tfrecords),
    "tar": (samples(), read_samples),
    "tar.gz": (gzip.compress(samples(), mtime=0), read_samples),
    "tar.bz2": (bz2.compress(samples()), read_samples),
}


def mutated(good: bytes, draw: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(data) or 1)
        match draw.randrange(6):
            case 0:
                data[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                data[at : at + 1] = draw.choice([b"\0", b"\xff", b"7", b"\x80"])
            case 2:
                del data[at : at + draw.choice([1, 8, 512])]
            case 3:
                data[at:at] = draw.randbytes(draw.choice([1, 8, 512]))
            case 4:
                del data[at:]
            case _:
                low = draw.randrange(len(data) or 1)
                data[at:at] = data[low : low + 512]
    return bytes(data)


def outcome(path: Path, read: Callable[[Path], list[object]], known: set[str]) -> str:
    """`data` or the kind of error; anything else than what is promised fails."""
    began = time.process_time()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        found = read(path)
    except ps.errors.DataError as error:
        assert str(path) in str(error), error  # noqa: PT017 - only where it raises
        assert PLACE.search(str(error)), error  # noqa: PT017 - the same
        told = "error"
    else:
        told = "data"
        for record in found if read is read_tfrecords else ():
            assert repr(record) in known, "a record that nobody wrote"
    assert time.process_time() - began < MOST_SECONDS
    assert tracemalloc.get_traced_memory()[1] - before < MOST_BYTES
    return told


def survive(name: str, count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Read `count` mutations of a good file; how many gave data, how many an error."""
    good, read = FORMATS[name]
    draw = random.Random(f"{name} {seed}")
    path = folder / f"a.{name}"
    tracemalloc.start()
    try:
        told: Counter[str] = Counter()
        for _ in range(count):
            path.write_bytes(mutated(good, draw))
            told[outcome(path, read, set(map(repr, RECORDS)))] += 1
        return told
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    for each in sys.argv[2:] or FORMATS:
        with tempfile.TemporaryDirectory() as temporary:
            print(each, dict(survive(each, int(sys.argv[1]), Path(temporary), seed=time.time_ns())), flush=True)
