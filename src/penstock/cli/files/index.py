"""Indexing of files in advance, as before a job with many readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from time import perf_counter
from typing import Any, cast

from penstock.cli.files.amounts import many, size
from penstock.cli.files.formats import Format, group_files
from penstock.cli.terminal import Terminal
from penstock.core.errors import DataError
from penstock.ops.read.source import Read
from penstock.plan.graph import post_order
from penstock.storage.indexing import IndexKind, cached_index_path, index_path
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.indexes import remote_index_path


def index(patterns: Sequence[str], terminal: Terminal, *, name: str | None = None, force: bool = False) -> bool:
    """Index the files that match, and describe each format; return whether all files could be indexed.

    Files of one format that cannot be read together are indexed each by itself.
    """
    good = True
    for known, paths in group_files(patterns, name):
        try:
            terminal.show(_indexed(known, paths, force=force), 0)
        except (DataError, OSError) as error:
            terminal.say(f"{known.heading(paths)}: cannot be read: {error}", 0)
            good = False
    return good


def _indexed(known: Format, paths: list[str], *, force: bool) -> str:
    began, heading = perf_counter(), known.heading(paths)
    parts = known.parts(paths)
    kinds = [_kind_of(source_of(dataset)) for _, dataset in parts]
    if None in kinds:
        return f"{heading}; needs no index."
    if force:
        for (some, _), kind in zip(parts, kinds, strict=True):
            _forget(some, cast("IndexKind", kind))
        began, parts = perf_counter(), known.parts(paths)
    count = sum(len(dataset) for _, dataset in parts)
    took = perf_counter() - began
    indexed = [(path, kind) for (some, _), kind in zip(parts, kinds, strict=True) for path in some]
    held = sum(os.path.getsize(place) for path, kind in indexed for place in _places(path, cast("IndexKind", kind)))
    total = known.nbytes(paths)
    rate = f" ({size(total / took)}/s)" if total > 1e6 else ""
    return f"{heading}: {many(count, 'record')}; indexes of {size(held)}, in {took:.2f} s{rate}."


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
