"""Pipelines with a known best setting, and the share of its speed that a tuner reaches by itself."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
BUDGET = 200_000_000  # bytes
KINDS = {
    "cpu": (1500, "a checksum of 2 MB, without the GIL"),
    "gil": (3000, "pure Python"),
    "latency": (2000, "a wait of 20 ms"),
    "bursty": (2000, "a wait of 16 ms, and of 160 ms for one row in 16"),
    "memory": (600, "8 MB of new memory, under a memory budget of 200 MB"),
    "changing": (4000, "a wait of 20 ms for the first half of the rows, a checksum of 2 MB for the others"),
}


def jobs() -> list[Job]:
    return [make(kind, rows, what) for kind, (rows, what) in KINDS.items()]


def make(kind: str, rows: int, what: str) -> Job:
    return Job(
        name=f"autotune {kind}",
        title=f"`range({rows:,})` → a function that costs {what}.",
        unit="rows/s",
        contenders=(
            Contender("limit", "the best of nine fixed settings of Penstock", "autotune"),
            Contender("penstock", "Penstock", "autotune"),
            Contender("tfdata", "tf.data, AUTOTUNE", "autotune"),
        ),
        check=lambda label, checks: check(checks, rows),
        target=Target(of_limit=0.95),
        options={"kind": kind, "rows": rows, "memory_budget": BUDGET if kind == "memory" else None},
    )


def check(checks: dict[str, Any], rows: int) -> list[str]:
    """Check for every row once."""
    found = checks["records"], checks["most"], checks["last_record"]
    return [] if found == (rows, 1, rows - 1) else [f"other rows: {found}"]
