"""The lines of text files, with random access, each as `str` or `bytes`."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ObjectSpec, Spec
from penstock.kernels.lines import Wanted, scan_lines
from penstock.kernels.records import Framing
from penstock.sources.records.files import RecordFiles, memory_for_objects
from penstock.storage.file_kinds import HEAD_SIZE, looks_like
from penstock.storage.indexing import IndexKind
from penstock.storage.soundness import Arrays, are_offsets, is_sorted

_STATEFUL = ("utf-7", "hz", "iso2022", "punycode", "idna")  # the meaning of a byte depends on the lines before


class LineError(DataError):
    """An error in line `index` of several, without its place in a file; `at` is the byte in the line, if known."""

    def __init__(self, why: str, index: int, at: int | None = None) -> None:
        super().__init__(why)
        self.index = index
        self.at = at

    def placed(self, where: str, begin: int | None) -> DataError:
        """Return the error with the place of the line, which begins at byte `begin`, if known."""
        why = str(self)
        if self.at is not None:
            where += f", at byte {self.at} of it" if begin is None else f", at byte {begin + self.at} of the file"
        error = DataError(f"{where}{why if why.startswith(',') else f': {why}'}")
        error.element = self.index
        return error


@frozen(eq=False)
class LineFiles(RecordFiles):
    """The lines of some files, without the first `skip_lines` of each, as `str`; as `bytes` without an `encoding`."""

    encoding: str | None = "utf-8"
    errors: str = "strict"
    skip_lines: int = 0

    @cached_property
    def offsets(self) -> list[NDArray[np.int64]]:
        """The begins of the lines of each file, and the end of the last."""
        offsets = [sidecar.arrays["offsets"] for sidecar in self.sidecars]
        skipped = [self._skipped(file) for file in range(len(self.paths))]
        return [of_file[count:] for of_file, count in zip(offsets, skipped, strict=True)]

    def spec(self) -> Spec:
        return ObjectSpec(bytes if self.encoding is None else str)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        rows = np.ascontiguousarray(rows, np.int64)
        memory = memory_for_objects(out, len(rows))
        column = self.reader.read(rows, memory) if self.encoding is None else self.read_text(rows, memory)
        return Columns(LEAF, [column], len(rows))

    def made_of(self, lines: list[bytes]) -> Chunk:
        """Return the elements of lines without line ends; raise a `LineError` for the first bad line."""
        return Columns(LEAF, [lines if self.encoding is None else self._texts(lines)], len(lines))

    def _texts(self, lines: list[bytes]) -> list[str]:
        encoding, errors = self.encoding or "utf-8", self.errors
        texts: list[str] = []
        try:
            texts.extend(line.decode(encoding, errors) for line in lines)  # up to the bad line
        except UnicodeDecodeError as failure:
            raise undecodable(failure, encoding, len(texts)) from None
        return texts

    def read_text(self, rows: Rows, out: NDArray[Any] | None = None) -> list[str] | NDArray[Any]:
        """Return the lines at `rows`, in `out` if given; raise a `DataError` for the first invalid byte."""
        encoding = self.encoding or "utf-8"
        try:
            return self.reader.read_text(rows, encoding, self.errors, out)
        except UnicodeDecodeError as failure:
            element: int = failure.element  # pyright: ignore[reportAttributeAccessIssue] - set by the kernel
            row = int(rows[element])
            file, line = self.reader.place(row)
            error = undecodable(failure, encoding, element)
            raise error.placed(self.describe(row), int(self.offsets[file][line])) from None

    def line_of(self, row: int) -> tuple[int, int]:
        """Return the file of a row, and the number of its line there, counted from 0."""
        file, record = self.reader.place(row)
        left_out = self._left_out(file)
        record += self._skipped(file)
        return file, record + int(np.searchsorted(left_out - np.arange(len(left_out)), record, side="right"))

    def describe(self, row: int) -> str:
        file, line = self.line_of(row)
        return f"{self.paths[file]}, line {line + 1}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the fingerprint of the records, and the form of the text."""
        return (*super().fingerprint(), *self.reading())

    def reading(self) -> tuple[Any, ...]:
        """Return values that identify the form of the text, few and equal in every process."""
        return (self.encoding or "bytes", self.errors, self.skip_lines)

    @property
    def wanted(self) -> Wanted:
        """The kind of lines that count."""
        return Wanted[str(dict(self.kind.parameters).get("wanted", "all")).upper()]

    def _left_out(self, file: int) -> NDArray[np.int64]:
        """Return the numbers of the unwanted lines of a file."""
        return self.sidecars[file].arrays.get("left_out", np.empty(0, np.int64))

    def _skipped(self, file: int) -> int:
        """Return the number of records of a file in the skipped lines."""
        before = self.skip_lines - int(np.searchsorted(self._left_out(file), self.skip_lines))
        return min(before, len(self.sidecars[file].arrays["offsets"]) - 1)


