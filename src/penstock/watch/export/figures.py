"""The figures of a run that change over time: rates between two moments, and levels at one."""

from __future__ import annotations

from penstock.watch.stats import PLURALS, Stats, names


def figures(now: Stats, before: Stats | None = None) -> dict[str, float]:
    """Return figures by name: rates and shares since `before` (or since the beginning), and levels now.

    >>> from penstock import Dataset
    >>> it = Dataset.range(4).batch(2).iterator()
    >>> batches = list(it)
    >>> sorted(figures(it.stats()))[:4]
    ['batches_per_second', 'memory/ahead_mb', 'memory/batches_mb', 'memory/buffer_mb']
    """
    seconds = now.seconds - (before.seconds if before else 0.0)
    items = now.items - (before.items if before else 0)
    rows = now.rows - (before.rows if before else 0)
    waited = now.waited - (before.waited if before else 0.0)
    found = {f"{PLURALS[now.unit]}_per_second": items / seconds if seconds > 0 else 0.0}
    if now.unit == "batch":
        found["rows_per_second"] = rows / seconds if seconds > 0 else 0.0
    found["waiting"] = min(max(waited / seconds, 0.0), 1.0) if seconds > 0 else 0.0
    found["workers"] = 0 if now.is_inline else now.workers
    found["tasks_under_way"] = now.ahead
    found["memory/batches_mb"] = now.live_bytes / 1e6
    for kind in ("ahead", "buffer", "cache"):
        found[f"memory/{kind}_mb"] = sum(each.bytes for each in now.held if each.kind == kind) / 1e6
    return found | {f"work/{name}": share for name, share in shares(now, before).items()}


def shares(now: Stats, before: Stats | None = None) -> dict[str, float]:
    """Return each operation's share of the work since `before`; operations of one name have numbers."""
    earlier = before.operations if before and len(before.operations) == len(now.operations) else ()
    walls = [operation.wall for operation in now.operations]
    if earlier:
        walls = [max(wall - was.wall, 0.0) for wall, was in zip(walls, earlier, strict=True)]
    total = sum(walls)
    return {name: wall / total if total else 0.0 for name, wall in zip(names(now.operations), walls, strict=True)}
