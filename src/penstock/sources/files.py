"""The contents of files, one element for each file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.digest import hasher
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.elements.nested.structure import LEAF, Structure, flatten
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec
from penstock.sources.packed_texts import packed_texts
from penstock.storage.local import advise_whole, read_whole


@frozen(eq=False)
class FileBytes:
    """The content of each file as `bytes`, or a dict of it and the file's `label` (`int64`).

    `labels` has one label for each path. A file is read with its element; an `OSError` names the file. With `unread`,
    for a kernel that reads files itself, elements have the path instead of the content.
    """

    paths: Sequence[str]
    labels: NDArray[np.int64] | None = None
    key: str = "image"
    name: str = "read_files"
    unread: bool = False

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != len(self.paths):
            raise PlanError(f"{self.name}: {len(self.labels)} labels for {len(self.paths)} files")

    @property
    def length(self) -> int:
        return len(self.paths)

    @property
    def file_starts(self) -> Rows:
        """The row of each file."""
        return np.arange(len(self.paths))

    def spec(self) -> Spec:
        if self.labels is None:
            return ObjectSpec(bytes)
        return {self.key: ObjectSpec(bytes), "label": ArraySpec((), np.dtype(np.int64))}

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        wanted = self._paths_at(rows)
        contents: list[Any] = wanted if self.unread else list(read_whole(wanted))
        if self.labels is None:
            return Columns(LEAF, [contents], len(rows))
        columns: list[Column] = [contents, self.labels.take(rows)]
        if self.key > "label":  # leaves are in the order of the sorted keys
            columns.reverse()
        return Columns(self._structure, columns, len(rows))

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the files at `rows`."""
        advise_whole(self._paths_at(rows))

    def describe(self, row: int) -> str:
        return self.paths[row]

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the number of files, and a digest of the labels and of the paths relative to their common folder."""
        return self._fingerprint

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the fields, with the paths in memory that processes share."""
        return {**self.__dict__, "paths": packed_texts(self.paths)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def _paths_at(self, rows: Rows) -> list[str]:
        paths, positions = self.paths, cast("list[int]", rows.tolist())
        return [paths[position] for position in positions]

    @cached_property
    def _structure(self) -> Structure:
        return flatten({self.key: b"", "label": 0})[1]

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        hashed = hasher()
        paths = list(map(os.path.abspath, self.paths))
        # All paths share the common prefix of the first and the last in order; the folder ends at its last separator.
        shared = os.path.commonprefix([min(paths), max(paths)]) if paths else ""  # noqa: RUF071
        start = shared.rfind(os.sep) + 1
        for path in paths:
            hashed.update(os.fsencode(path[start:]) + b"\0")
        if self.labels is not None:
            hashed.update(np.ascontiguousarray(self.labels, "<i8").data)
        return ("files", len(self.paths), hashed.hexdigest())
