"""The objects of `remote`: the same photos in files of five kinds, and the check of delivered batches.

Each photo ends with its number and a checksum, which JPEG decoders skip. Contenders import this file in their own
environments, so it needs only NumPy, unless it has to make the files.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench import data
from bench.tally import Tally

FOLDER = data.DATA / "remote"
KINDS = {"tfrecord": "TFRecord", "tar": "tar", "parquet": "Parquet", "photos": "single JPEGs", "mds": "MDS shards"}
FILES, GROUP = 8, 64  # files of each kind but single ones; photos in a row group of Parquet
Place = tuple[str, int | None, int | None]  # a file, and where in it a photo begins and ends; None: all of it


def object_files() -> None:
    """Write the files of all kinds, unless all are there."""
    if all((FOLDER / kind).exists() for kind in KINDS):
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    import penstock as ps

    paths, _ = data.image_files(data.image_folder())
    photos = [sealed(Path(path).read_bytes(), number) for number, path in enumerate(paths)]
    unfinished = FOLDER.with_name("remote.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for kind in KINDS:
        (unfinished / kind).mkdir(parents=True)
    for number, photo in enumerate(photos):
        (unfinished / "photos" / f"{number:05d}.jpg").write_bytes(photo)
    parts = np.array_split(np.arange(len(photos)), FILES)
    for file, numbers in enumerate(parts):
        part = [photos[number] for number in numbers]
        written = ps.Dataset.from_generator(lambda part=part: iter(part))
        written.write_tfrecord(unfinished / "tfrecord" / f"{file}.tfrecord", index=False)
        pq.write_table(
            pa.table({"image": pa.array(part, pa.binary())}),
            unfinished / "parquet" / f"{file}.parquet",
            row_group_size=GROUP,
            compression="none",
            use_dictionary=False,
        )
        with tarfile.open(unfinished / "tar" / f"{file}.tar", "w") as tar:
            for number, photo in zip(numbers, part, strict=True):
                info = tarfile.TarInfo(f"{number:05d}.jpg")
                info.size = len(photo)
                tar.addfile(info, io.BytesIO(photo))
        (unfinished / "mds" / shard_name(file)).write_bytes(shard_of(part))
    write_shard_index(unfinished / "mds", list(map(len, parts)))
    shutil.rmtree(FOLDER, ignore_errors=True)
    unfinished.rename(FOLDER)


def shard_name(file: int) -> str:
    return f"shard.{file:05d}.mds"


def shard_of(photos: Sequence[bytes]) -> bytes:
    """Return a shard of MosaicML Streaming: the number of samples, their offsets, and each with its size before it."""
    samples = [struct.pack("<I", len(photo)) + photo for photo in photos]
    ends = np.cumsum([4 * (len(samples) + 2), *map(len, samples)])
    return struct.pack(f"<{len(ends) + 1}I", len(samples), *ends.tolist()) + b"".join(samples)


def write_shard_index(folder: Path, counts: Sequence[int]) -> None:
    """Write the `index.json` of shards with that many photos each."""
    shards = [
        {
            "format": "mds", "version": 2, "compression": None, "hashes": [], "samples": count, "size_limit": 1 << 26,
            "raw_data": {"basename": name, "bytes": (folder / name).stat().st_size, "hashes": {}},
            "zip_data": None, "column_names": ["jpg"], "column_encodings": ["bytes"], "column_sizes": [None],
        }
        for name, count in zip(map(shard_name, range(len(counts))), counts, strict=True)
    ]  # fmt: skip
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


def sealed(photo: bytes, number: int) -> bytes:
    """Return a photo followed by its number and the checksum of both."""
    numbered = photo + struct.pack("<I", number)
    return numbered + struct.pack("<I", zlib.crc32(numbered))


def look_at_photos(tally: Tally, photos: Sequence[bytes]) -> None:
    """Take a batch of k photos; on a thorough run check all of their bytes."""
    if not tally.thorough:
        tally.rows += len(photos)
        return
    numbers: list[int] = []
    for photo in photos:
        number, checksum = struct.unpack("<II", photo[-8:])
        if zlib.crc32(photo[:-4]) != checksum:
            raise ValueError(f"photo {number} of {len(photo)} bytes is damaged")
        numbers.append(number)
    tally.add(np.array([len(photo) for photo in photos]), np.array(numbers))


def names_of(kind: str) -> list[str]:
    """Return the paths of the files of a kind below `FOLDER`, sorted."""
    return sorted(f"{kind}/{path.name}" for path in (FOLDER / kind).iterdir() if path.suffix != ".json")


def places_of(kind: str) -> list[Place]:
    """Return the place of each photo; not of Parquet, whose pages hold several."""
    return [place for name in names_of(kind) for place in places_in(kind, name)]


def places_in(kind: str, name: str) -> Iterator[Place]:
    if kind == "photos":
        yield name, None, None
    elif kind == "tar":
        with tarfile.open(FOLDER / name) as tar:
            for info in tar:
                yield name, info.offset_data, info.offset_data + info.size
    elif kind == "mds":
        content = (FOLDER / name).read_bytes()
        (count,) = struct.unpack_from("<I", content)
        for begin, end in pairwise(struct.unpack_from(f"<{count + 1}I", content, 4)):
            yield name, begin + 4, end
    else:
        content = (FOLDER / name).read_bytes()
        at = 0
        while at < len(content):  # length (8 bytes), its checksum (4), content, its checksum (4)
            begin = at + 12
            at = begin + struct.unpack_from("<Q", content, at)[0] + 4
            yield name, begin, at - 4
