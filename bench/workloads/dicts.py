"""Rows as dicts from a Python list, through a Python function that is not traced: stacked, and padded."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target
from bench.workloads.once import each_once

VARIANTS = ()
ROWS, BATCH = 60_000, 64
ROUNDS = 15  # an epoch takes 0.15 to 0.4 s, and the machine may be half as fast for longer than that
TORCH = ({}, {"default_collate": True})
KINDS = {
    "stacked": "dicts of two small arrays, two numbers and a text → a function that returns another dict",
    "padded": "dicts of 8 to 127 tokens and two numbers → a function that keeps 64 tokens → padded",
}


def jobs() -> list[Job]:
    return [job(kind) for kind in KINDS]


def job(kind: str) -> Job:
    """Make the job of rows that are stacked or padded."""
    return Job(
        name="dicts" if kind == "stacked" else f"dicts {kind}",
        title=f"A list of {ROWS:,} {KINDS[kind].replace(' → ', ', shuffled → ', 1)} → batch {BATCH}.",
        unit="rows/s",
        contenders=(
            Contender("limit", "plain Python generators, buffer of 10,000", "dicts"),
            Contender("penstock", "Penstock (shuffles everything)", "dicts"),
            Contender("torch", "torch DataLoader, no workers", "dicts", candidates=TORCH if kind == "stacked" else ()),
        ),
        check=lambda label, checks: check(checks, kind),
        target=Target(of_limit=1.5, of_best_peer=1.5),
        rounds=ROUNDS,
        options={"rows": ROWS, "batch": BATCH, "kind": kind},
        footnotes=("Generators and torch DataLoader make batches with NumPy, one `np.stack` or `np.array` a key.",),
    )


def check(checks: dict[str, Any], kind: str) -> list[str]:
    """Check for each row once, in batches of the right shape."""
    shape = f"float32 ({BATCH}, 16)" if kind == "stacked" else f"int32 ({BATCH}, 64)"
    wrong = [] if checks["shapes"] == [shape] else [f"batches {checks['shapes']}"]
    return wrong + each_once(checks, "row", ROWS, BATCH)
