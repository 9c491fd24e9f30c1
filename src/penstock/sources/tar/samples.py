"""The elements of tar archives: the chosen files of a sample, their names and decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ObjectSpec, Spec
from penstock.kernels import parsed_integers
from penstock.kernels.tar import Samples, skipped_in_words
from penstock.sources.tar.decoders import LEAF_DECODERS, Decoders, decode_file, decoder_spec, split_extension

KEY = "__key__"
MOST_COLUMNS = 256


class SampleField(NamedTuple):
    """One entry of an element: the file with the first of these extensions that a sample has."""

    name: str
    extensions: tuple[str, ...]
    required: bool = True


@frozen()
class Shape:
    """The entries of an element, and the decoders of their content."""

    parts: tuple[SampleField, ...]
    decoders: Decoders

    @cached_property
    def _order(self) -> list[int]:
        """The leaves in the order of their sorted names; -1 is the key."""
        names = [part.name for part in self.parts]
        return sorted(range(-1, len(names)), key=lambda i: KEY if i < 0 else names[i])

    @cached_property
    def _is_flat(self) -> bool:
        """True if each entry is a leaf."""
        return all(self.decoders(extension) in LEAF_DECODERS for part in self.parts for extension in part.extensions)

    @cached_property
    def structure(self) -> Any:
        """The structure of elements whose entries are leaves."""
        return flatten({KEY: "", **{part.name: b"" for part in self.parts}})[1]

    def spec(self) -> Spec:
        """Return the spec of an element, or `None` if unknown before reading."""
        entries: dict[str, Spec] = {KEY: ObjectSpec(str)}
        for part in self.parts:
            specs = [decoder_spec(self.decoders(extension)) for extension in part.extensions]
            if not part.required or None in specs or any(spec != specs[0] for spec in specs):
                return None
            entries[part.name] = specs[0]
        return entries

    @property
    def extensions(self) -> list[tuple[str, ...]]:
        """The extensions of each part, the preferred ones first."""
        return [part.extensions for part in self.parts]

    def first_missing(self, members: NDArray[np.int64]) -> tuple[int, SampleField] | None:
        """Return the first sample that lacks a required file, and the part of that file."""
        missing = (members < 0) & np.array([part.required for part in self.parts], np.bool_)
        if not missing.any():
            return None
        at, column = map(int, np.argwhere(missing)[0])
        return at, self.parts[column]

    def chunk(self, keys: list[str], contents: list[list[bytes | None]], which: Callable[[int, int], Where]) -> Chunk:
        """Return elements made from contents: `contents[part][i]` is of element i; `which` locates it for errors."""
        if not self._is_flat:
            columns = [self._decoded(number, values, which) for number, values in enumerate(contents)]
            names = [KEY, *(part.name for part in self.parts)]
            return Items([dict(zip(names, values, strict=True)) for values in zip(keys, *columns, strict=True)])
        made = [self._column(number, values, which) for number, values in enumerate(contents)]
        return Columns(self.structure, [keys if i < 0 else made[i] for i in self._order], len(keys))

    def _decoded(self, number: int, values: list[Any], which: Callable[[int, int], Where]) -> list[Any]:
        part = self.parts[number]
        decoders = [self.decoders(extension) for extension in part.extensions]
        if not any(decoders):
            return values
        one_by_one = (self._decoded_one(value, i, number, which) for i, value in enumerate(values))
        if part.required and len(decoders) == 1 and split_extension(part.extensions[0])[1] is None:
            with suppress(Exception):  # decoding one by one names the failing file
                return list(map(decoders[0], values))  # type: ignore[arg-type]
        return list(one_by_one)

    def _decoded_one(self, value: bytes | None, i: int, number: int, which: Callable[[int, int], Where]) -> Any:
        if value is None:
            return None
        where = which(i, number)
        try:
            return decode_file(value, where.extension, self.decoders(where.extension), where.text)
        except Exception as error:
            error.element = i  # type: ignore[attr-defined] - tells which element failed
            raise

    def _column(self, number: int, contents: list[Any], which: Callable[[int, int], Where]) -> Column:
        part = self.parts[number]
        decoder = self.decoders(part.extensions[0]) if part.required and len(part.extensions) == 1 else None
        if decoder is int and (numbers := parsed_integers(contents)) is not None:
            return numbers
        values = self._decoded(number, contents, which)
        dtype = getattr(decoder_spec(decoder), "dtype", None)
        if dtype is None:
            return values
        try:
            return np.array(values, dtype)
        except OverflowError:
            return values  # integers beyond int64 stay Python's

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the shape."""
        return (*map(tuple, self.parts), *self.decoders.fingerprint())


