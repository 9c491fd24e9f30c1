"""Python functions that hold the GIL, over two processes: with work, and transport alone."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
BATCH = 64


def jobs() -> list[Job]:
    return [
        make("python", rows=4096, nbytes=3 * 96 * 96, steps=4000, target=0.95),
        make("python transport", rows=8192, nbytes=3 * 224 * 224, steps=0, target=0.6),
    ]


def make(name: str, *, rows: int, nbytes: int, steps: int, target: float) -> Job:
    """Make the job of arrays of `nbytes`, each after so many steps of pure Python."""
    return Job(
        name=name,
        title=f"{rows:,} elements of {nbytes:,} bytes after {steps:,} steps of Python, batch {BATCH}, two processes.",
        unit="rows/s",
        contenders=(
            Contender("limit", "two processes that write into a shared ring", "python"),
            Contender("penstock", "Penstock", "python"),
        ),
        check=lambda label, checks: check(checks, rows),
        target=Target(of_limit=target),
        options={"rows": rows, "batch": BATCH, "nbytes": nbytes, "steps": steps},
    )


def check(checks: dict[str, Any], rows: int) -> list[str]:
    if (checks["rows"], checks["records"], checks["most"]) != (rows, rows, 1):
        return [f"{checks['rows']} rows and {checks['records']} records instead of {rows}"]
    return []
