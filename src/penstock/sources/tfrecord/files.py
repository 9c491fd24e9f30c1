"""TFRecord files, with random access to records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from penstock.kernels.records import Framing, scan_tfrecords
from penstock.sources.records.files import RecordFiles
from penstock.storage.indexing import IndexKind
from penstock.storage.soundness import Arrays, are_offsets


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    return {"offsets": scan_tfrecords(path, seen=seen)}


def _is_sound(arrays: Arrays, size: int) -> bool:
    return are_offsets(arrays, size, "offsets") and arrays["offsets"][0] == 0 and arrays["offsets"][-1] == size


TFRECORD = IndexKind("tfrecord", _scan, _is_sound, is_checked=True)


def tfrecord_files(paths: list[str], *, verify: bool = True) -> RecordFiles:
    """Return the records of plain TFRecord files; with `verify`, check each record whenever it is read."""
    shown = repr(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    return RecordFiles(paths, TFRECORD, Framing.TFRECORD, f"read_tfrecord({shown})", verify)
