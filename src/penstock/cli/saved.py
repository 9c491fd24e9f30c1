"""Saved datasets: listed, described, verified and exported, as caches on disk are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.cli.cache import say_damaged, when, write_elements
from penstock.cli.files.amounts import many, size
from penstock.cli.terminal import Terminal
from penstock.core.errors import DataError, PlanError
from penstock.sources.saved.manifest import NAME
from penstock.sources.saved.reading import SavedSource, saved
from penstock.sources.saved.remote import SavedObjects, saved_objects
from penstock.sources.saved.remote_writing import delete_left_over, first_named, objects_left_over
from penstock.storage.remote.file import RemoteFile, is_url

_ROWS_AT_ONCE = 1 << 12


def is_saved(folder: str) -> bool:
    """Return whether a folder is one that `ds.save(path)` wrote; a URL can be nothing else."""
    return is_url(folder) or os.path.isfile(os.path.join(folder, NAME))


def list_saved(folder: str, terminal: Terminal) -> bool:
    """Show the one dataset in the folder."""
    source = _chosen(folder, None)
    told = (source.manifest.digest, f"{source.length:,}", _size(source), _saved_at(folder))
    rows = [("key", "rows", "size", "saved"), told]
    terminal.table(rows, 0)
    return True


def describe_saved(folder: str, terminal: Terminal, *, key: str | None = None) -> bool:
    """Show the rows and the leaves of the elements, and what saves that did not end have left at a URL."""
    source = _chosen(folder, key)
    manifest, left = source.manifest, _left_over(folder)
    facts = [
        ("key", manifest.digest),
        ("folder", source.folder),
        ("saved", _saved_at(folder)),
        ("rows", f"{source.length:,}"),
        ("size", f"{_size(source)} in {many(len(manifest.sizes), 'file')}"),
        ("sums", "none: saved by a release before them" if manifest.crc32c is None else "`verify` compares them"),
        ("elements", f"{manifest.structure!r}" if manifest.nesting is not None else "unknown: there are none"),
    ]
    for name, text in facts:
        terminal.show(f"{name:9} {text}", 0)
    for leaf in manifest.leaves:
        terminal.show(f"leaf      {leaf.spec()!r} in {', '.join(leaf.files)}", 0)
    if left:
        terminal.say(left, 0)
    return True


def verify_saved(folder: str, terminal: Terminal, *, key: str | None = None) -> bool:
    """Read every element and compare the checksums; return whether nothing is damaged."""
    source = _chosen(folder, key)
    if source.manifest.crc32c is None:
        raise DataError(f"{folder}: it was saved by a release without checksums; load it and save it again")
    lost = [np.empty(0, np.int64)]
    with terminal.progress(f"verifying {folder}", source.length) as update:
        for low in range(0, source.length, _ROWS_AT_ONCE):
            rows = np.arange(low, min(low + _ROWS_AT_ONCE, source.length))
            lost.append(rows[~source.verify(rows)])
            update(low + len(rows), "rows")
    advice = "copy the whole folder again, or save it again"
    return say_damaged(folder, source.length, np.concatenate(lost), advice, terminal)


def clear_saved(folder: str, terminal: Terminal, *, key: str | None = None, keep_latest: bool = False) -> bool:
    """Delete what saves to a URL have left that did not end; keep a saved dataset."""
    if key is not None or keep_latest:
        raise PlanError(
            f"{folder}: --key and --keep-latest choose among the keys of a cache, and a saved dataset has none"
        )
    left = delete_left_over(folder) if is_url(folder) else []
    if left:
        for each in left:
            terminal.show(f"deleted {each}", 0)
        terminal.say(f"{folder}: deleted {_amount(left)} of saves that did not end", 0)
        return True
    _chosen(folder, None)
    terminal.say(f"{folder}: nothing to clear. A saved dataset is kept; to delete it, remove the folder.", 0)
    return True


def export_saved(folder: str, to: str, terminal: Terminal, *, key: str | None = None, overwrite: bool = False) -> bool:
    """Write the elements to a Parquet or Arrow file; a damaged one is an error."""
    source = _chosen(folder, key)
    write_elements(_elements(source), to, overwrite=overwrite)
    terminal.show(f"{to}: {many(source.length, 'row')}", 0)
    return True


def _chosen(folder: str, key: str | None) -> SavedSource | SavedObjects:
    try:
        source = saved_objects(folder, None) if is_url(folder) else saved(folder)
    except FileNotFoundError as error:
        if left := _left_over(folder):
            error.add_note(left)
        raise
    if key is not None and not source.manifest.digest.startswith(key):
        raise DataError(f"{folder}: it is a saved dataset with the key {source.manifest.digest}, not {key}")
    return source


def _saved_at(folder: str) -> str:
    return "unknown: at a URL" if is_url(folder) else when(os.path.getmtime(os.path.join(folder, NAME)))


def _elements(source: SavedSource | SavedObjects) -> Iterator[Any]:
    for low in range(0, source.length, _ROWS_AT_ONCE):
        yield from source.read_many(np.arange(low, min(low + _ROWS_AT_ONCE, source.length))).elements()


def _left_over(folder: str) -> str:
    left = objects_left_over(folder) if is_url(folder) else []
    if not left:
        return ""
    return (
        f"also there: {_amount(left)} of saves that were ended before they were complete, or are under way: "
        f"{first_named([each.rpartition('/')[2] for each in left])}. If no program saves or copies anything there, "
        f"`penstock cache clear {folder}` deletes them, and keeps a complete dataset."
    )


def _amount(left: Sequence[RemoteFile]) -> str:
    return f"{many(len(left), 'object')} ({size(sum(each.size for each in left))})"


def _size(source: SavedSource | SavedObjects) -> str:
    return size(sum(source.manifest.sizes.values()))
