"""Write datasets of `ds.save(url)` into remote stores, and find what saves have left there that did not end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.kernels.records import crc32c
from penstock.sources.saved.manifest import CHECKSUM_BLOCK, NAME, Manifest
from penstock.sources.saved.remote import below_url, manifest_at
from penstock.sources.saved.writing import write_files
from penstock.storage.local import read_extent
from penstock.storage.remote.file import RemoteFile, shown_url
from penstock.storage.remote.listing import find_below
from penstock.storage.remote.stores import scheme_of, split_url
from penstock.storage.remote.writing import delete_objects, write_to_url

# Names that `save_to_url` gives: those of the parts of one save have one tag, and the checksums have their own.
_LEAF = re.compile(r"leaf-\d+(-[0-9a-f]{8})(\.\w+)?\.npy")
_SUMS = re.compile(r"penstock(-[0-9a-f]{8})-([0-9a-f]{8})\.crc32c")


def save_to_url(
    elements: Iterable[Any], url: str, options: Mapping[str, Any] | None, *, fingerprint: str, overwrite: bool
) -> None:
    """Write the elements of a dataset into a folder of a store, whose manifest is the last object that is sent.

    The others have new names, so a dataset that is replaced can be loaded until then. Its objects are deleted in the
    end. The checksums are sent first: by them, `objects_left_over` knows what a killed save has left. Raise a
    `FileExistsError` if there is a dataset, unless `overwrite`, and if there are other objects without one.
    """
    split_url(url, options)  # to refuse an impossible one
    _check_folder(url, options)
    tag = f"-{os.urandom(4).hex()}"

    def write(path: str) -> list[str]:
        folder = os.path.dirname(path)
        made = write_files(elements, folder, fingerprint, tag)
        made.write(folder)
        return [os.path.join(folder, name) for name in (made.sums, *made.files, NAME)]

    replaced = None
    if overwrite:
        with suppress(FileNotFoundError, DataError):
            replaced = manifest_at(url, options)
    write_to_url(write, below_url(url, NAME), options, in_shards=False, overwrite=overwrite)
    if replaced is None:
        return
    try:
        delete_objects([below_url(url, name) for name in (*replaced.files, replaced.sums)], options)
    except Exception as error:
        error.add_note(
            "The new dataset is complete and can be loaded; objects of the one that it replaced are left, which "
            f"`penstock cache clear {shown_url(url)}` deletes"
        )
        raise


def _check_folder(url: str, options: Mapping[str, Any] | None) -> None:
    """Raise a `FileExistsError` if there are objects below a URL, and none of them is of a save, as in a local folder.

    A web server has no listing, so nothing is known of it.
    """
    if scheme_of(url) == "http":
        return
    start = len(split_url(url, options)[1].strip("/"))
    names = [file.key[start:].removeprefix("/") for file in find_below(url, options)]
    others = [name for name in names if not (_LEAF.fullmatch(name) or _SUMS.fullmatch(name))]
    if others and NAME not in others:
        folder = shown_url(url)
        raise FileExistsError(
            f"save({folder!r}): there {'are' if others[1:] else 'is'} {first_named(others)}, but no saved dataset, so "
            "nothing is written there; pass an empty folder"
        )


def objects_left_over(url: str, options: Mapping[str, Any] | None = None) -> list[RemoteFile]:
    """Return the objects in the folder of a dataset that belong to saves that did not end, or have not ended yet.

    The manifest, if there is one, does not have them, and their content is that of a save: checksums are those that
    their name tells, and the first block of any other part has one of the checksums with the same tag. These are last.
    Folders below the folder are other datasets. A web server has no listing, so nothing is known of it. Raise a
    `DataError` if a manifest is listed that cannot be read.
    """
    if scheme_of(url) == "http":
        return []
    folder = split_url(url, options)[1].strip("/")
    below = {file.key[len(folder) :].removeprefix("/"): file for file in find_below(url, options)}
    manifest = _manifest_if_there(url, options, is_listed=NAME in below)
    used = set() if manifest is None else {*manifest.files, manifest.sums}
    unused = {name: file for name, file in below.items() if name not in used}
    sums: dict[str, tuple[RemoteFile, NDArray[np.uint32]]] = {}
    for name, file in unused.items():
        named = _SUMS.fullmatch(name)
        content = _first_bytes(file, file.size) if named else b""
        if named and crc32c(content) == int(named[2], 16) and len(content) % 4 == 0:
            sums[named[1]] = file, np.frombuffer(content, "<u4")
    left: list[RemoteFile] = []
    for name, file in unused.items():
        named = _LEAF.fullmatch(name)
        if named and named[1] in sums and crc32c(_first_bytes(file, CHECKSUM_BLOCK)) in sums[named[1]][1]:
            left.append(file)  # an array's `in` compares with all of it
    return left + [file for file, _ in sums.values()]


def delete_left_over(url: str, options: Mapping[str, Any] | None = None) -> list[RemoteFile]:
    """Delete what `objects_left_over` returns, and return it; raise a `DataError` if a program is saving there."""
    left = objects_left_over(url, options)
    if left and objects_left_over(url, options) != left:  # a save that has just ended has its manifest by now
        raise DataError(f"{shown_url(url)}: a program saves there; nothing is deleted. Try again once it has ended")
    delete_objects(left, options)
    return left


def _manifest_if_there(url: str, options: Mapping[str, Any] | None, *, is_listed: bool) -> Manifest | None:
    try:
        return manifest_at(url, options)
    except FileNotFoundError as error:
        if not is_listed:
            return None
        folder = shown_url(url).rstrip("/")
        raise DataError(f"{folder}: {NAME} is listed, but cannot be read ({error}); try again") from None


def _first_bytes(file: RemoteFile, count: int) -> bytes:
    """Return the first bytes of an object; none of one that is gone."""
    try:
        return bytes(read_extent(file, 0, min(count, file.size))) if file.size else b""
    except FileNotFoundError:
        return b""


def first_named(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are.

    >>> first_named(["a", "b", "c", "d", "e"]), first_named(["a"])
    ("'a', 'b', 'c' and 2 more", "'a'")
    """
    some = ", ".join(map(repr, names[:3]))
    return some if len(names) <= 3 else f"{some} and {len(names) - 3:,} more"
