"""Real text and records: the lines of many files at random, and digits as TFRecord, each compared with its source."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import penstock as ps
from penstock.cli.demo.resuming import batch_digest
from penstock.core.lazy import require

_BATCH = 64  # records
SHARD = 50_000  # bytes of records in one file


class Lines(NamedTuple):
    """The numbers of lines and files, of lines that came unchanged, and of seconds; and some of the lines."""

    files: int
    lines: int
    equal: int
    seconds: float
    some: Sequence[tuple[int, str, str]]
    """A row, its file and line, and its text."""


class RecordsRead(NamedTuple):
    """The numbers of records, files and unchanged records; and the row that a reader resumed from.

    The resumed reader made `resumed` of `left` batches correctly.
    """

    files: int
    records: int
    equal: int
    seconds: float
    row: int
    left: int
    resumed: int


def copy_text(folder: Path) -> None:
    """Copy the modules of Python's standard library, so that the index is in our folder, not next to the originals."""
    folder.mkdir()
    for file in Path(sysconfig.get_path("stdlib")).glob("*.py"):
        shutil.copyfile(file, folder / file.name)


def check_lines(folder: Path) -> Lines:
    """Read every line once, in an order shuffled over all files, and compare it with what plain Python reads there."""
    files = sorted(folder.glob("*.py"))
    expected = [line for file in files for line in _plain_lines(file)]
    began = perf_counter()
    lines = ps.read_text(f"{folder}/*.py")
    read: list[tuple[int, str]] = [
        pair
        for rows, texts in lines.enumerate().shuffle(seed=0).batch(1024)
        for pair in zip(rows.tolist(), texts, strict=True)
    ]
    seconds = perf_counter() - began
    equal = sum(expected[row] == text for row, text in read) if len(read) == len(set(read)) == len(expected) else 0
    longer = [pair for pair in read if len(pair[1].split()) > 5][:3]
    some = [(row, Path(lines.locate(row)[0].name).name, text.strip()) for row, text in longer]
    return Lines(len(files), len(lines), equal, seconds, some)


def write_records(folder: Path) -> list[str]:
    """Write scikit-learn's digits as `tf.train.Example` in TFRecord files with an index; return the files."""
    digits = require("sklearn.datasets", extra="demo", purpose="penstock demo").load_digits()
    numbered = ps.Dataset.from_tensor_slices({"image": digits.images, "label": digits.target}).enumerate()
    examples = numbered.map(
        lambda number, digit: ps.records.encode_example(
            {"image": digit["image"].astype(np.int64).ravel(), "label": digit["label"], "number": number}
        )
    )
    return examples.write_tfrecord(folder / "digits.tfrecord", max_bytes=SHARD)


def parsed_records(paths: Sequence[str]) -> ps.Dataset[dict[str, Any]]:
    """Shuffle the records of all files, batch them, and parse each batch into columns."""
    features = {
        "image": ps.records.FixedLenFeature([8, 8], "int64"),
        "label": ps.records.FixedLenFeature([], "int64"),
        "number": ps.records.FixedLenFeature([], "int64"),
    }
    return ps.read_tfrecord(paths).shuffle(seed=0).batch(_BATCH).map(ps.records.parse_example(features))


def read_records(paths: Sequence[str]) -> RecordsRead:
    """Read the digits back and compare them with their source; resume a second reader by the row of the first one."""
    digits = require("sklearn.datasets", extra="demo", purpose="penstock demo").load_digits()
    dataset = parsed_records(paths)
    half, state = len(dataset) // 2, {}
    digests: list[str] = []
    seen = np.zeros(len(digits.images), np.int64)
    began = perf_counter()
    with dataset.iterator() as batches:
        for step, batch in enumerate(batches):
            number = batch["number"]
            same = (batch["image"] == digits.images[number]).all(axis=(1, 2)) & (
                batch["label"] == digits.target[number]
            )
            seen[number[same]] += 1
            if step == half - 1:
                state = batches.state_dict()
            elif step >= half:
                digests.append(batch_digest(batch))
    seconds = perf_counter() - began
    with parsed_records(paths).iterator() as batches:
        batches.load_state_dict(state)
        resumed = [batch_digest(batch) for batch in batches]
    alike = sum(a == b for a, b in zip(digests, resumed, strict=False)) if len(digests) == len(resumed) else 0
    return RecordsRead(len(paths), len(seen), int((seen == 1).sum()), seconds, state["row"], len(digests), alike)


def _plain_lines(file: Path) -> list[str]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        return [line.removesuffix("\n").removesuffix("\r") for line in lines]
