"""Indexes of files: loaded if still valid, otherwise made, in parallel, and saved."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from glob import escape, glob
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.digest import digest
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.kernels.records import ScanError
from penstock.storage.file_kinds import told_of_kind
from penstock.storage.local import file_size
from penstock.storage.paths import INDEX_FOLDER, INDEX_SUFFIX, is_index
from penstock.storage.progress import Progress
from penstock.storage.remote.file import RemoteFile, are_remote
from penstock.storage.sidecar import Sidecar, Stamp
from penstock.storage.state import FileState

ScanFile = Callable[[str, Callable[[int], None]], Mapping[str, NDArray[Any]]]
"""A function that makes the arrays of a file's index; it takes the path and a callback for the bytes seen so far."""

_DOWNLOADS = 4  # remote files that are indexed at once: each is downloaded in several requests

IsSound = Callable[[Mapping[str, NDArray[Any]], int], bool]
"""A check of loaded arrays against the form of the scan's results, for a file of a given size."""


@frozen()
class IndexKind:
    """A kind of index: a format with parameters, the scan that makes it, and the check of its arrays.

    Indexes of other kinds for the same file are independent.
    """

    format: str
    scan: ScanFile
    is_sound: IsSound
    parameters: tuple[tuple[str, Any], ...] = ()
    nothing: Mapping[str, NDArray[Any]] = field(default_factory=lambda: {"offsets": np.zeros(1, np.int64)})
    """The arrays for a file without sound records."""
    is_checked: bool = False
    """True if readers verify in the file itself that a record lies at its indexed place.

    If true, an index is also valid for a newer file with an equal stamp, such as a copy. Otherwise such a file is
    indexed again, unless its stamp covers all its content.
    """

    def named(self, path: str) -> str:
        """Return the name of the index of a file, one for each format and each choice of parameters.

        >>> kind = IndexKind("tfrecord", dict, lambda arrays, size: True)
        >>> kind.named("a.tfrecord"), kind.named("a.bin")
        ('a.tfrecord.psindex', 'a.bin.tfrecord.psindex')
        """
        if self.parameters:
            return f"{path}.{self.format}-{digest(repr(self.parameters).encode(), size=4)}{INDEX_SUFFIX}"
        return path + ("" if path.endswith(f".{self.format}") else f".{self.format}") + INDEX_SUFFIX


def index_files(
    paths: Sequence[str],
    kind: IndexKind,
    *,
    save: bool = True,
    refresh: bool = False,
    workers: int | None = None,
    tolerant: bool = False,
) -> list[Sidecar]:
    """Return the index of each file.

    A saved index, in a hidden folder next to the file or in the cache folder, is used if the file has not changed
    since. Otherwise, and with `refresh`, indexes are made, by one thread for each processor, and saved if `save`: next
    to the file, or in the cache folder if that place is not writable. A terminal shows progress after a second.

    A file that cannot be indexed to its end raises an error or, if `tolerant`, has an unsaved index of its sound part
    with that error as its `fault`.
    """
    load = partial(_unless_wrong, _load, kind) if tolerant else _load
    given, paths = paths, list(dict.fromkeys(paths))  # a file that is read twice is indexed once
    if are_remote(paths) and not refresh:
        from penstock.storage.remote.indexes import fetch_remote

        fetch_remote([path for path in paths if isinstance(path, RemoteFile)], kind)
    found = [None if refresh else load(path, kind) for path in paths]
    missing = [i for i, sidecar in enumerate(found) if sidecar is None]
    if missing:
        sizes = {i: file_size(paths[i]) for i in missing if not tolerant or _exists(paths[i])}
        with Progress(f"indexing {len(missing):,} file{'s' * (len(missing) > 1)}", sum(sizes.values())) as progress:

            def make(i: int) -> Sidecar:
                make_one = partial(_make, progress=progress, save=save)
                return _unless_wrong(make_one, kind, paths[i], kind) if tolerant else make_one(paths[i], kind)

            if workers is None and are_remote(paths):
                workers = _DOWNLOADS
            for i, sidecar in zip(missing, _side_by_side(make, missing, workers), strict=True):
                found[i] = sidecar
    index_of = dict(zip(paths, found, strict=True))
    return [sidecar for path in given if (sidecar := index_of[path]) is not None]


T = TypeVar("T")


def _unless_wrong(make: Callable[[str, IndexKind], T], kind: IndexKind, path: str, _: IndexKind) -> T | Sidecar:
    """Return `make(file)`, or the index of the sound part of the file with the error that follows it."""
    try:
        return make(path, kind)
    except (DataError, OSError) as error:
        arrays = error.arrays if isinstance(error, ScanError) else None
        try:
            state, stamp = FileState.of(path), Stamp.of(path)
        except (DataError, OSError):
            state, stamp = None, Stamp(0, 0, "")
        error.__traceback__ = None  # the error may be kept for long
        return Sidecar(kind.format, dict(kind.parameters), stamp, arrays or kind.nothing, state=state, fault=error)


