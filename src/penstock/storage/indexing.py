"""The index of each of some files: loaded where there is one that is still true, else made, side by side, and kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.digest import digest
from penstock.core.errors import DataError
from penstock.kernels.records import ScanError
from penstock.storage.paths import INDEX_FOLDER, INDEX_SUFFIX, is_index
from penstock.storage.progress import Progress
from penstock.storage.sidecar import Sidecar, Stamp
from penstock.storage.state import FileState

Scan = Callable[[str, Callable[[int], None]], Mapping[str, NDArray[Any]]]
"""What makes the arrays of a file's index: called with its path, it tells how many bytes it has seen as it goes on."""

IsSound = Callable[[Mapping[str, NDArray[Any]], int], bool]
"""Whether arrays are such as the scan makes, of a file of so many bytes: what an index holds is not believed unseen."""


@dataclass(frozen=True)
class Kind:
    """A kind of index: a format with parameters, the scan that makes it, and what tells one that it made from others.

    Indexes of other kinds, of the same file, do not stand for it.
    """

    format: str
    scan: Scan
    is_sound: IsSound
    parameters: tuple[tuple[str, Any], ...] = ()
    nothing: Mapping[str, NDArray[Any]] = field(default_factory=lambda: {"offsets": np.zeros(1, np.int64)})
    """The arrays of a file of which nothing is known."""
    is_checked: bool = False
    """Return whether readers check in the file itself that a record lies where the index says.

    Where they do, an index is believed of a file that is newer and alike in the places that its stamp is made of, as a
    copy is. Where they do not, a file of which the stamp has not all is indexed again.
    """

    def named(self, path: str) -> str:
        """Return the name of the index of a file, one for each format and each choice of parameters.

        >>> kind = Kind("tfrecord", dict, lambda arrays, size: True)
        >>> kind.named("a.tfrecord"), kind.named("a.bin")
        ('a.tfrecord.psindex', 'a.bin.tfrecord.psindex')
        """
        if self.parameters:
            return f"{path}.{self.format}-{digest(repr(self.parameters).encode(), size=4)}{INDEX_SUFFIX}"
        return path + ("" if path.endswith(f".{self.format}") else f".{self.format}") + INDEX_SUFFIX


def index_files(
    paths: Sequence[str],
    kind: Kind,
    *,
    save: bool = True,
    refresh: bool = False,
    workers: int | None = None,
    tolerant: bool = False,
) -> list[Sidecar]:
    """Return the index of each file.

    One that lies in a hidden folder beside the file, or in the cache folder, is taken if the file has not changed
    since; else, and with `refresh`, it is made, by as many threads as there are processors, and kept if `save`: beside
    the file, or in the cache folder if that place cannot be written to. On a terminal a line shows how far it is, once
    it takes a second.

    A file that cannot be indexed to its end is an error; or, where `tolerant`, the `fault` of an index of what comes
    before, which is not kept.
    """
    load = partial(_unless_wrong, _load, kind) if tolerant else _load
    found = [None if refresh else load(path, kind) for path in paths]
    missing = [i for i, sidecar in enumerate(found) if sidecar is None]
    if missing:
        sizes = {i: os.path.getsize(paths[i]) for i in missing if not tolerant or os.path.exists(paths[i])}
        with Progress(f"indexing {len(missing):,} file{'s' * (len(missing) > 1)}", sum(sizes.values())) as progress:

            def make(i: int) -> Sidecar:
                make_one = partial(_make, progress=progress, save=save)
                return _unless_wrong(make_one, kind, paths[i], kind) if tolerant else make_one(paths[i], kind)

            for i, sidecar in zip(missing, _side_by_side(make, missing, workers), strict=True):
                found[i] = sidecar
    return [sidecar for sidecar in found if sidecar is not None]


T = TypeVar("T")


