"""The `index.json` of a folder of shards, checked with care, since all reading relies on it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from penstock.core.errors import DataError, PlanError
from penstock.storage.local import read_extent
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.folder import RemoteFolder

_NAME = "index.json"
T = TypeVar("T")
_MISSING = object()


class FolderIndex:
    """A part of the JSON, with its name for errors, and the objects of a remote folder."""

    def __init__(
        self, path: str, value: Any, within: str = "", objects: Mapping[str, RemoteFile] | None = None
    ) -> None:
        self.path = path
        self._value = value
        self._within = within
        self._objects = objects

    def get(self, key: str, kind: type[T], default: Any = _MISSING) -> T:
        """Return the value of this key, of this kind; `default` if missing or null."""
        found = self._value.get(key) if isinstance(self._value, dict) else None
        if found is None and default is not _MISSING:
            return default
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self.wrong(f"its {key!r} is {found!r:.60}, not a {kind.__name__}")
        return found

    def count(self, key: str) -> int:
        """Return the value of this key, a number between 0 and the size of the largest file."""
        found = self.get(key, int)
        if not 0 <= found < 1 << 62:
            raise self.wrong(f"its {key!r} is {found}, which is not a count")
        return found

    def names(self, key: str) -> list[str]:
        """Return the value of this key, a list of texts."""
        found = self.get(key, list)
        if not all(isinstance(name, str) for name in found):
            raise self.wrong(f"its {key!r} is {found!r:.60}, not a list of names")
        return found

    def parts(self, key: str) -> list[FolderIndex]:
        """Return the objects of the list with this key."""
        return [
            FolderIndex(self.path, part, f"{key}[{i}]", self._objects) for i, part in enumerate(self.get(key, list))
        ]

    def part(self, key: str) -> FolderIndex | None:
        """Return the object with this key, if any."""
        found = self.get(key, dict, None)
        return None if found is None else FolderIndex(self.path, found, f"{self._within} {key}".strip(), self._objects)

    def file(self, key: str) -> str:
        """Return the path of the file with this key, in the folder of the index; an object must be there."""
        name = self._name(key)
        if self._objects is None:
            return os.path.normpath(os.path.join(os.path.dirname(self.path), name))
        if name not in self._objects:
            raise self.wrong(f"its {key!r} is {name!r:.60}, and there is no such object")
        return self._objects[name]

    def has_file(self, key: str) -> bool:
        """Return whether the file with this key is in the folder."""
        name = self._name(key)
        if self._objects is None:
            return os.path.exists(os.path.join(os.path.dirname(self.path), name))
        return name in self._objects

    def _name(self, key: str) -> str:
        """Return the name of a file below the folder."""
        name = self.get(key, str)
        below = os.path.normpath(name)
        if not name or "\0" in name or os.path.isabs(name) or below == os.curdir or below.startswith(os.pardir):
            raise self.wrong(f"its {key!r} is {name!r:.60}, which is not a file of this folder")
        return below

    def wrong(self, why: str) -> DataError:
        """Return the error that names the file and the part."""
        return DataError(f"{self.path}{f', {self._within}' if self._within else ''}: {why}")


def read_index(folder: str | os.PathLike[str], call: str) -> FolderIndex:
    """Return the index of a folder; raise a `FileNotFoundError` if missing, a `DataError` if not JSON."""
    objects = folder.objects if isinstance(folder, RemoteFolder) else None
    path = os.path.join(os.path.expanduser(os.fspath(folder)), _NAME)
    try:
        value = json.loads(_content(path, objects))
    except FileNotFoundError as error:
        error.add_note(f"{call}: expected a folder that a dataset was written to, with its {_NAME}")
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: it is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: it is not a JSON object")
    return FolderIndex(path, value, objects=objects)


def _content(path: str, objects: Mapping[str, RemoteFile] | None) -> bytes:
    if objects is None:
        with open(path, "rb") as file:
            return file.read()
    if (found := objects.get(_NAME)) is None:
        raise FileNotFoundError(f"there is no object {path!r}")
    return read_extent(found, 0, found.size)


def chosen(call: str, names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the wanted names, in order; raise a `PlanError` for an unknown name."""
    if columns is None:
        return list(names)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"{call}(columns={columns!r:.60}): expected a list of names")
    missing = [name for name in columns if name not in names]
    if missing or not columns:
        raise PlanError(f"{call}(columns={list(columns)}): there are {', '.join(names)}")
    return [name for name in names if name in columns]
