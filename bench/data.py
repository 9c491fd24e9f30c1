"""The data of the workloads, made once from fixed seeds into bench/data/."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np

from bench.environments import ROOT

DATA = ROOT / "bench" / "data"
IMAGES, CLASSES = 2048, 128
LARGE_IMAGES = 1024
# The most common sizes in ImageNet, roughly in proportion: most are 500 wide, a fifth are upright.
SIZES = (
    (500, 375),
    (500, 375),
    (500, 375),
    (500, 375),
    (500, 333),
    (500, 333),
    (375, 500),
    (333, 500),
    (500, 400),
    (480, 360),
)


def image_folder() -> Path:
    """Make 2,048 photos of about 500x375 in 128 class folders: random cuts of scikit-learn's two sample photos.

    Each cut has 0.6 to 1.0 of a photo's height. It is resampled, mirrored or not, made lighter or darker, and saved
    as JPEG of quality 90, 4:2:0.
    """
    rng = np.random.default_rng(20261)
    sizes = [SIZES[i] for i in rng.integers(len(SIZES), size=IMAGES)]
    return write_folder("images", sizes, lambda size: cut(rng, *size))


def large_folder() -> Path:
    """Make 1,024 photos of 1000x750: mosaics of four cuts each, because an enlarged cut would have no detail."""
    rng = np.random.default_rng(20262)

    def mosaic(size: tuple[int, int]) -> np.ndarray:
        quarters = [cut(rng, size[0] // 2, size[1] // 2) for _ in range(4)]
        return np.vstack([np.hstack(quarters[:2]), np.hstack(quarters[2:])])

    return write_folder("large", [(1000, 750)] * LARGE_IMAGES, mosaic)


def write_folder(name, sizes, draw) -> Path:
    """Write one JPEG for each of `sizes` into bench/data/<name>/<class>/, all or nothing."""
    from PIL import Image

    folder = DATA / name
    if folder.exists():
        return folder
    print(f"making {len(sizes)} photos in {folder}", flush=True)
    unfinished = DATA / f"{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    for i, size in enumerate(sizes):
        path = unfinished / f"class{i % CLASSES:03d}" / f"{i:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw(size)).save(path, quality=90, subsampling="4:2:0")
    unfinished.rename(folder)
    return folder


def cut(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    """Return one random cut of a sample photo as uint8 (height, width, 3)."""
    from PIL import Image

    photo = sample_photos()[rng.integers(2)]
    full_height, full_width = photo.shape[:2]
    scale = min(full_height / height, full_width / width) * rng.uniform(0.6, 1.0)
    w, h = int(width * scale), int(height * scale)
    x, y = int(rng.integers(full_width - w + 1)), int(rng.integers(full_height - h + 1))
    image = Image.fromarray(photo).resize((width, height), Image.Resampling.LANCZOS, box=(x, y, x + w, y + h))
    pixels = np.asarray(image, dtype=np.float32) * rng.uniform(0.8, 1.2) + rng.uniform(-15, 15)
    pixels = pixels[:, ::-1] if rng.random() < 0.5 else pixels
    return np.ascontiguousarray(pixels.clip(0, 255).astype(np.uint8))


_photos: list[np.ndarray] = []


def sample_photos() -> list[np.ndarray]:
    if not _photos:
        from sklearn.datasets import load_sample_images

        _photos.extend(load_sample_images().images)
    return _photos


def image_files(folder: Path) -> tuple[list[str], list[int]]:
    """List the files of an image folder with their labels: classes and files in sorted order."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    pairs = [(str(file), label) for label, group in enumerate(classes) for file in sorted(group.iterdir())]
    return [path for path, _ in pairs], [label for _, label in pairs]


def array_file(name: str, rows: int, shape: tuple[int, ...]) -> Path:
    """Make one .npy of `rows` random uint8 arrays of `shape`, each with its row number in its first four bytes."""
    path = DATA / f"{name}.npy"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        values = np.random.default_rng(20263).integers(0, 256, size=(rows, *shape), dtype=np.uint8)
        values.reshape(rows, -1)[:, :4] = np.arange(rows, dtype="<u4")[:, None].view(np.uint8)
        np.save(path.with_suffix(".unfinished.npy"), values)
        path.with_suffix(".unfinished.npy").rename(path)
    return path


