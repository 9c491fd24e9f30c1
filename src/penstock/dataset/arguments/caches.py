"""The arguments of `cache(path)`, and the node that they make."""

from __future__ import annotations

import os
from typing import Any, cast

from penstock import engine, rewrite
from penstock import plan as plans
from penstock.core.checks import check_count, check_path, is_one_of
from penstock.core.errors import PlanError
from penstock.ops import buffer
from penstock.plan.node import Node


def cached_on_disk(plan: Node, path: Any, version: Any, limit_bytes: Any, compression: Any) -> Node:
    """Return the node that keeps the elements of a plan in a folder; check the arguments, and hash the plan."""
    folder = check_path("cache", "path", path)
    if "://" in folder:
        raise PlanError(f"cache({folder!r}): a cache is a folder of this machine, not a URL")
    if not isinstance(version, str | int | None) or isinstance(version, bool):
        raise TypeError(f"cache(version={version!r:.80}): expected text or a number, not {type(version).__name__}")
    if not is_one_of(compression, None, "lz4", "zstd"):
        raise ValueError(f"cache(compression={compression!r:.80}): expected 'lz4', 'zstd' or None")
    limit = None if limit_bytes is None else check_count("cache", "limit_bytes", limit_bytes, least=1)
    folder = os.path.abspath(os.path.expanduser(folder))
    key = plans.content.key.content_key(
        plan, operation=f"cache({folder!r})", version=None if version is None else str(version)
    )
    rewrite.seeds.draw_by(plan, key.text)
    store = buffer.on_disk.DiskStore(folder, key, limit, compression)
    cache = buffer.cache.Cache(plan, store)
    return cache if plan.indexed else _of_stream(cache, store)


def _of_stream(cache: buffer.cache.Cache, store: buffer.on_disk.DiskStore) -> Node:
    """Return the cache of a stream, or a node that reads any element of it, if all are kept."""
    given = buffer.options.options_of(cache).seed
    drawn = rewrite.seeds.draw_for_good(cache, 0) if given is None else ()
    bound = cast("buffer.cache.Cache", rewrite.seeds.bind_seeds(cache, given or 0, drawn))
    count = store.length(bound.seeds)
    if count is None:
        return cache
    told = plans.fingerprint.fingerprint(cache)
    return buffer.cached_stream.CachedStream(count, told, (cache, bound), engine.runs.lowering.opened_inline)
