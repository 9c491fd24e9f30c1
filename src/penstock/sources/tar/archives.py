"""Tar archives of samples, as in WebDataset, with random access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec
from penstock.kernels.records import RecordReader
from penstock.kernels.tar import NO_SAMPLES, Samples, SamplesOfArchives, TarError, scan_tar
from penstock.sources.protocol import Called
from penstock.sources.records.files import content_of
from penstock.sources.tar.decoders import Decoders
from penstock.sources.tar.samples import SampleField, Shape, Where, lacking, of_sample, parts_found
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.records import open_records
from penstock.storage.sidecar import Sidecar, check_mapped
from penstock.storage.soundness import Arrays, are_in_order, are_offsets, are_within, has_form, is_sorted

_ARRAYS = ("heads", "begins", "ends", "extension", "members", "keys", "key_ends", "skipped")


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    try:
        return _arrays_of(scan_tar(path, seen=seen))
    except TarError as error:
        error.arrays = _arrays_of(error.samples)
        raise


def _arrays_of(samples: Samples) -> Mapping[str, NDArray[Any]]:
    names = "\0".join(samples.extensions).encode("utf-8", "surrogateescape")
    return {name: getattr(samples, name) for name in _ARRAYS} | {"extensions": np.frombuffer(names, np.uint8)}


def _is_sound(arrays: Arrays, size: int) -> bool:
    members: dict[str, tuple[int | None, ...]] = dict.fromkeys(("heads", "begins", "ends"), (None,))
    is_formed = (
        has_form(arrays, np.int64, {**members, "members": (None,), "key_ends": (None,), "skipped": (3,)})
        and has_form(arrays, np.int32, {"extension": (None,)})
        and has_form(arrays, np.uint8, {"keys": (None,), "extensions": (None,)})
    )
    return is_formed and _members_fit(arrays, size) and _samples_fit(arrays)


def _members_fit(arrays: Arrays, size: int) -> bool:
    heads, begins, ends, extension = (arrays[name] for name in ("heads", "begins", "ends", "extension"))
    text = arrays["extensions"].tobytes()
    return (
        len(heads) == len(begins) == len(ends) == len(extension)
        and are_within(heads, size)
        and are_within(ends, size)
        and are_in_order(heads, begins)
        and are_in_order(begins, ends)
        and int(ends.sum() - begins.sum()) <= size  # members do not overlap
        and are_within(extension, text.count(b"\0") if text else -1)
    )


def _samples_fit(arrays: Arrays) -> bool:
    members, key_ends, keys = arrays["members"], arrays["key_ends"], arrays["keys"]
    return (
        len(members) == len(key_ends) + 1
        and are_offsets(arrays, len(arrays["begins"]), "members")
        and members[0] == 0
        and members[-1] == len(arrays["begins"])
        and are_in_order(members[:-1], members[1:], strictly=True)
        and is_sorted(arrays, len(keys), "key_ends")
    )


TAR = IndexKind("tar", _scan, _is_sound, nothing=_arrays_of(NO_SAMPLES))


@frozen(eq=False)
class TarFiles:
    """The samples of some archives, in order: dicts of `__key__` and the content of their files.

    Without `parts`, there is an entry for every extension in any archive.
    """

    paths: list[str]
    parts: tuple[SampleField, ...] | None
    decoders: Decoders
    name: str

    @property
    def called(self) -> Called | None:
        """The user's functions that decode files, if any."""
        return self.decoders.called

    @cached_property
    def sidecars(self) -> list[Sidecar]:
        """The index of each archive, made now if missing."""
        return index_files(self.paths, TAR, tolerant=True)

    @cached_property
    def faults(self) -> Mapping[int, Exception]:
        """The errors of archives, by number: each is the error of one sample after those found."""
        return {file: sidecar.fault for file, sidecar in enumerate(self.sidecars) if sidecar.fault is not None}

    @cached_property
    def samples(self) -> list[Samples]:
        """The samples of each archive, with their places."""
        return [samples_of(sidecar) for sidecar in self.sidecars]

    @property
    def length(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def _starts(self) -> Rows:
        """The first sample of each archive, and the total number."""
        return np.cumsum([0, *(len(samples) + (file in self.faults) for file, samples in enumerate(self.samples))])

    @property
    def file_starts(self) -> Rows:
        """The first sample of each archive."""
        return self._starts[:-1]

    @cached_property
    def shape(self) -> Shape:
        """The entries of elements, and their decoders."""
        parts = parts_found(self.samples, self.name) if self.parts is None else self.parts
        return Shape(parts, self.decoders)

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the members."""
        return open_records(
            self.paths,
            [samples.begins for samples in self.samples],
            [samples.ends for samples in self.samples],
            [sidecar.stamp.size for sidecar in self.sidecars],
            [sidecar.time for sidecar in self.sidecars],
        )

    def spec(self) -> Spec:
        return self.shape.spec()

    @cached_property
    def _samples(self) -> SamplesOfArchives:
        return SamplesOfArchives(self.samples, self.shape.extensions, self._starts)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        try:
            return self._read(np.asarray(rows, np.int64))
        finally:
            check_mapped(self.sidecars)

    def _read(self, rows: Rows) -> Chunk:
        if self.faults:
            self._refuse_lost(rows)
        members, missing = self._samples.members(rows)
        lacked = self.shape.first_missing(members) if missing else None
        if lacked is not None:
            at, part = lacked
            archive, sample = self._place(int(rows[at]))
            error = lacking(self.samples[archive], sample, part, self.paths[archive])
            error.element = at
            raise error
        return self.shape.chunk(
            self._samples.keys(rows),
            self._contents(members, missing > 0),
            lambda i, part: self._where(int(members[i, part])),
        )

    def _place(self, row: int) -> tuple[int, int]:
        """Return the archive of a row, and the number of its sample there."""
        archive = int(np.searchsorted(self._starts, row, side="right")) - 1
        return archive, row - int(self._starts[archive])

    @cached_property
    def _lost(self) -> Rows:
        """The rows that represent the unreadable ends of archives."""
        return self._starts[1:][list(self.faults)] - 1

    def _refuse_lost(self, rows: Rows) -> None:
        if len(found := np.flatnonzero(np.isin(rows, self._lost))):
            archive, _ = self._place(int(rows[found[0]]))
            error = copy(self.faults[archive])  # notes belong to one raise
            error.element = int(found[0])  # type: ignore[attr-defined] - tells which element failed
            raise error

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the members of the samples at `rows`."""
        rows = np.asarray(rows, np.int64)
        members, _ = self._samples.members(rows[~np.isin(rows, self._lost)] if self.faults else rows)
        self.reader.advise(members[members >= 0])

    def _contents(self, members: NDArray[np.int64], are_missing: bool) -> list[list[bytes | None]]:
        """Return the contents of the members, part by part; `None` if missing."""
        parts = members.shape[1]
        flat = members.ravel()
        there = np.flatnonzero(flat >= 0) if are_missing else None
        try:
            found: list[Any] = self.reader.read(flat if there is None else flat[there])
        except (DataError, OSError) as error:
            element = getattr(error, "element", None)
            if element is not None:  # counts members, not samples
                error.element = int(element if there is None else there[element]) // parts  # type: ignore[union-attr]
            raise
        if there is not None:
            values: list[bytes | None] = [None] * len(flat)
            for i, value in zip(there.tolist(), found, strict=True):
                values[i] = value
            found = values
        return [found[part::parts] for part in range(parts)]

    def _where(self, member: int) -> Where:
        archive, number = self.reader.place(member)
        samples = self.samples[archive]
        extension = samples.extensions[int(samples.extension[number])]
        key = samples.key(int(np.searchsorted(samples.members, number, side="right")) - 1)
        return Where(extension, f"{self.paths[archive]}: '{key}.{extension}', at byte {int(samples.begins[number])}")

    def describe(self, row: int) -> str:
        archive, sample = self._place(row)
        samples = self.samples[archive]
        if sample == len(samples):
            return f"{self.paths[archive]}, from byte {int(samples.ends[-1]) if len(samples.ends) else 0} on"
        at = int(samples.heads[int(samples.members[sample])])
        extensions = ", ".join(of_sample(samples, sample))
        return f"{self.paths[archive]}, {samples.key(sample)} ({extensions}), at byte {at}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the entries and number of elements, and a digest of the sizes and content of the archives."""
        return ("tar", self.parts is None, *self.shape.fingerprint(), self.length, content_of(self.sidecars))

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the description alone: the receiver opens the archives again, and finds their stored index."""
        return {field: self.__dict__[field] for field in ("paths", "parts", "decoders", "name")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)


def samples_of(sidecar: Sidecar) -> Samples:
    """Return the samples of an index."""
    arrays = sidecar.arrays
    text = arrays["extensions"].tobytes().decode("utf-8", "surrogateescape")
    samples = Samples(**{name: arrays[name] for name in _ARRAYS}, extensions=text.split("\0") if text else [])
    check_mapped([sidecar])
    return samples


def tar_files(paths: Sequence[str], parts: tuple[SampleField, ...] | None, decoders: Decoders) -> TarFiles:
    """Return the samples of archives that are not compressed."""
    shown = repr(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    return TarFiles(list(paths), parts, decoders, f"read_tar({shown})")
