"""Damaged files through Python: each gives data or an error that names the file and the place, soon and in bounds.

Data equals the original if the format has checksums; `FORMATS` lists the guarantee of each format.

python -m tests.sources.mutations [--seed SEED] 10000 [FORMAT ...]

The program traces allocations until it ends, in a separate process: stopping the trace while a native thread (of
pyarrow, for example) allocates memory kills the process in CPython before 3.12.9 and 3.13.2 (gh-128679).
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import random
import re
import shutil
import tempfile
import time
import tracemalloc
import wave
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import penstock as ps
from penstock.sources.tfrecord.writing import framed
from tests.allocations import allocated
from tests.sources import shard_files
from tests.sources.archives import archive, member, pax
from tests.sources.promises import Promise, broken

MOST_BYTES = 30_000_000
MOST_SECONDS = 20  # of processor time, for one file
PLACE = re.compile(r"byte \d+|sample \d+|its '|column|shards|has no|extensions \(|line \d+|row \d+|record \d+| bytes")
RECORDS = [b"one", b"", b"x" * 700, bytes(range(256)), b'{"a": 1}'] * 3


def tfrecords() -> bytes:
    return b"".join(map(framed, RECORDS))


def samples() -> bytes:
    files = [
        (f"d{'/long' * (i * 9)}/{i}.{e}", c) for i in range(4) for e, c in (("txt", b"t" * 300), ("cls", b"%d" % i))
    ]
    extended = member(b"x", pax(b"path", b"p/5.txt") + pax(b"size", b"3"), b"x") + member(b"short", b"abc")
    members = archive(files).rstrip(b"\0")
    return members + bytes(-len(members) % 512) + extended + bytes(1024)


def read_tfrecords(path: Path) -> list[object]:
    return list(ps.read_tfrecord(path))


def read_samples(path: Path) -> list[object]:
    return list(ps.read_tar(path, columns=["txt?", "cls?"], decode=True))


def read_examples(path: Path) -> list[object]:
    features = {"n": ps.records.FixedLenFeature([], "int64"), "s": ps.records.VarLenFeature(bytes)}
    return list(
        ps.read_tfrecord(path).map(ps.records.parse_example({**features, "x": ps.records.RaggedFeature("float32")}))
    )


def read_lines(path: Path) -> list[object]:
    return list(ps.read_text(path))


def read_objects(path: Path) -> list[object]:
    return list(ps.read_json(path))


def read_numbers(path: Path) -> list[object]:
    return list(ps.read_fixed_length(path, dtype=np.int32, shape=[25]))


def read_sound(path: Path) -> list[object]:
    return list(ps.read_files(path).map(ps.audio.decode()))


def read_picture(path: Path) -> list[object]:
    return list(ps.read_files(path).map(ps.image.decode()))


def lines() -> bytes:
    return "".join(f"line {i} é\r\n"[: i % 13] + "\n" * (i % 3) for i in range(80)).encode()


def objects() -> bytes:
    return b"".join(b'{"a": %d, "b": "t\\u00e9\\n", "c": [1.5, null, {"d": true}]}\n' % i for i in range(30))


def sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(2)
        written.setsampwidth(2)
        written.setframerate(8000)
        written.writeframes(random.Random(0).randbytes(1200))
    return file.getvalue()


def flac() -> bytes:
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(3000) / 9), 8000, format="FLAC")
    return file.getvalue()


def picture() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    Image.fromarray(pixels).resize((50, 40)).save(file, "JPEG")
    return file.getvalue()


def png() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)).save(file, "PNG")
    return file.getvalue()


def zstd_lines() -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).compress(lines())


def lz4_lines() -> bytes:
    import lz4.frame

    return lz4.frame.compress(lines(), content_checksum=True)


def frames() -> bytes:
    from penstock.storage.compressing import FramedZstd

    file = io.BytesIO()
    writer = FramedZstd(file, frame_bytes=1000)
    for record in RECORDS:
        writer.write(framed(record))
    writer.finish()
    return file.getvalue()


def shard(make: Callable[[Path], Path], name: str) -> Callable[[], bytes]:
    """The one file of a folder, of that name."""

    def good() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return (make(Path(folder)) / name).read_bytes()

    return good


def beside_index(
    make: Callable[[Path], Path], read: Callable[[Path], object], key: str
) -> Callable[[Path], list[object]]:
    """Read the folder created by `make`, with its first shard replaced by another file."""

    def read_folder(path: Path) -> list[object]:
        def change(index: dict[str, list[dict[str, object]]]) -> None:
            told = index[key][0]
            plain = told.get("raw_data", told)
            named = told.get("zip_data") or plain
            named["basename" if key == "shards" else "filename"] = path.name
            if not told.get("zip_data"):
                plain["bytes" if key == "shards" else "chunk_bytes"] = path.stat().st_size

        shard_files.changed_index(make(path.parent), change)
        return list(read(path.parent))  # type: ignore[call-overload]

    return read_folder


def one_mds(folder: Path, compression: str | None = None) -> Path:
    columns = [
        ("a", "ndarray", None),
        ("j", "json", None),
        ("n", "int", 8),
        ("p", "list[pil]", None),
        ("s", "str", None),
    ]
    picture = np.array([2, 1, 3], "<u4").tobytes() + b"RGB" + bytes(6)
    samples = [
        shard_files.u32(8, 9, len(picture) + 12, i)
        + bytes([17, 2 << 2, 2, 1, 1, 0, 2, 0]) + b'["a",[1]]' + np.int64(i).tobytes()
        + shard_files.u32(0, 1, len(picture)) + picture + b"t" * i
        for i in range(8)
    ]  # fmt: skip
    return shard_files.mds(folder, columns, samples, per_shard=8, compression=compression)


def one_zstd_mds(folder: Path) -> Path:
    return one_mds(folder, "zstd")


def one_litdata(folder: Path, level: str | None = None) -> Path:
    return shard_files.simple_litdata(folder, 7, level)


def framed_litdata(folder: Path) -> Path:
    return one_litdata(folder, "batch")


def sampled_litdata(folder: Path) -> Path:
    return one_litdata(folder, "sample")


def arrow_litdata(folder: Path) -> Path:
    rows = [{"t": f"text {i}", "n": [{"a": j} for j in range(i)]} for i in range(7)]
    return shard_files.arrow_chunks(folder, [rows])


def read_index(path: Path) -> list[object]:
    folder = shard_files.simple_mds(path.parent / "folder")
    (folder / "index.json").write_bytes(path.read_bytes())
    try:
        return list(ps.read_mds(folder))
    except FileNotFoundError as error:  # another name of a shard
        raise ps.errors.DataError(f"{path} has no {error.filename}") from error
    except (ps.errors.DataError, ps.errors.PlanError) as error:
        raise ps.errors.DataError(f"{path}: {error}") from error


class Format(NamedTuple):
    """An intact file with its reader, the guarantee for its data after damage, and the requirements of the reader.

    The function `wrap` is given the damaged content, and returns that of the file.
    """

    good: Callable[[], bytes]
    read: Callable[[Path], list[object]]
    promise: Promise
    needs: str = "numpy"
    wrap: Callable[[bytes], bytes] = bytes


def saved(folder: Path) -> Path:
    elements = ps.Dataset.range(40).map(lambda i: {"n": i, "t": f"text {i}", "v": np.arange(i % 5)})
    elements.save(folder / "saved")
    return folder / "saved"


@cache
def saved_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in saved(Path(folder)).iterdir()}


def read_saved(name: str) -> Callable[[Path], list[object]]:
    """Read a saved dataset of which one file, of this name, is another."""

    def read(path: Path) -> list[object]:
        folder = path.parent / "saved"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for other, content in saved_files().items():
            (folder / other).write_bytes(path.read_bytes() if other == name else content)
        try:
            return list(ps.Dataset.load(folder))
        except ps.errors.DataError as error:
            raise ps.errors.DataError(f"{path}, its bytes: {error}") from error

    return read


def index_of_lines() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_bytes(lines())
        list(ps.read_text(path))
        (index,) = Path(folder).rglob("*.psindex")
        return index.read_bytes()


def read_beside_index(path: Path) -> list[object]:
    """Read lines whose index is this file."""
    text = path.parent / "a.txt"
    text.write_bytes(lines())
    list(ps.read_text(text))
    (index,) = text.parent.rglob("*.psindex")
    shutil.copy(path, index)
    return list(ps.read_text(text))


def saved_file(name: str) -> Format:
    return Format(shard(saved, name), read_saved(name), Promise.EXACT)


FORMATS = {
    "tfrecord": Format(tfrecords, read_tfrecords, Promise.FIRST),
    "tfrecord.gz": Format(lambda: gzip.compress(tfrecords(), mtime=0), read_tfrecords, Promise.EXACT),
    "tfrecord.zlib": Format(lambda: zlib.compress(tfrecords()), read_tfrecords, Promise.FIRST),  # no bytes, no records
    "tfrecord.zst": Format(frames, read_tfrecords, Promise.EXACT, needs="zstandard"),
    "example": Format(
        lambda: ps.records.encode_example({"n": 3, "s": [b"a", b"bc"], "x": [0.5, 2]}),
        read_examples,
        Promise.FORM,
        wrap=framed,
    ),
    "tar": Format(samples, read_samples, Promise.ANY),  # long names, which tell samples apart, have no checksum
    "tar.gz": Format(lambda: gzip.compress(samples(), mtime=0), read_samples, Promise.EXACT),
    "tar.bz2": Format(lambda: bz2.compress(samples()), read_samples, Promise.EXACT),
    "txt": Format(lines, read_lines, Promise.FORM),
    "txt.gz": Format(lambda: gzip.compress(lines(), mtime=0), read_lines, Promise.EXACT),
    "txt.xz": Format(lambda: lzma.compress(lines()), read_lines, Promise.EXACT),
    "txt.zst": Format(zstd_lines, read_lines, Promise.EXACT, needs="zstandard"),
    "txt.lz4": Format(lz4_lines, read_lines, Promise.EXACT, needs="lz4"),
    "index": Format(index_of_lines, read_beside_index, Promise.EXACT),
    "jsonl": Format(objects, read_objects, Promise.ANY),
    "jsonl.bz2": Format(lambda: bz2.compress(objects()), read_objects, Promise.EXACT),
    "bin": Format(lambda: np.arange(500, dtype=np.int32).tobytes(), read_numbers, Promise.FORM),
    "mds": Format(shard(one_mds, "shard.00000.mds"), beside_index(one_mds, ps.read_mds, "shards"), Promise.FORM),
    "mds.zstd": Format(
        shard(one_zstd_mds, "shard.00000.mds.zstd"),
        beside_index(one_zstd_mds, ps.read_mds, "shards"),
        Promise.FORM,  # those who write it leave zstd's checksum out
        needs="zstandard",
    ),
    "mds.index": Format(shard(shard_files.simple_mds, "index.json"), read_index, Promise.FORM),
    "litdata": Format(
        shard(one_litdata, "chunk-0-0.bin"), beside_index(one_litdata, ps.read_litdata, "chunks"), Promise.FORM
    ),
    "litdata.batch": Format(
        shard(framed_litdata, "chunk-0-0.bin"),
        beside_index(framed_litdata, ps.read_litdata, "chunks"),
        Promise.FORM,
        needs="zstandard",
    ),
    "litdata.sample": Format(
        shard(sampled_litdata, "chunk-0-0.bin"),
        beside_index(sampled_litdata, ps.read_litdata, "chunks"),
        Promise.FORM,
        needs="zstandard",
    ),
    "litdata.arrow": Format(
        shard(arrow_litdata, "chunk-0-0.bin"),
        beside_index(arrow_litdata, ps.read_litdata, "chunks"),
        Promise.FORM,
        needs="pyarrow",
    ),
    "saved.values": saved_file("leaf-2.values.npy"),
    "saved.offsets": saved_file("leaf-2.offsets.npy"),
    "saved.manifest": saved_file("penstock.json"),
    "saved.sums": saved_file("penstock.crc32c"),
    "wav": Format(sound, read_sound, Promise.FORM),
    "flac": Format(flac, read_sound, Promise.EXACT, needs="soundfile"),
    "jpg": Format(picture, read_picture, Promise.FORM, needs="PIL"),
    "png": Format(png, read_picture, Promise.EXACT, needs="PIL"),
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


def outcome(path: Path, form: Format, original: list[object]) -> str:
    """Return `data` or `error`; fail if the guarantee does not hold."""
    began = time.process_time()
    with allocated() as memory:
        try:
            found = form.read(path)
        except ps.errors.DataError as error:
            said = "\n".join([str(error), *getattr(error, "__notes__", [])])
            assert str(path) in said or f"{path.parent}/index.json" in said, said
            assert PLACE.search(said), said
            told = "error"
        else:
            told = "data"
            wrong = broken(form.promise, found, original)
            assert wrong is None, f"{form.promise}: {wrong}"
    assert time.process_time() - began < MOST_SECONDS
    assert memory.most < MOST_BYTES
    return told


def survive(name: str, count: int, folder: Path, seed: int) -> Counter[str]:
    """Read `count` mutations of a good file; how many gave data, how many an error."""
    form = FORMATS[name]
    content = form.good()
    draw = random.Random(f"{name} {seed}")
    path = folder / f"a.{name}"
    path.write_bytes(form.wrap(content))
    original = form.read(path)
    told: Counter[str] = Counter()
    for _ in range(count):
        path.write_bytes(form.wrap(mutated(content, draw)))
        told[outcome(path, form, original)] += 1
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("formats", nargs="*", choices=[[], *FORMATS])
    asked = parser.parse_args()
    tracemalloc.start()
    for name in asked.formats or FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({name: survive(name, asked.count, Path(folder), asked.seed)}), flush=True)


if __name__ == "__main__":
    main()