def undecodable(failure: UnicodeDecodeError, encoding: str, element: int) -> LineError:
    """Return the error of the line with this index, which has an invalid byte in the encoding."""
    why = f"0x{failure.object[failure.start]:02x} is not valid {encoding} there ({failure.reason})"
    advice = looks_like(failure.object[:HEAD_SIZE]) or "pass the encoding= of the file, or errors='replace'"
    return LineError(f"{why}; {advice}", element, failure.start)


def line_kind(wanted: Wanted) -> IndexKind:
    """Return the kind of index for these lines."""
    if wanted == Wanted.ALL:
        return IndexKind("lines", _scan_all, _has_lines)
    nothing = {"offsets": np.zeros(1, np.int64), "left_out": np.empty(0, np.int64)}
    told = (("wanted", wanted.name.lower()),)
    return IndexKind("lines", partial(_scan_some, wanted=wanted), _has_some_lines, told, nothing)


def _scan_all(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    return {"offsets": scan_lines(path, seen=seen)[0]}


def _scan_some(path: str, seen: Callable[[int], None], *, wanted: Wanted) -> Mapping[str, NDArray[Any]]:
    offsets, left_out = scan_lines(path, wanted, seen=seen)
    return {"offsets": offsets, "left_out": left_out}


def _has_lines(arrays: Arrays, size: int) -> bool:
    return are_offsets(arrays, size, "offsets") and arrays["offsets"][-1] == size


def _has_some_lines(arrays: Arrays, size: int) -> bool:
    return _has_lines(arrays, size) and is_sorted(arrays, size, "left_out")


def line_files(
    paths: list[str],
    *,
    encoding: str | None = "utf-8",
    errors: str = "strict",
    keep_empty: bool = True,
    skip_lines: int = 0,
    call: str = "read_text",
) -> LineFiles:
    """Return the lines of text files; raise a `PlanError` for an encoding whose lines cannot be found by bytes."""
    if encoding is not None:
        encoding = _checked(call, encoding)
    try:
        codecs.lookup_error(errors)
    except (LookupError, TypeError):
        raise PlanError(f"{call}(errors={errors!r}): unknown error handler") from None
    kind = line_kind(Wanted.ALL if keep_empty else Wanted.NOT_EMPTY)
    name = f"{call}({paths[0]!r})" if len(paths) == 1 else f"{call}({len(paths)} files)"
    return LineFiles(paths, kind, Framing.LINE, name, encoding=encoding, errors=errors, skip_lines=skip_lines)


def _checked(call: str, encoding: str) -> str:
    """Return the name of an encoding in which the byte 0x0A always ends a line."""
    try:
        name = codecs.lookup(encoding).name
        newline = "\n".encode(encoding)
    except (LookupError, UnicodeError, TypeError):
        raise PlanError(f"{call}(encoding={encoding!r}): unknown text encoding") from None
    if name in ("utf-8", "utf-8-sig"):
        return "utf-8"  # the byte order mark is already skipped
    if newline != b"\n" or name.startswith(_STATEFUL):
        raise PlanError(
            f"{call}(encoding={encoding!r}): lines of this encoding cannot be found by their bytes; convert the files "
            f"once: iconv -f {name} -t utf-8"
        )
    return name
