"""The folder of a cache: one folder for each key, with a header that names it."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from penstock.core.digest import digest
from penstock.core.frozen import frozen
from penstock.kernels.records import crc32c

VERSION = 1
HEADER, LENGTH = "header.json", "length.json"
CACHE_FORMAT = "penstock cache"
_NAMED = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FOLDER = re.compile(r".+\.v([0-9]+)")
_TEMPORARY = ".part"


@frozen()
class Header:
    """The key of a cache, the parts that it was made of, and when it was begun, in seconds since 1970."""

    key: str
    parts: Mapping[str, str]
    made: float


def folder_of(folder: str, key: str) -> str:
    """Return the folder of a key, which has the version of the format in its name.

    >>> folder_of("/cache", "5ab1"), len(folder_of("/cache", "a/b"))
    ('/cache/5ab1.v1', 42)
    """
    name = key if _NAMED.fullmatch(key) else digest(key.encode("utf-8", "surrogatepass"))
    return os.path.join(folder, f"{name}.v{VERSION}")


def prepare(folder: str, key: str, parts: Mapping[str, str]) -> str:
    """Make the folder of a key and its header, unless they are there, and return the folder."""
    place = folder_of(folder, key)
    os.makedirs(place, exist_ok=True)
    if header_of(place) is None:
        told = {"format": CACHE_FORMAT, "version": VERSION, "key": key, "parts": dict(parts), "made": time.time()}
        publish(place, HEADER, told)
    return place


def header_of(place: str) -> Header | None:
    """Return the header in the folder of a key; `None` if it is missing or damaged."""
    told = read(place, HEADER)
    try:
        if told is None or told["format"] != CACHE_FORMAT or told["version"] != VERSION:
            return None
        parts = {str(name): str(part) for name, part in told["parts"].items()}
        return Header(str(told["key"]), parts, float(told["made"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def headers(folder: str) -> list[tuple[str, Header]]:
    """Return the folders of all keys with a sound header of this version, and the headers, latest first."""
    found = [(place, header) for place in places(folder) if (header := header_of(place)) is not None]
    return sorted(found, key=lambda each: each[1].made, reverse=True)


def places(folder: str, *, of_any_version: bool = False) -> list[str]:
    """Return the folders of keys in a cache's folder, sorted; a missing folder has none."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [(name, match) for name in names if (match := _FOLDER.fullmatch(name))]
    return [os.path.join(folder, name) for name, match in found if of_any_version or int(match[1]) == VERSION]


def bytes_in(folder: str) -> int:
    """Return the bytes of the files of all keys, of all versions."""
    total = 0
    for place in places(folder, of_any_version=True):
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat().st_size
    return total


def read(place: str, name: str) -> dict[str, Any] | None:
    """Return the data of a small file that `publish` wrote; `None` if it is missing or damaged."""
    try:
        with open(os.path.join(place, name), encoding="utf-8") as file:
            told = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    checksum = told.pop("checksum", None)
    return told if checksum == _checksum(told) else None


def publish(place: str, name: str, told: dict[str, Any]) -> None:
    """Write a small file, which appears whole; one that is there already stays, unless it is damaged.

    The file has no name until it is complete, where the file system allows that. It is not synced: after a crash of the
    machine it may be damaged, and is written again when it is next needed.
    """
    content = json.dumps({**told, "checksum": _checksum(told)}, indent=1).encode()
    path = os.path.join(place, name)
    if os.path.lexists(path):
        if read(place, name) is None:
            _publish_named(path, content, os.replace)
        return
    with suppress(FileExistsError):
        if not _publish_unnamed(place, path, content):
            _publish_named(path, content, os.link)


def _publish_unnamed(place: str, path: str, content: bytes) -> bool:
    """Return False where there are no files without a name (NFS)."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        file = os.open(place, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return False
        raise
    try:
        _write(file, content)
        # with a descriptor, Python calls linkat, which follows the link of the descriptor
        root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{file}", path, src_dir_fd=root, follow_symlinks=True)
        except (FileNotFoundError, NotImplementedError):  # no /proc
            return False
        finally:
            os.close(root)
        return True
    finally:
        os.close(file)


def _publish_named(path: str, content: bytes, put: Callable[[str, str], None]) -> None:
    beside = f"{path}.{os.urandom(4).hex()}{_TEMPORARY}"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            _write(file, content)
        finally:
            os.close(file)
        put(beside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)


def _write(file: int, content: bytes) -> None:
    if os.write(file, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _checksum(told: dict[str, Any]) -> int:
    return crc32c(json.dumps(told, sort_keys=True).encode())


def check_folder(folder: str) -> None:
    """Raise an error if the path of a cache is something else."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(
            f"cache({folder!r}): it is a file, not a folder; pass a path for a folder of the cache's"
        )