class Where(NamedTuple):
    """The origin of an entry's content."""

    extension: str
    text: str


def of_sample(samples: Samples, sample: int) -> list[str]:
    """Return the extensions of the files of a sample."""
    kinds = samples.extension[int(samples.members[sample]) : int(samples.members[sample + 1])]
    return [samples.extensions[kind] for kind in kinds.tolist()]


def lacking(samples: Samples, sample: int, part: SampleField, path: str, offset: int = 0) -> DataError:
    """Return the error for a sample without a file; `offset` is the archive position of the scanned bytes."""
    at_byte = offset + int(samples.heads[int(samples.members[sample])])
    skipped = skipped_in_words(samples.skipped)
    return DataError(
        f"{path}: the sample {samples.key(sample)!r}, at byte {at_byte}, has no {' or '.join(part.extensions)}; "
        f"it has {', '.join(of_sample(samples, sample))}{f' ({skipped})' if skipped else ''}. If some samples "
        f'lack it, pass "{";".join(part.extensions)}?" to read None for these'
    )


def parts_of(given: Sequence[str] | Mapping[str, str]) -> tuple[SampleField, ...]:
    """Return the entries for a `columns=` argument of `read_tar`.

    >>> parts_of(["cls", "txt;text?"])
    (SampleField(name='cls', extensions=('cls',), required=True),
     SampleField(name='txt', extensions=('txt', 'text'), required=False))
    """
    if isinstance(given, str) or not isinstance(given, (Sequence, Mapping)):
        raise TypeError(f'read_tar(columns={given!r:.100}): expected a list like ["jpg", "cls"], or a dict by name')
    named = list(given.items()) if isinstance(given, Mapping) else [(None, text) for text in given]
    parts = tuple(_part(name, text) for name, text in named)
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or KEY in names:
        raise PlanError(f"read_tar(columns=): there is an entry {twice or KEY!r} already")
    return parts


def _part(name: str | None, text: object) -> SampleField:
    if not isinstance(text, str) or (name is not None and not isinstance(name, str)):
        raise TypeError(f"read_tar(columns=): expected names and extensions as strings, not {name or text!r:.100}")
    choices = tuple(text.removesuffix("?").lower().split(";"))
    for extension in choices:
        if not extension or extension.startswith(".") or "/" in extension:
            raise PlanError(f'read_tar(columns=): {text!r} should be as "jpg", "seg.png", "jpg;png" or "txt?"')
    return SampleField(choices[0] if name is None else name, choices, not text.endswith("?"))


def parts_found(of_files: Sequence[Samples], name: str) -> tuple[SampleField, ...]:
    """Return an entry for every extension, required if every sample has one.

    Entries are in the order of their first occurrence.
    """
    samples = sum(map(len, of_files))
    counts: dict[str, int] = {}
    for one in of_files:
        found = np.bincount(one.extension, minlength=len(one.extensions)).tolist()
        for extension, count in zip(one.extensions, found, strict=True):
            counts[extension] = counts.get(extension, 0) + count
    if len(counts) > MOST_COLUMNS:
        some = ", ".join(list(counts)[:3])
        raise DataError(
            f"{name}: the files have {len(counts)} extensions ({some}, ...). A file name up to its first dot is the "
            "key of the sample, and the rest is the extension; select extensions with columns=[...]"
        )
    return tuple(SampleField(extension, (extension,), count == samples) for extension, count in counts.items())
