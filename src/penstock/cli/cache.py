"""Caches on disk: list, describe, verify, remove and export them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from penstock.cache.store import CacheStore
from penstock.cache.upkeep import KeptKey, chosen_key, damaged_rows, kept_keys, of_other_versions, remove
from penstock.cli.files.amounts import many, size
from penstock.cli.terminal import Terminal
from penstock.core.arrays import Rows
from penstock.core.checks import without_file_scheme
from penstock.core.errors import DataError
from penstock.elements.sparse import Sparse
from penstock.sources.arrow.writing import write_arrow_file, write_parquet_files
from penstock.storage.remote.file import is_url
from penstock.storage.remote.writing import write_to_url

_ROWS_AT_ONCE = 256
_MOST_SHOWN = 20  # damaged rows
_ARROW = (".arrow", ".feather")


def list_keys(folder: str, terminal: Terminal) -> bool:
    """Show the keys in a folder, latest first."""
    rows = [("key", "rows", "size", "begun")]
    keys = kept_keys(folder)
    for each in keys:
        store = each.open()
        whole = "" if store.length is None else f" of {store.length:,}"
        rows.append((each.header.key, f"{store.count:,}{whole}", size(each.bytes), when(each.header.made)))
    terminal.table(rows, 0)
    _say_others(folder, terminal)
    if keys and keys[0].open().is_memory:
        terminal.say("The folder lies in memory: its size counts against the memory of the machine.", 0)
    return True


def describe_key(folder: str, terminal: Terminal, *, key: str | None = None) -> bool:
    """Show one key: its parts, the rows, and the forms of elements."""
    each = chosen_key(kept_keys(folder), key, folder)
    store = each.open()
    facts = [
        ("key", each.header.key),
        ("folder", each.place),
        ("begun", when(each.header.made)),
        ("rows", f"{store.count:,}, the first {store.prefix:,} without a gap"),
        ("length", "not recorded" if store.length is None else f"{store.length:,}"),
        ("size", f"{size(each.bytes)} in {many(each.files, 'file')}"),
        ("damaged", f"{many(store.damaged, 'record')} of the logs; `verify` reads the data too"),
    ]
    for name, text in facts:
        terminal.show(f"{name:9} {text}", 0)
    for name, text in each.header.parts.items():
        terminal.show(f"part      {name}: {text}", 0)
    for form in store.forms:
        leaves = ", ".join(f"{leaf.kind} {' '.join(part.dtype for part in leaf.parts)}" for leaf in form.leaves)
        terminal.show(f"elements  {form.nesting} of {leaves or 'nothing'}", 0)
    if not all(form.is_plain for form in store.forms):
        terminal.say("Some elements are pickled: reading them runs code that the cache contains.", 0)
    return True


def verify(folder: str, terminal: Terminal, *, key: str | None = None) -> bool:
    """Read every row of one key, or of all, and compare checksums; return whether nothing is damaged."""
    keys = kept_keys(folder)
    sound = [_verify(each, terminal) for each in ([chosen_key(keys, key, folder)] if key is not None else keys)]
    if key is None:
        _say_others(folder, terminal)
    return all(sound)


def _say_others(folder: str, terminal: Terminal) -> None:
    for place in of_other_versions(folder):
        terminal.say(f"{place}: of another version of Penstock, or without a sound header", 0)


def _verify(each: KeptKey, terminal: Terminal) -> bool:
    store = each.open()
    records, seen, lost = store.damaged, 0, [np.empty(0, np.int64)]
    with terminal.progress(f"verifying {each.header.key}", store.count) as update:
        for count, bad in damaged_rows(store):
            seen += count
            lost.append(bad)
            update(seen, "rows")
    advice = "these rows are made again when they are next needed"
    is_sound = say_damaged(each.header.key, seen, np.concatenate(lost), advice, terminal)
    if records:
        words = f"{many(records, 'record')} of the log damaged: rows that are missing for that reason are made again"
        terminal.show(f"{each.header.key}: {words} when they are next needed, unless they have been", 0)
    return is_sound


def say_damaged(name: str, seen: int, lost: Rows, advice: str, terminal: Terminal) -> bool:
    """Say how many rows were read, and which are damaged; return whether none is."""
    rows = lost.tolist()
    if not rows:
        terminal.show(f"{name}: {many(seen, 'row')}, all sound", 0)
        return True
    shown = ", ".join(map(str, rows[:_MOST_SHOWN])) + (" ..." if len(rows) > _MOST_SHOWN else "")
    terminal.show(f"{name}: {many(seen, 'row')}, {len(rows):,} damaged ({shown}); {advice}", 0)
    return False


def clear(folder: str, terminal: Terminal, *, key: str | None = None, keep_latest: bool = False) -> bool:
    """Remove one key, or all, or all but the latest, with those of other versions."""
    keys = kept_keys(folder)
    if key is not None:
        gone = [chosen_key(keys, key, folder).place]
    else:
        gone = [each.place for each in keys[1 if keep_latest else 0 :]] + of_other_versions(folder)
    for place in gone:
        terminal.show(f"removed {place}: {size(remove(place))}", 0)
    return True


def export(folder: str, to: str, terminal: Terminal, *, key: str | None = None, overwrite: bool = False) -> bool:
    """Write the elements of one key, in the order of rows, to a Parquet or Arrow file.

    Tuples become the columns `0`, `1` and so on, `Sparse` its `indices`, `values` and `dense_shape`, and elements that
    are single values the column `value`. A cache with pickled elements is refused: reading it would
    run code that it contains.
    """
    store = chosen_key(kept_keys(folder), key, folder).open()
    if not all(form.is_plain for form in store.forms):
        raise DataError(
            f"{folder}: some elements are pickled, and reading them would run code that the cache contains, so export "
            "refuses them; iterate the dataset instead, and write what it yields"
        )
    before = store.count
    write_elements(_elements(store), to, overwrite=overwrite)
    terminal.show(f"{to}: {many(store.count, 'row')}", 0)
    if store.count < before:
        terminal.say(f"{many(before - store.count, 'row')}: damaged, and left out.", 0)
    return store.count == before


def write_elements(elements: Iterator[Any], to: str, *, overwrite: bool) -> None:
    """Write elements to a Parquet or Arrow file, by its name, at a path or a URL."""
    if not to.endswith((".parquet", *_ARROW)):
        raise DataError(f"{to}: expected a name that ends in .parquet, {' or '.join(_ARROW)}")
    rows = (each if isinstance(each, dict) else {"value": each} for each in map(_in_dicts, elements))

    def write(path: str) -> list[str]:
        if path.endswith(_ARROW):
            write_arrow_file(rows, path, overwrite=overwrite, call="export")
        else:
            write_parquet_files(rows, path, max_bytes=None, overwrite=overwrite, compression="snappy", call="export")
        return [path]

    if is_url(to):
        write_to_url(write, to, None, in_shards=False, overwrite=overwrite)
    else:
        write(without_file_scheme(to))


def _elements(store: CacheStore) -> Iterator[Any]:
    rows = store.rows
    for low in range(0, len(rows), _ROWS_AT_ONCE):
        chunk, _ = store.read(rows[low : low + _ROWS_AT_ONCE])
        yield from chunk.elements()


def _in_dicts(value: Any) -> Any:
    """Return an element with dicts, which become columns, in place of tuples and `Sparse`."""
    if isinstance(value, Sparse):
        return {"indices": value.indices, "values": value.values, "dense_shape": np.array(value.dense_shape, np.int64)}
    if isinstance(value, tuple):
        value = {str(i): part for i, part in enumerate(cast("tuple[Any, ...]", value))}
    if isinstance(value, dict):
        return {name: _in_dicts(part) for name, part in cast("dict[str, Any]", value).items()}
    return [_in_dicts(part) for part in cast("list[Any]", value)] if isinstance(value, list) else value


def when(made: float) -> str:
    """Return a time in seconds since 1970 as text, in the local time zone."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(made))