def label_file(name: str, rows: int) -> Path:
    """Make one .npy of `rows` random class labels, int64."""
    path = DATA / f"{name}.npy"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        np.save(path, np.random.default_rng(20264).integers(0, 10, size=rows, dtype=np.int64))
    return path


def token_files(documents: int, shortest: int, longest: int) -> tuple[Path, Path]:
    """Make two .npy: `documents` random documents end to end, int32, and the offset of each, int64 (documents + 1).

    Document i begins with token i; the others are below 128,000.
    """
    tokens, splits = DATA / "tokens.npy", DATA / "tokens-splits.npy"
    if not (tokens.exists() and splits.exists()):
        DATA.mkdir(exist_ok=True)
        rng = np.random.default_rng(20265)
        ends = np.cumsum(rng.integers(shortest, longest + 1, size=documents))
        begins = np.concatenate([[0], ends])
        values = rng.integers(0, 128_000, size=begins[-1], dtype=np.int32)
        values[begins[:-1]] = np.arange(documents)
        np.save(splits, begins)
        np.save(tokens.with_suffix(".unfinished.npy"), values)
        tokens.with_suffix(".unfinished.npy").rename(tokens)
    return tokens, splits


def line_files(rows: int) -> tuple[Path, Path]:
    """Make two files: `rows` lines of a number and sixteen words, and as many JSON objects with four fields."""
    text, objects = DATA / "lines.txt", DATA / "lines.jsonl"
    if not (text.exists() and objects.exists()):
        DATA.mkdir(exist_ok=True)
        rng = np.random.default_rng(20266)
        letters = rng.integers(ord("a"), ord("z") + 1, (5_000, 10), dtype=np.uint8)
        words = [letters[i, :length].tobytes().decode() for i, length in enumerate(rng.integers(2, 11, 5_000))]
        lines = [" ".join(words[i] for i in chosen) for chosen in rng.integers(0, 5_000, (rows, 16)).tolist()]
        scores = rng.random(rows).tolist()
        kept = ({"id": i, "label": i % 10, "score": scores[i], "text": line} for i, line in enumerate(lines))
        text.write_text("".join(f"{i:07d} {line}\n" for i, line in enumerate(lines)), "utf-8")
        objects.write_text("".join(json.dumps(each) + "\n" for each in kept), "utf-8")
    return text, objects


def tar_files(rows: int, archives: int) -> Path:
    """Make tar archives of `rows` samples with Python's `tarfile`: `bin` of 4 to 12 KB, and `cls`, their number."""
    folder = DATA / "tar"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        rng = np.random.default_rng(20267)
        for archive, numbers in enumerate(np.array_split(np.arange(rows), archives)):
            with tarfile.open(unfinished / f"{archive:03d}.tar", "w") as tar:
                for number in numbers.tolist():
                    content = rng.bytes(int(rng.integers(4_000, 12_000)))
                    for name, value in ((f"{number:07d}.bin", content), (f"{number:07d}.cls", b"%d" % number)):
                        info = tarfile.TarInfo(name)
                        info.size = len(value)
                        tar.addfile(info, io.BytesIO(value))
        unfinished.rename(folder)
    return folder


def table_files(rows: int, features: int) -> tuple[Path, Path]:
    """Make Parquet (20,000 rows a group) and CSV: `rows` of `id`, `label`, `kind` of three texts, `features` floats."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    parquet, csv = DATA / "table.parquet", DATA / "table.csv"
    if not (parquet.exists() and csv.exists()):
        DATA.mkdir(exist_ok=True)
        rng = np.random.default_rng(20268)
        columns: dict[str, np.ndarray] = {"id": np.arange(rows), "label": rng.integers(0, 10, rows)}
        columns["kind"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, rows)]
        columns |= {f"x{i:02d}": rng.normal(size=rows).astype(np.float32) for i in range(features)}
        table = pa.table(columns)
        arrow_csv.write_csv(table, csv)
        pq.write_table(table, parquet, row_group_size=20_000)
    return parquet, csv