def _unless_wrong(make: Callable[[str, Kind], T], kind: Kind, path: str, _: Kind) -> T | Sidecar:
    """Return `make(file)`, or the index of the sound part of the file with the error that follows it."""
    try:
        return make(path, kind)
    except (DataError, OSError) as error:
        arrays = error.arrays if isinstance(error, ScanError) else None
        try:
            state, stamp = FileState.of(path), Stamp.of(path)
        except OSError:
            state, stamp = None, Stamp(0, 0, "")
        error.__traceback__ = None  # it may be kept for long
        return Sidecar(kind.format, dict(kind.parameters), stamp, arrays or kind.nothing, state=state, fault=error)


def index_path(path: str, kind: Kind) -> str:
    """Return where the index of a file is kept if its folder can be written to: a hidden folder beside the file.

    Patterns for the data, such as `train-*`, match nothing in it, in whatever program.
    """
    folder, name = os.path.split(path)
    return os.path.join(folder, INDEX_FOLDER, kind.named(name))


def visible_index_path(path: str, kind: Kind) -> str:
    """Return where early versions kept the index of a file: beside it, where patterns for the data match it."""
    return kind.named(path)


def cached_index_path(path: str, kind: Kind) -> str:
    """Return where the index of a file is kept if its folder cannot be written to."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    named = digest(os.fsencode(os.path.abspath(path)), size=8)
    return os.path.join(root, "penstock", "index", f"{named}-{kind.named(os.path.basename(path))}")


def save_index(sidecar: Sidecar, place: str) -> None:
    """Write an index where it is kept, in a folder that is made if it is not there."""
    folder = os.path.dirname(place)
    os.makedirs(folder, exist_ok=True)
    try:
        sidecar.save(place)
    except OSError:
        with suppress(OSError):  # not empty
            os.rmdir(folder)
        raise


def _load(path: str, kind: Kind) -> Sidecar | None:
    _hide(path, kind)
    for place in (index_path(path, kind), cached_index_path(path, kind)):
        try:
            sidecar = Sidecar.load(place)
        except (OSError, DataError):  # not there, or damaged: it is made again, and replaced
            continue
        same = sidecar.format == kind.format and dict(sidecar.parameters) == dict(kind.parameters)
        state, stamp = FileState.of(path), sidecar.stamp
        is_known = state.mtime_ns == stamp.mtime_ns or kind.is_checked or stamp.is_exact
        if same and is_known and stamp.is_of(path) and kind.is_sound(sidecar.arrays, stamp.size):
            return replace(sidecar, state=state)
    return None


def _hide(path: str, kind: Kind) -> None:
    """Move the index of an early version to where indexes are kept now, if that can be done."""
    visible = visible_index_path(path, kind)
    if not is_index(visible):
        return
    place = index_path(path, kind)
    with suppress(OSError):  # of somebody else, or in a folder that is read-only: readers pass over it
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.replace(visible, place)


def _make(path: str, kind: Kind, progress: Progress, *, save: bool) -> Sidecar:
    state = FileState.of(path)
    stamp = Stamp.of(path)
    seen = 0

    def tell(position: int) -> None:
        nonlocal seen
        progress.advance(position - seen)
        seen = position

    sidecar = Sidecar(kind.format, dict(kind.parameters), stamp, kind.scan(path, tell), state=state)
    tell(stamp.size)
    if not state.is_of(path):
        raise DataError(f"{path} changed while it was indexed; try again when it has been written")
    return _kept(sidecar, path, kind) if save else sidecar


def _kept(sidecar: Sidecar, path: str, kind: Kind) -> Sidecar:
    """Write the index where that can be done; elsewhere it lives as long as the process."""
    for place in (index_path(path, kind), cached_index_path(path, kind)):
        try:
            save_index(sidecar, place)
        except OSError:  # a folder that is read-only, a disk that is full
            continue
        return replace(Sidecar.load(place), state=sidecar.state)  # mapped, so that it holds no memory
    return sidecar


def _side_by_side(make: Callable[[int], Sidecar], numbers: Sequence[int], workers: int | None) -> list[Sidecar]:
    count = min(len(numbers), workers or len(os.sched_getaffinity(0)))
    if count <= 1:
        return [make(i) for i in numbers]
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
