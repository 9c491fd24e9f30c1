"""The arguments of `cache()`, and the node that they make."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NamedTuple, cast

from penstock import engine, rewrite
from penstock import plan as plans
from penstock.core.checks import check_path, is_one_of
from penstock.core.errors import PlanError
from penstock.core.frames import line_of_user
from penstock.core.sizes import check_bytes
from penstock.ops import buffer
from penstock.plan.node import Node
from penstock.plan.types import INFINITE


class CacheSettings(NamedTuple):
    """The arguments of `cache()`, apart from the path."""

    version: Any
    limit_bytes: Any
    compression: Any
    spill: Any


def cached(plan: Node, path: Any, settings: CacheSettings) -> Node:
    """Return the node that keeps the elements of a plan, in memory or in a folder; check the arguments."""
    if plan.length == INFINITE:
        raise PlanError(
            "cache(): a dataset without end does not fit into memory or a folder; cache before repeat() or after take()"
        )
    if not isinstance(settings.version, str | int | None) or isinstance(settings.version, bool):
        raise TypeError(
            f"cache(version={settings.version!r:.80}): expected a string or a number, "
            f"not {type(settings.version).__name__}"
        )
    if not is_one_of(settings.compression, None, "lz4", "zstd"):
        raise ValueError(f"cache(compression={settings.compression!r:.80}): expected 'lz4', 'zstd' or None")
    if settings.compression is not None:
        from penstock.cache.compressing import row_compressor  # rarely asked for

        row_compressor(settings.compression)  # a missing library is an error now
    limit = settings.limit_bytes
    limit = None if limit is None else check_bytes("cache", "limit_bytes", limit)
    if path is None:
        return _in_memory(plan, settings, limit)
    if settings.spill is not None and settings.spill is not False:
        raise PlanError(f"cache(path, spill={settings.spill!r:.60}): everything is on disk; pass either, not both")
    return _on_disk(plan, _disk_store(plan, "path", path, settings, limit))


def whole_stream(cache: buffer.cache.Cache, seed: int) -> Node | None:
    """Return the node that reads any element of a cached stream if all of its elements are kept for this seed."""
    given = buffer.options.options_of(cache).seed
    drawn = rewrite.seeds.draw_for_good(cache, seed) if given is None else ()
    bound = cast("buffer.cache.Cache", rewrite.seeds.bind_seeds(cache, seed if given is None else given, drawn))
    count = bound.store.length(bound.seeds)
    if count is None:
        return None
    told = plans.fingerprint.fingerprint(cache)
    return buffer.cached_stream.CachedStream(count, told, (cache, bound), engine.runs.lowering.opened_inline)


def _in_memory(plan: Node, settings: CacheSettings, limit: int | None) -> Node:
    spill = settings.spill
    to_folder = not isinstance(spill, bool | None)
    for name, value, needs in (
        ("version", settings.version, None if to_folder else "the elements of a folder: pass its path, or as spill="),
        (
            "compression",
            settings.compression,
            None if to_folder or spill else "elements on disk: pass a path or spill=",
        ),
    ):
        if value is not None and needs is not None:
            raise PlanError(f"cache({name}={value!r:.60}): this is a setting of {needs}")
    arguments = [] if limit is None else [f"limit_bytes={limit}"]
    kept: buffer.spill.Spill | None = None
    if to_folder:
        disk = _disk_store(plan, "spill", spill, settings, None)
        kept = buffer.spill.Spill(disk)
        arguments.append(f"spill={disk.folder!r}")
    elif spill:
        kept = buffer.spill.Spill(compression=settings.compression, at=line_of_user())
        arguments.append("spill=True")
    allowance = buffer.cache.Allowance(limit, spills=kept is not None, at=line_of_user())
    return buffer.cache.Cache(plan, buffer.cache.Store(allowance, kept, ", ".join(arguments)))


def _disk_store(
    plan: Node, name: str, path: Any, settings: CacheSettings, limit: int | None
) -> buffer.on_disk.DiskStore:
    """Return the elements in a folder; hash the plan."""
    folder = check_path("cache", name, path)
    if not folder:
        raise ValueError(f"cache({name}=''): expected the path of a folder; cache() keeps elements in memory")
    if "://" in folder:
        raise PlanError(f"cache({folder!r}): a cache is a folder of this machine, not a URL")
    try:
        folder = os.path.abspath(os.path.expanduser(folder))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"cache({folder!r}): the path is relative, and the working directory was deleted; pass an absolute path"
        ) from None
    version = None if settings.version is None else str(settings.version)
    make_key = partial(plans.content.key.content_key, plan, operation=f"cache({folder!r})", version=version)
    key = make_key()
    rewrite.seeds.draw_by(plan, key.text)
    return buffer.on_disk.DiskStore(folder, key, limit, settings.compression, renew=make_key, at=line_of_user())


def _on_disk(plan: Node, store: buffer.on_disk.DiskStore) -> Node:
    """Return the cache; of a stream of which everything is kept, the node that reads any element of it."""
    cache = buffer.cache.Cache(plan, store)
    return cache if plan.indexed else whole_stream(cache, 0) or cache