def index_path(path: str, kind: IndexKind) -> str:
    """Return the path of a file's index if its folder is writable: in a hidden folder next to the file.

    Patterns for the data, such as `train-*`, match nothing in that folder, in any program.
    """
    folder, name = os.path.split(path)
    return os.path.join(folder, INDEX_FOLDER, kind.named(name))


def indexes_beside(path: str) -> list[str]:
    """Return the paths of all indexes of a file that are kept next to it."""
    folder, name = os.path.split(path)
    beside = os.path.join(escape(folder), INDEX_FOLDER, escape(name))
    return glob(f"{beside}.*{INDEX_SUFFIX}") + glob(f"{beside}{INDEX_SUFFIX}")


def visible_index_path(path: str, kind: IndexKind) -> str:
    """Return the path of a file's index in early versions: next to the file, where patterns for the data match."""
    return kind.named(path)


def cached_index_path(path: str, kind: IndexKind) -> str:
    """Return the path of a file's index if its folder is not writable."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    named = digest(os.fsencode(os.path.abspath(path)), size=8)
    return os.path.join(root, "penstock", "index", f"{named}-{kind.named(os.path.basename(path))}")


def save_index(sidecar: Sidecar, place: str) -> None:
    """Save an index to its path; make the folder if missing."""
    folder = os.path.dirname(place)
    os.makedirs(folder, exist_ok=True)
    try:
        sidecar.save(place)
    except OSError:
        with suppress(OSError):  # not empty
            os.rmdir(folder)
        raise


def _exists(path: str) -> bool:
    return isinstance(path, RemoteFile) or os.path.exists(path)


def _load(path: str, kind: IndexKind) -> Sidecar | None:
    if isinstance(path, RemoteFile):
        from penstock.storage.remote.indexes import load_remote

        return load_remote(path, kind)
    _hide(path, kind)
    for place in (index_path(path, kind), cached_index_path(path, kind)):
        try:
            sidecar = Sidecar.load(place)
        except (OSError, DataError):  # missing or damaged: made again and replaced
            continue
        same = sidecar.format == kind.format and dict(sidecar.parameters) == dict(kind.parameters)
        state, stamp = FileState.of(path), sidecar.stamp
        is_known = state.mtime_ns == stamp.mtime_ns or kind.is_checked or stamp.is_exact
        if same and is_known and stamp.is_of(path) and kind.is_sound(sidecar.arrays, stamp.size):
            return replace(sidecar, state=state)
    return None


def _hide(path: str, kind: IndexKind) -> None:
    """Move the index of an early version to its present path, if possible."""
    visible = visible_index_path(path, kind)
    if not is_index(visible):
        return
    place = index_path(path, kind)
    with suppress(OSError):  # of another owner, or in a read-only folder: readers ignore it
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.replace(visible, place)


def _make(path: str, kind: IndexKind, progress: Progress, *, save: bool) -> Sidecar:
    seen = 0

    def tell(position: int) -> None:
        nonlocal seen
        progress.advance(position - seen)
        seen = position

    if isinstance(path, RemoteFile):
        from penstock.storage.remote.indexes import make_remote

        return make_remote(path, kind, tell, save=save)
    state = FileState.of(path)
    stamp = Stamp.of(path)
    with told_of_kind(path, kind.format):
        arrays = kind.scan(path, tell)
    sidecar = Sidecar(kind.format, dict(kind.parameters), stamp, arrays, state=state)
    tell(stamp.size)
    if not state.is_of(path):
        raise DataError(f"{path} changed while being indexed; try again when writing has finished")
    return _kept(sidecar, path, kind) if save else sidecar


def _kept(sidecar: Sidecar, path: str, kind: IndexKind) -> Sidecar:
    """Return the index, saved if possible; otherwise it lives as long as the process."""
    for place in (index_path(path, kind), cached_index_path(path, kind)):
        try:
            save_index(sidecar, place)
        except OSError:  # a read-only folder, a full disk
            continue
        return replace(Sidecar.load(place), state=sidecar.state)  # mapped, so that the index takes no memory
    return sidecar


def _side_by_side(make: Callable[[int], Sidecar], numbers: Sequence[int], workers: int | None) -> list[Sidecar]:
    count = min(len(numbers), workers or len(os.sched_getaffinity(0)))
    if count <= 1:
        return [make(i) for i in numbers]
    from concurrent.futures import ThreadPoolExecutor  # takes longer to load than most indexes do

    failed = threading.Event()

    def unless_failed(i: int) -> Sidecar | None:
        if failed.is_set():
            return None
        try:
            return make(i)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(count, "penstock-index") as pool:
        futures = [pool.submit(unless_failed, i) for i in numbers]
        try:
            made = [future.result() for future in futures]
        except BaseException:
            failed.set()
            errors = [error for future in futures if (error := future.exception()) is not None]
            if errors:
                raise errors[0] from None
            raise
    return [sidecar for sidecar in made if sidecar is not None]
