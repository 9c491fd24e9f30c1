"""Indexing of files in advance, as before a job with many readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from penstock.cli.files.amounts import many, size
from penstock.cli.files.formats import group_files
from penstock.cli.terminal import Terminal
from penstock.ops.read.source import Read
from penstock.plan.graph import post_order
from penstock.storage.indexing import IndexKind, cached_index_path, index_path
from penstock.storage.local import file_size
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.indexes import remote_index_path


def index(patterns: Sequence[str], terminal: Terminal, *, name: str | None = None, force: bool = False) -> bool:
    """Index the files that match, and describe each format; return whether all files could be indexed."""
    for known, paths in group_files(patterns, name):
        total = sum(map(file_size, paths))
        began = perf_counter()
        dataset = known.read(paths)
        source = source_of(dataset)
        kind = _kind_of(source)
        if kind is None:
            terminal.show(f"{known.name}: {many(len(paths), 'file')}, {size(total)}; needs no index.", 0)
            continue
        if force:
            _forget(paths, kind)
            began, dataset = perf_counter(), known.read(paths)
        count = len(dataset)
        took = perf_counter() - began
        held = sum(os.path.getsize(place) for path in paths for place in _places(path, kind))
        rate = f" ({size(total / took)}/s)" if total > 1e6 else ""
        terminal.show(
            f"{known.name}: {many(len(paths), 'file')}, {size(total)}: {many(count, 'record')}; "
            f"indexes of {size(held)}, in {took:.2f} s{rate}.",
            0,
        )
    return True


def _kind_of(source: Any) -> IndexKind | None:
    """Return the kind of index of a source, or of the source of the blocks that it reads."""
    kinds = [getattr(each, "kind", None) for each in (source, getattr(source, "store", None))]
    return next((kind for kind in kinds if isinstance(kind, IndexKind)), None)


def source_of(dataset: Any) -> Any:
    """Return the source of a dataset of files, or `None` if there are several or it is a stream."""
    plan = dataset._plan  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - a command may access it
    sources = [node.source for node in post_order(plan) if isinstance(node, Read)]
    return sources[0] if len(sources) == 1 else None


def _forget(paths: Sequence[str], kind: IndexKind) -> None:
    for path in paths:
        for place in _places(path, kind):
            os.unlink(place)


def _places(path: str, kind: IndexKind) -> list[str]:
    if isinstance(path, RemoteFile):
        places = [remote_index_path(path, kind)]
    else:
        places = [index_path(path, kind), cached_index_path(path, kind)]
    return [place for place in places if os.path.exists(place)]
