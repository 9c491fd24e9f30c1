"""The `index.json` of a folder of shards: read with care, for everything that follows goes by it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock.core.errors import DataError, PlanError

NAME = "index.json"
T = TypeVar("T")
_MISSING = object()


class FolderIndex:
    """A part of the JSON, which names itself in errors."""

    def __init__(self, path: str, value: Any, within: str = "") -> None:
        self.path = path
        self._value = value
        self._within = within

    def get(self, key: str, kind: type[T], default: Any = _MISSING) -> T:
        """Return what has this key, of this kind; `default` where it is not there, or null."""
        found = self._value.get(key) if isinstance(self._value, dict) else None
        if found is None and default is not _MISSING:
            return default
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self.wrong(f"its {key!r} is {found!r:.60}, and no {kind.__name__}")
        return found

    def count(self, key: str) -> int:
        """Return the number, not negative and no more than a file can have, that has this key."""
        found = self.get(key, int)
        if not 0 <= found < 1 << 62:
            raise self.wrong(f"its {key!r} is {found}, which is no count")
        return found

    def names(self, key: str) -> list[str]:
        """Return the list of text that has this key."""
        found = self.get(key, list)
        if not all(isinstance(name, str) for name in found):
            raise self.wrong(f"its {key!r} is {found!r:.60}, and no list of names")
        return found

    def parts(self, key: str) -> list[FolderIndex]:
        """Return the objects of the list that has this key."""
        return [FolderIndex(self.path, part, f"{key}[{i}]") for i, part in enumerate(self.get(key, list))]

    def part(self, key: str) -> FolderIndex | None:
        """Return the object that has this key, if there is one."""
        found = self.get(key, dict, None)
        return None if found is None else FolderIndex(self.path, found, f"{self._within} {key}".strip())

    def file(self, key: str) -> str:
        """Return the path of the file that has this key: one in the folder of the index."""
        name = self.get(key, str)
        folder = os.path.dirname(self.path)
        path = os.path.normpath(os.path.join(folder, name))
        if not name or "\0" in name or os.path.isabs(name) or os.path.relpath(path, folder).startswith(os.pardir):
            raise self.wrong(f"its {key!r} is {name!r:.60}, which is no file of this folder")
        return path

    def wrong(self, why: str) -> DataError:
        """The error that names the file and the part."""
        return DataError(f"{self.path}{f', {self._within}' if self._within else ''}: {why}")


def read_index(folder: str | os.PathLike[str], call: str) -> FolderIndex:
    """Return the index of a folder; one without is a `FileNotFoundError`, no JSON a `DataError`."""
    path = os.path.join(os.path.expanduser(os.fspath(folder)), NAME)
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except FileNotFoundError as error:
        error.add_note(f"{call}: expected a folder that a dataset was written to, with its {NAME}")
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: it is no JSON object")
    return FolderIndex(path, value)


def chosen(call: str, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return which of the names are wanted, in their order; one that is not there is a `PlanError`."""
    if columns is None:
        return list(names)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"{call}(columns={columns!r:.60}): expected a list of names")
    missing = [name for name in columns if name not in names]
    if missing or not columns:
        raise PlanError(f"{call}(columns={list(columns)}): there are {', '.join(names)}")
    return [name for name in names if name in columns]
